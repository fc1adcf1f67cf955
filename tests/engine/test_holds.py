"""Holds: a scope is kept from being claimed, nobody loses an attempt, and work goes on by itself."""

import asyncio
from datetime import timedelta

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Phase, Pipeline
from holdfast.engine.queue import Lane
from holdfast.errors import AuthenticationFailed, InvalidInput, NotFound, RateLimited
from tests.conftest import Clock
from tests.engine.scenario import WORKER, Scenario, begin, many_connections, no_work, until_someone_waits_for_a_lock

CALLING = Pipeline(
    "calling",
    (
        Phase(name="ask", handler=no_work, done="asked", provider="model"),
        Phase(name="embed", handler=no_work, done="embedded", provider="embedder"),
        Phase(name="store", handler=no_work, done="stored"),
    ),
)
SLOW_DOWN = RateLimited("slow down", retry_after_seconds=30)


async def test_429_with_retry_after_stops_ten_thousand_waiting_jobs_at_no_cost(
    database: Database, clock: Clock
) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(10_000)
    await scenario.fail_once("ask", SLOW_DOWN)
    assert [await scenario.claim("ask", 100) for _ in range(5)] == [[]] * 5
    assert await scenario.states() == {"held": 10_000}
    attempts, retries = await _attempts_and_retries(database)
    assert (attempts, retries) == (1, 0)


