"""Fair order: one organisation's flood does not starve the others."""

import asyncio
from collections import Counter

from holdfast.db.connection import Database
from holdfast.engine.queue import Submission, submit
from tests.engine.scenario import Scenario, begin, many_connections, plain

FLOOD = "flood"
# Nobody shall be lost here, however slow the machine is.
LEASE_SECONDS = 3600.0


async def test_ten_small_organisations_are_done_before_one_per_cent_of_the_flood(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await _submit_flood(scenario, 100_000)
    await _work_off(scenario, "extract", 100)
    for n in range(10):
        await scenario.submit(10, organisation=f"small {n}")
    worked = Counter[str]()
    while sum(worked.values()) - worked[FLOOD] < 100:
        for phase in ("extract", "embed"):
            worked += await _work_off(scenario, phase, 20, last="embed")
    assert worked[FLOOD] < 1_000


async def test_order_survives_a_sweep_during_the_flood(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await _submit_flood(scenario, 2_000)
    await _work_off(scenario, "extract", 100)
    await scenario.queue.sweep(LEASE_SECONDS)
    await scenario.submit(5, organisation="small")
    assert (await _work_off(scenario, "extract", 20))["small"] == 5


async def test_an_organisation_that_arrives_late_does_not_stand_before_all_who_waited(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(200, organisation="early")
    await _work_off(scenario, "extract", 100)
    await scenario.submit(200, organisation="late")
    worked = await _work_off(scenario, "extract", 100)
    assert 45 <= worked["early"] <= 55


async def test_urgent_job_of_the_flood_puts_nobody_behind_the_flood(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await _submit_flood(scenario, 2_000)
    await scenario.submit(organisation=FLOOD, priority=1)
    await scenario.queue.sweep(LEASE_SECONDS)
    await scenario.submit(5, organisation="small")
    assert (await _work_off(scenario, "extract", 20))["small"] == 5


async def test_priority_goes_before_fair_order(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(10, organisation="small")
    await _submit_flood(scenario, 50)
    urgent = await scenario.submit_one(organisation=FLOOD, priority=5)
    assert (await scenario.claim_one("extract")).job_id == urgent.job_id


async def test_an_organisation_of_weight_three_gets_three_times_as_much(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await database.execute("insert into holdfast.organisation (name, weight) values ('heavy', 3)")
    await scenario.submit(300, organisation="light")
    await scenario.submit(300, organisation="heavy")
    worked = await _work_off(scenario, "extract", 200)
    assert 145 <= worked["heavy"] <= 155


async def test_backlog_of_a_slow_later_phase_does_not_delay_a_newcomer_there(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await _submit_flood(scenario, 1_000)
    await _work_off(scenario, "extract", 1_000)
    await _work_off(scenario, "embed", 50)
    await scenario.submit(5, organisation="small")
    await _work_off(scenario, "extract", 5)
    assert (await _work_off(scenario, "embed", 20))["small"] == 5


async def test_job_in_a_phase_that_nobody_serves_lets_no_newcomer_pass_everyone(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await scenario.submit(organisation="early")
    await _work_off(scenario, "extract", 1)
    await scenario.submit(1_000, organisation="early")
    await _work_off(scenario, "extract", 500)
    await scenario.submit(500, organisation="late")
    worked = await _work_off(scenario, "extract", 100)
    assert 45 <= worked["early"] <= 55


async def test_phase_that_is_served_again_is_fair_again(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await _submit_flood(scenario, 500)
    await _work_off(scenario, "extract", 500)
    await scenario.submit(5, organisation="first")
    await _work_off(scenario, "embed", 20)
    await scenario.queue.sweep(LEASE_SECONDS)
    await scenario.submit(5, organisation="second")
    await _work_off(scenario, "extract", 10)
    worked = await _work_off(scenario, "embed", 40)
    assert (worked["first"], worked["second"]) == (5, 5)


async def test_job_of_a_priority_that_is_not_reached_lets_no_newcomer_pass_everyone(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(organisation="patient", priority=-1)
    await scenario.submit(1_000, organisation="early")
    await _work_off(scenario, "extract", 500)
    await scenario.submit(500, organisation="late")
    worked = await _work_off(scenario, "extract", 100)
    assert 45 <= worked["early"] <= 55


async def test_held_phase_lets_no_newcomer_pass_everyone(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await scenario.submit(1_001, organisation="early")
    await _work_off(scenario, "extract", 2)
    await _work_off(scenario, "embed", 1)
    await database.execute("""select holdfast.hold('{"phase": "embed"}')""")
    await _work_off(scenario, "extract", 500)
    await scenario.submit(500, organisation="late")
    worked = await _work_off(scenario, "extract", 100)
    assert 45 <= worked["early"] <= 55


async def test_priorities_of_one_batch_stand_each_in_their_own_order(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(100, organisation="early", priority=1)
    await scenario.submit(100, organisation="early")
    await _work_off(scenario, "extract", 50)
    both = [Submission(organisation="late", priority=n % 2) for n in range(40)]
    await submit(database, "documents", both)
    worked = await _work_off(scenario, "extract", 20)
    assert 8 <= worked["late"] <= 12


async def test_suspect_gets_its_turn_under_a_standing_backlog(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    suspects = [one.job_id for one in await scenario.submit(2, organisation="early")]
    await database.execute("update holdfast.pipeline_job set crash_count = 2 where id = any ($1)", suspects)
    await _submit_flood(scenario, 100)
    taken = await scenario.claim("extract", 5)
    assert [attempt.job_id in suspects for attempt in taken].count(True) == 1
    assert len(taken) == 5
    assert not {attempt.job_id for attempt in await scenario.claim("extract", 5)} & set(suspects)
    await scenario.settle(taken)
    assert {attempt.job_id for attempt in await scenario.claim("extract", 5)} & set(suspects)


async def test_suspect_passes_nobody_who_is_more_urgent(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    suspect = await scenario.submit_one()
    await database.execute("update holdfast.pipeline_job set crash_count = 2")
    await scenario.submit(10, priority=1)
    taken = await scenario.claim("extract", 10)
    assert suspect.job_id not in {attempt.job_id for attempt in taken}
    assert (await scenario.claim_one("extract")).job_id == suspect.job_id


async def test_submitters_of_one_organisation_in_open_transactions_do_not_block_each_other(dsn: str) -> None:
    async with many_connections(dsn, 4) as database:
        await begin(database, plain("extract"))
        item = [Submission(organisation="acme")]
        async with (
            database.transaction() as first,
            database.transaction() as second,
            database.transaction() as third,
            asyncio.timeout(60),
        ):
            results = [await submit(connection, "documents", item) for connection in (first, second, third)]
    assert [result[0].result for result in results] == ["created"] * 3


async def test_an_organisation_keeps_its_pace_after_submitting_from_many_transactions_at_once(dsn: str) -> None:
    async with many_connections(dsn, 10) as database:
        scenario = await begin(database, plain("extract"))
        await _submit_from_open_transactions(database, "busy", 8)
        await scenario.submit(200, organisation="busy")
        await scenario.submit(200, organisation="calm")
        worked = await _work_off(scenario, "extract", 100)
    assert 40 <= worked["busy"] <= 60


async def test_places_of_finished_bursts_are_cleaned_up(dsn: str) -> None:
    async with many_connections(dsn, 10) as database:
        scenario = await begin(database, plain("extract"))
        await _submit_from_open_transactions(database, "busy", 8)
        await scenario.submit(1, organisation="calm")
        await _work_off(scenario, "extract", 9)
        await scenario.submit(20, organisation="calm")
        await _work_off(scenario, "extract", 19)
        await scenario.queue.sweep(LEASE_SECONDS)
        left = await database.fetchval("select count(*) from holdfast.fair_share where organisation = 'busy'")
    assert left == 0


async def _submit_flood(scenario: Scenario, count: int) -> None:
    for _ in range(0, count, 10_000):
        await scenario.submit(min(count, 10_000), organisation=FLOOD)


async def _submit_from_open_transactions(database: Database, organisation: str, left: int) -> None:
    """Each transaction opens while those before it are still open."""
    if left == 0:
        return
    async with database.transaction() as connection:
        await submit(connection, "documents", [Submission(organisation=organisation)])
        await _submit_from_open_transactions(database, organisation, left - 1)


async def _work_off(scenario: Scenario, phase: str, count: int, *, last: str | None = None) -> Counter[str]:
    """Claim and settle that many jobs in small groups; count them by organisation, or only those of the last phase."""
    worked = Counter[str]()
    while count > 0 and (attempts := await scenario.claim(phase, min(count, 20))):
        await scenario.settle(attempts)
        count -= len(attempts)
        if last in (None, phase):
            worked.update(attempt.document.organisation for attempt in attempts)
    return worked
