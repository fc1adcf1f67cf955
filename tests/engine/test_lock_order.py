"""Verbs that meet at the same jobs, documents, budgets and holds wait for each other in one order: no deadlock."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, GiveBack, Phase, Pipeline
from holdfast.engine.queue import Lane
from holdfast.errors import NetworkTimeout, RateLimited
from tests.conftest import Clock
from tests.engine.scenario import (
    STORIES,
    WORKER,
    Scenario,
    begin,
    many_connections,
    no_work,
    until_someone_waits_for_a_lock,
)

# In the order of their names, which is the order in which failures place their holds.
PAYING = Pipeline(
    "paying",
    (
        Phase(name="ask", handler=no_work, done="asked", provider="model", budget="asking"),
        Phase(name="embed", handler=no_work, done="embedded", provider="embedder", budget="embedding"),
    ),
)
SLOW_DOWN = RateLimited("slow down", retry_after_seconds=600)
PAID_BY = {"asking": "ask", "embedding": "embed"}
OTHER = "worker-2"
CANCEL = "select result from holdfast.cancel($1::bigint[])"


@pytest.fixture
async def scenario(dsn: str) -> AsyncIterator[Scenario]:
    async with many_connections(dsn, 8) as database:
        yield await begin(database, PAYING)


async def claimed_with_reservations(scenario: Scenario, count: int = 2) -> list[Attempt]:
    await scenario.database.execute("select holdfast.set_budget('asking', 100)")
    await scenario.submit(count)
    attempts = sorted(await scenario.claim("ask", count), key=lambda attempt: attempt.job_id)
    for attempt in attempts:
        assert await scenario.reserve(attempt, "1")
    return attempts


async def claimed_by(scenario: Scenario, phase: str, worker: str) -> Attempt:
    """An attempt of that worker, with a reservation."""
    await scenario.register_worker(worker)
    attempt = await scenario.claim_one(phase, worker=worker)
    assert await scenario.reserve(attempt, "1")
    return attempt


async def lose(scenario: Scenario, clock: Clock, kept: list[Attempt]) -> None:
    """Declare the first worker lost, and not the other, which has these attempts."""
    await clock.advance(seconds=11)
    await scenario.queue.heartbeat(OTHER, kept)
    await scenario.queue.sweep(10)


async def in_each_phase(scenario: Scenario) -> tuple[Attempt, Attempt]:
    """One attempt at ask, one at embed, of two documents."""
    await scenario.submit(2)
    await scenario.settle_once("ask")
    return await scenario.claim_one("ask"), await scenario.claim_one("embed")


async def hold_both_providers(database: Database) -> None:
    for provider in ("model", "embedder"):
        await database.execute(
            "select holdfast.place_hold($1, 'acme', null, null, null, now() + interval '1 hour', 'busy', 'test')",
            provider,
        )


@pytest.mark.parametrize("verb", ["settle", "fail", "give back"])
async def test_cancel_of_two_jobs_and_the_ending_of_one_share_a_budget_day(scenario: Scenario, verb: str) -> None:
    first, second = await claimed_with_reservations(scenario)
    async with scenario.database.transaction() as other:
        await other.execute("select from holdfast.pipeline_job where id = $1 for update", second.job_id)
        ending = asyncio.create_task(end(scenario, verb, [second]))
        await until_someone_waits_for_a_lock(scenario.database, 1)
        cancelling = asyncio.create_task(scenario.database.fetch(CANCEL, [first.job_id, second.job_id]))
        await until_someone_waits_for_a_lock(scenario.database, 2)
    await ending
    assert (await cancelling)[0]["result"] == "cancelled"
    assert await reserved(scenario) == 0


async def test_giving_two_back_and_settling_one_share_a_budget_day(scenario: Scenario) -> None:
    first, second = await claimed_with_reservations(scenario)
    async with scenario.database.transaction() as other:
        await other.execute("select from holdfast.pipeline_job where id = $1 for update", second.job_id)
        settling = asyncio.create_task(end(scenario, "settle", [second]))
        await until_someone_waits_for_a_lock(scenario.database, 1)
        giving_back = asyncio.create_task(end(scenario, "give back", [first, second]))
        await until_someone_waits_for_a_lock(scenario.database, 2)
    await asyncio.gather(settling, giving_back)
    assert await reserved(scenario) == 0


async def test_heartbeat_that_renews_two_and_the_late_ending_of_one_share_a_budget_day(
    scenario: Scenario, clock: Clock
) -> None:
    attempts = first, second = await claimed_with_reservations(scenario)
    await clock.advance(seconds=11)
    await scenario.queue.sweep(10)
    async with scenario.database.transaction() as other:
        await other.execute("select from holdfast.pipeline_job where id = $1 for update", second.job_id)
        ending = asyncio.create_task(end(scenario, "settle", [second]))
        await until_someone_waits_for_a_lock(scenario.database, 1)
        beating = asyncio.create_task(scenario.queue.heartbeat(WORKER, attempts))
        await asyncio.wait({beating}, timeout=1)
    await ending
    assert (first.job_id, first.token) in (await beating).renewed
    assert await reserved(scenario) == 1


async def test_group_with_a_late_ending_and_the_ending_of_who_claimed_its_job_share_a_budget_day(
    scenario: Scenario, clock: Clock
) -> None:
    """The late one's job is locked before the budget's day, which another of the group needs as well."""
    await scenario.submit(2)
    late = await claimed_by(scenario, "ask", WORKER)
    in_time = await claimed_by(scenario, "ask", OTHER)
    await lose(scenario, clock, [in_time])
    again = await claimed_by(scenario, "ask", OTHER)
    async with scenario.database.transaction() as other:
        await other.execute("select from holdfast.budget_day for update")
        ending = asyncio.create_task(end(scenario, "settle", [in_time, late]))
        await until_someone_waits_for_a_lock(scenario.database, 1)
        failing = asyncio.create_task(end(scenario, "fail", [again]))
        await until_someone_waits_for_a_lock(scenario.database, 2)
    await asyncio.gather(ending, failing)
    assert await reserved(scenario) == 0


@pytest.mark.parametrize("verb", ["settle", "fail", "give back"])
async def test_group_with_a_late_ending_and_a_cancel_meet_at_two_budgets(
    scenario: Scenario, clock: Clock, verb: str
) -> None:
    """The group needs the second budget for one that comes in time, and the first for one that comes late."""
    database = scenario.database
    first, second = [row["name"] for row in await database.fetch("select name from holdfast.budget order by id")]
    await scenario.submit(4)
    await scenario.settle([attempt for _ in range(2) for attempt in await scenario.claim("ask")])
    late = await claimed_by(scenario, PAID_BY[first], WORKER)
    in_time, *doomed = [await claimed_by(scenario, PAID_BY[name], OTHER) for name in (second, first, second)]
    await lose(scenario, clock, [in_time, *doomed])
    async with database.transaction() as other:
        await other.execute(
            "select from holdfast.budget_day where budget_id = (select min(id) from holdfast.budget) for update"
        )
        cancelling = asyncio.create_task(database.fetch(CANCEL, [attempt.job_id for attempt in doomed]))
        await until_someone_waits_for_a_lock(database, 1)
        ending = asyncio.create_task(end(scenario, verb, [in_time, late]))
        await until_someone_waits_for_a_lock(database, 2)
    await ending
    assert [row["result"] for row in await cancelling] == ["cancelled"] * 2
    assert await reserved(scenario) == 0


async def test_claim_and_fail_meet_at_two_holds(scenario: Scenario) -> None:
    """The claim waits for neither: what stands behind a hold that is being placed again is left for the next one."""
    database = scenario.database
    asking, embedding = await in_each_phase(scenario)
    await scenario.submit(2)
    await scenario.settle_once("ask")
    await hold_both_providers(database)
    async with database.transaction() as other:
        await other.execute("select from holdfast.hold where provider = 'embedder' for update")
        failing = asyncio.create_task(scenario.fail([embedding, asking], SLOW_DOWN))
        await until_someone_waits_for_a_lock(database, 1)
        lanes = [Lane("paying", "ask", 1), Lane("paying", "embed", 1)]
        assert await scenario.queue.claim(WORKER, lanes) == []
    assert set((await failing).values()) == {"failed"}
    assert await scenario.queue.claim(WORKER, lanes) == []
    assert await scenario.states() == {"held": 4}


async def test_claim_that_puts_back_what_a_hold_kept_and_fail_that_renews_it(scenario: Scenario) -> None:
    """The hold on "model" is over: the claim would end it for good, the failure places it again."""
    database = scenario.database
    asking, embedding = await in_each_phase(scenario)
    await hold_both_providers(database)
    await database.execute("update holdfast.hold set until = now() where provider = 'model'")
    async with database.transaction() as other:
        await other.execute("select from holdfast.hold where provider = 'embedder' for update")
        failing = asyncio.create_task(scenario.fail([embedding, asking], SLOW_DOWN))
        await until_someone_waits_for_a_lock(database, 1)
        assert await scenario.queue.claim(WORKER, [Lane("paying", "embed", 1)]) == []
    assert set((await failing).values()) == {"failed"}
    in_force = await database.fetch("select from holdfast.hold where drained_at is null and until > now()")
    assert len(in_force) == 2


async def test_settle_and_fail_meet_at_three_documents(scenario: Scenario) -> None:
    """Each group has a job of its own for each document; the settled ones are named in the opposite order."""
    database = scenario.database
    settling_too = await begin(database, STORIES)
    documents = [one.document_id for one in await scenario.submit(3)]
    for document in documents:
        await settling_too.submit_one(document_id=document)
    told = sorted(await settling_too.claim("enrich", 3), key=lambda attempt: -attempt.document.id)
    asked = await scenario.claim("ask", 3)
    async with database.transaction() as other:
        await other.execute("select from holdfast.document where id = $1 for update", documents[1])
        settling = asyncio.create_task(settling_too.settle(told))
        await until_someone_waits_for_a_lock(database, 1)
        failing = asyncio.create_task(scenario.fail(asked, NetworkTimeout("reset")))
        await until_someone_waits_for_a_lock(database, 2)
    assert set((await settling).values()) == {"settled"}
    assert set((await failing).values()) == {"failed"}


async def test_retry_of_two_jobs_and_failure_of_another_job_of_the_same_document(scenario: Scenario) -> None:
    database = scenario.database
    one, two = await scenario.submit(2)
    await scenario.fail(await scenario.claim("ask", 2), NetworkTimeout("reset"))
    other = await begin(database, Pipeline("again", (Phase(name="look", handler=no_work, done="looked"),)))
    third = await other.submit_one(document_id=one.document_id)
    attempt = await other.claim_one("look")
    await database.execute("update holdfast.document set failure_state = 'permanent_failure'")
    async with database.transaction() as blocker:
        await blocker.execute("select from holdfast.pipeline_job where id = $1 for update", third.job_id)
        failing = asyncio.create_task(other.fail([attempt], NetworkTimeout("reset")))
        await until_someone_waits_for_a_lock(database, 1)
        retrying = asyncio.create_task(
            database.fetch("select * from holdfast.retry($1::bigint[])", [one.job_id, two.job_id, third.job_id])
        )
        await until_someone_waits_for_a_lock(database, 2)
    assert set((await failing).values()) == {"failed"}
    assert [row["result"] for row in await retrying] == ["queued"] * 3


async def end(scenario: Scenario, verb: str, attempts: list[Attempt]) -> None:
    if verb == "settle":
        await scenario.settle(attempts, Done(cost_usd=Decimal("0.5")))
    elif verb == "fail":
        await scenario.fail(attempts, NetworkTimeout("reset"))
    else:
        await scenario.queue.give_back([(attempt, GiveBack("not now")) for attempt in attempts])


async def reserved(scenario: Scenario) -> Decimal:
    amount: Decimal = await scenario.database.fetchval("select sum(reserved_usd) from holdfast.budget_day")
    return amount