async def test_work_goes_on_by_itself_when_retry_after_is_over(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(1_200)
    await scenario.fail_once("ask", SLOW_DOWN)
    await scenario.claim("ask", 100)
    await clock.advance(seconds=31)
    claimed = 0
    while attempts := await scenario.claim("ask", 500):
        await scenario.settle(attempts)
        claimed += len(attempts)
    assert claimed == 1_200
    assert await database.fetchval("select count(*) from holdfast.hold where drained_at is null") == 0


async def test_one_call_puts_back_at_most_a_batch_of_what_many_holds_kept(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    for organisation in ("acme", "globex", "initech"):
        await scenario.submit(300, organisation=organisation)
        await database.execute(
            "select holdfast.hold(jsonb_build_object('organisation', $1::text), holdfast.clock() + '1 minute')",
            organisation,
        )
    assert await scenario.claim("ask", 10) == []
    await clock.advance(minutes=2)
    assert [await database.fetchval("select holdfast.promote()") for _ in range(3)] == [500, 400, 0]


async def test_calls_in_flight_that_also_get_a_429_lose_nothing(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(20)
    in_flight = await scenario.claim("ask", 20)
    await scenario.fail(in_flight, SLOW_DOWN)
    assert await scenario.states() == {"held": 20}
    assert (await _attempts_and_retries(database))[1] == 0
    await clock.advance(seconds=31)
    assert len(await scenario.claim("ask", 20)) == 20


async def test_other_organisations_go_on_during_a_providers_hold(database: Database) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(3_000)
    await scenario.fail_once("ask", SLOW_DOWN)
    await scenario.submit(5, organisation="other")
    attempts = await scenario.claim("ask", 10)
    assert [attempt.document.organisation for attempt in attempts] == ["other"] * 5


async def test_other_providers_go_on_during_a_providers_hold(database: Database) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(2)
    await scenario.settle_once("ask")
    await scenario.fail_once("ask", SLOW_DOWN)
    assert len(await scenario.claim("embed")) == 1


async def test_a_later_429_extends_the_hold(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit(3)
    first, second, _ = await scenario.claim("ask", 3)
    await scenario.fail([first], SLOW_DOWN)
    await scenario.fail([second], RateLimited("slower", retry_after_seconds=300))
    await clock.advance(seconds=31)
    assert await scenario.claim("ask") == []
    await clock.advance(seconds=270)
    assert len(await scenario.claim("ask", 3)) == 2


async def test_an_absurd_retry_after_holds_for_a_day_at_most(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit()
    await scenario.fail_once("ask", RateLimited("never", retry_after_seconds=1e9))
    await clock.advance(days=1)
    assert len(await scenario.claim("ask")) == 1


async def test_429_without_retry_after_is_charged_and_pauses_the_provider(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    submitted = await scenario.submit(2)
    attempt = await scenario.fail_once("ask", RateLimited("slow down"))
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"]) == ("failed", 1)
    assert await scenario.claim("ask", 2) == []
    await clock.advance(seconds=70)
    assert {again.job_id for again in await scenario.claim("ask", 2)} == {one.job_id for one in submitted}


async def test_refused_credentials_hold_until_someone_releases(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    submitted = await scenario.submit(2)
    attempt = await scenario.fail_once("ask", AuthenticationFailed("401"))
    await clock.advance(days=400)
    assert await scenario.claim("ask", 2) == []
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"], job["last_error"]["retryable"]) == ("held", 0, True)
    assert await _release(database, job["hold_id"]) == 2
    assert {again.job_id for again in await scenario.claim("ask", 2)} == {one.job_id for one in submitted}


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        ('{"provider": "model"}', {("acme", "store"), ("other", "store")}),
        ('{"organisation": "acme"}', {("other", "ask"), ("other", "store")}),
        ('{"pipeline": "calling"}', set[tuple[str, str]]()),
        ('{"pipeline": "calling", "phase": "store"}', {("acme", "ask"), ("other", "ask")}),
        ('{"phase": "store", "organisation": "acme"}', {("acme", "ask"), ("other", "ask"), ("other", "store")}),
        ('{"provider": "unused"}', {("acme", "ask"), ("acme", "store"), ("other", "ask"), ("other", "store")}),
    ],
)
async def test_operator_holds_a_scope_and_releases_it(
    database: Database, scope: str, left: set[tuple[str, str]]
) -> None:
    scenario = await begin(database, CALLING)
    await _one_job_of_two_organisations_in_the_first_and_last_phase(scenario)
    hold_id = await database.fetchval("select holdfast.hold($1::text::jsonb)", scope)
    claimed = await _claim_everything(scenario)
    assert _places(claimed) == left
    await _release(database, hold_id)
    assert len(claimed) + len(await _claim_everything(scenario)) == 4
    assert (await _attempts_and_retries(database))[1] == 0


async def test_operators_hold_until_a_moment_ends_by_itself(database: Database, clock: Clock) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit()
    until = await database.fetchval("select holdfast.clock()") + timedelta(hours=1)
    await database.execute("""select holdfast.hold('{"organisation": "acme"}', $1)""", until)
    assert await scenario.claim("ask") == []
    await clock.advance(hours=1)
    assert len(await scenario.claim("ask")) == 1


async def test_released_scope_can_be_held_again(database: Database) -> None:
    scenario = await begin(database, CALLING)
    await scenario.submit()
    for _ in range(3):
        hold_id = await database.fetchval("""select holdfast.hold('{"organisation": "acme"}')""")
        assert await scenario.claim("ask") == []
        await _release(database, hold_id)
    assert len(await scenario.claim("ask")) == 1


async def test_hold_and_release_are_written_to_the_audit_log(database: Database) -> None:
    await begin(database, CALLING)
    hold_id = await database.fetchval(
        """select holdfast.hold('{"provider": "model"}', p_reason => 'it lies', p_actor => 'ann')"""
    )
    await database.execute("select holdfast.release($1, 'bob', 'it was right')", hold_id)
    rows = await database.fetch("select actor, action, reason from holdfast.audit_log order by id")
    assert [tuple(row) for row in rows] == [("ann", "hold", "it lies"), ("bob", "release", "it was right")]


@pytest.mark.parametrize(
    ("scope", "complaint"),
    [
        ("{}", "needs a scope"),
        ('{"color": "red"}', 'no scope "color"'),
        ('{"provider": 7}', 'no scope "provider"'),
    ],
)
async def test_senseless_hold_is_refused(database: Database, scope: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        await database.fetchval("select holdfast.hold($1::text::jsonb)", scope)


async def test_hold_that_is_over_already_is_refused(database: Database) -> None:
    with pytest.raises(InvalidInput, match="over already"):
        await database.fetchval("""select holdfast.hold('{"provider": "model"}', now() - interval '1 hour')""")


async def test_release_of_what_is_not_held_is_refused(database: Database) -> None:
    with pytest.raises(NotFound, match="no hold 4711 in force"):
        await _release(database, 4711)


async def test_hold_waits_for_a_claim_that_is_parking_behind_it(database: Database) -> None:
    """The hold ends while a claim in an open transaction parks jobs: they are found afterwards."""
    scenario = await begin(database, CALLING)
    await scenario.submit(5)
    hold_id = await database.fetchval("""select holdfast.hold('{"organisation": "acme"}')""")
    async with database.transaction() as connection:
        lanes = '[{"pipeline": "calling", "phase": "ask", "limit": 5}]'
        await connection.fetch("select * from holdfast.claim($1, $2::text::jsonb)", WORKER, lanes)
        releasing = asyncio.ensure_future(_release(database, hold_id))
        await until_someone_waits_for_a_lock(database)
    await releasing
    assert len(await scenario.claim("ask", 5)) == 5


async def test_job_locked_by_someone_when_its_hold_ends_goes_on_afterwards(database: Database) -> None:
    scenario = await begin(database, CALLING)
    locked, free = await scenario.submit(2)
    hold_id = await database.fetchval("""select holdfast.hold('{"organisation": "acme"}')""")
    assert await scenario.claim("ask", 2) == []
    async with database.transaction() as connection:
        await connection.execute("select from holdfast.pipeline_job where id = $1 for update", locked.job_id)
        await _release(database, hold_id)
        assert (await scenario.claim_one("ask")).job_id == free.job_id
    assert (await scenario.claim_one("ask")).job_id == locked.job_id


async def test_nothing_is_stranded_by_holds_that_begin_and_end_while_jobs_are_parked(dsn: str) -> None:
    async with many_connections(dsn, 12) as database:
        scenario = await begin(database, CALLING)
        for n in range(4):
            await scenario.submit(100, organisation=f"organisation {n}")
        done = asyncio.Event()
        operators = [_hold_and_release_until(database, done, f"organisation {n % 4}") for n in range(4)]
        workers = [_work_until_nothing_is_left(scenario, done) for _ in range(6)]
        async with asyncio.timeout(120):
            await asyncio.gather(*operators, *workers)
        states = await scenario.states()
        retries = (await _attempts_and_retries(database))[1]
    assert states == {"done": 400}
    assert retries == 0


async def _hold_and_release_until(database: Database, done: asyncio.Event, organisation: str) -> None:
    while not done.is_set():
        scope = f'{{"organisation": "{organisation}"}}'
        hold_id = await database.fetchval("select holdfast.hold($1::text::jsonb)", scope)
        await asyncio.sleep(0.005)
        try:
            await _release(database, hold_id)
        except NotFound:
            continue  # another operator released the same scope
        await asyncio.sleep(0.01)


async def _work_until_nothing_is_left(scenario: Scenario, done: asyncio.Event) -> None:
    lanes = [Lane("calling", phase.name, 5) for phase in CALLING.phases]
    while not done.is_set():
        attempts = await scenario.queue.claim(WORKER, lanes)
        await scenario.settle(attempts)
        if not attempts and set(await scenario.states()) == {"done"}:
            done.set()


async def _one_job_of_two_organisations_in_the_first_and_last_phase(scenario: Scenario) -> None:
    for organisation in ("acme", "other"):
        await scenario.submit(organisation=organisation)
        await scenario.settle_once("ask")
        await scenario.settle_once("embed")
    for organisation in ("acme", "other"):
        await scenario.submit(organisation=organisation)


async def _claim_everything(scenario: Scenario) -> list[Attempt]:
    lanes = [Lane("calling", phase.name, 10) for phase in CALLING.phases]
    return await scenario.queue.claim(WORKER, lanes)


def _places(attempts: list[Attempt]) -> set[tuple[str, str]]:
    return {(attempt.document.organisation, attempt.phase) for attempt in attempts}


async def _release(database: Database, hold_id: int) -> int:
    waiting: int = await database.fetchval("select holdfast.release($1)", hold_id)
    return waiting


async def _attempts_and_retries(database: Database) -> tuple[int, int]:
    row = await database.fetchrow(
        """
        select (select count(*) from holdfast.pipeline_phase), (select sum(retry_count) from holdfast.pipeline_job)
        """
    )
    assert row is not None
    return row[0], row[1]
