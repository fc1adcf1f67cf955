"""Five first: a few jobs of many that failed alike are retried, and the rest follows only when they get past."""

import asyncio
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.control import Control
from holdfast.engine.overview import Overview, Row
from holdfast.engine.pipeline import Done
from holdfast.engine.selection import Selection
from holdfast.errors import CorruptInput, InvalidInput, NetworkTimeout, NotFound
from tests.conftest import Clock
from tests.engine.scenario import Scenario, begin, many_connections, plain
from tests.engine.working import all_final, jobs_of, pipeline_of, running, until, work_off

TORN = CorruptInput("the file is torn")
FAILED = Selection(category="corrupt_input")


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


@pytest.fixture
def control(database: Database) -> Control:
    return Control(database, "alice")


async def failed(scenario: Scenario, count: int, **facts: Any) -> list[int]:
    """Jobs whose first phase failed for good."""
    return await scenario.submit_and_fail(count, TORN, **facts)


async def newest(database: Database) -> Row:
    return (await Overview(database).trials())[0]


async def test_only_the_first_are_retried(scenario: Scenario, control: Control) -> None:
    jobs = await failed(scenario, 8)
    trial = await control.try_first(FAILED, first=3, reason="fixed")
    assert (trial.first_jobs, trial.state, trial.retried) == (jobs[:3], "trying", 0)
    assert (trial.created_by, trial.reason, trial.ended_at) == ("alice", "fixed", None)
    assert await scenario.states() == {"queued": 3, "failed": 5}
    assert await scenario.queue.advance_trials() == 0
    assert await scenario.states() == {"queued": 3, "failed": 5}


async def test_rest_follows_when_all_got_past(scenario: Scenario, control: Control, database: Database) -> None:
    await failed(scenario, 8)
    await control.try_first(FAILED, first=3, reason="fixed")
    await scenario.settle(await scenario.claim("extract", 2))
    assert await scenario.queue.advance_trials() == 0
    await scenario.settle_once("extract")
    assert await scenario.queue.advance_trials() == 5
    trial = await newest(database)
    assert (trial["state"], trial["retried"], trial["why"]) == ("passed", 5, None)
    assert trial["ended_at"] is not None
    assert await scenario.states() == {"queued": 8}


async def test_rest_is_retried_in_the_name_of_who_began_it(
    scenario: Scenario, control: Control, database: Database
) -> None:
    *_, last = await failed(scenario, 2)
    await control.try_first(FAILED, first=1, reason="fixed")
    await scenario.settle_once("extract")
    await scenario.queue.advance_trials()
    (act,) = await Overview(database).audit(job_id=last)
    assert (act["actor"], act["action"]) == ("alice", "retry")
    assert act["reason"].startswith("trial ")
    assert act["reason"].endswith(" passed: fixed")


async def test_one_that_fails_again_stops_it(scenario: Scenario, control: Control, database: Database) -> None:
    first, second, *_ = await failed(scenario, 8)
    await control.try_first(FAILED, first=2)
    attempts = {attempt.job_id: attempt for attempt in await scenario.claim("extract", 2)}
    await scenario.settle([attempts[first]])
    await scenario.fail([attempts[second]], CorruptInput("still torn"))
    assert await scenario.queue.advance_trials() == 0
    trial = await newest(database)
    assert (trial["state"], trial["why"]) == ("stopped", f"job {second} failed again in extract: still torn")
    assert trial["ended_at"] is not None
    assert await scenario.states() == {"queued": 1, "failed": 7}


async def test_failure_in_a_later_phase_is_another_matter(scenario: Scenario, control: Control) -> None:
    await failed(scenario, 2)
    await control.try_first(FAILED, first=1)
    await scenario.settle_once("extract")
    await scenario.fail_once("embed", TORN)
    assert await scenario.queue.advance_trials() == 1


async def test_lost_worker_says_nothing(scenario: Scenario, control: Control, clock: Clock) -> None:
    await failed(scenario, 2)
    await control.try_first(FAILED, first=1)
    await scenario.claim_one("extract")
    await clock.advance(minutes=1)
    await scenario.queue.sweep(10)
    assert await scenario.queue.advance_trials() == 0
    await scenario.register_worker("other")
    await scenario.settle(await scenario.claim("extract", worker="other"))
    assert await scenario.queue.advance_trials() == 1


async def test_cancelled_ones_do_not_count_while_another_passed(scenario: Scenario, control: Control) -> None:
    first, *_ = await failed(scenario, 4)
    await control.try_first(FAILED, first=2)
    await control.cancel(Selection(ids=(first,)))
    await scenario.settle_once("extract")
    assert await scenario.queue.advance_trials() == 2


async def test_all_cancelled_stops_it(scenario: Scenario, control: Control, database: Database) -> None:
    first, *_ = await failed(scenario, 4)
    await control.try_first(FAILED, first=1)
    await control.cancel(Selection(ids=(first,)))
    assert await scenario.queue.advance_trials() == 0
    assert (await newest(database))["why"] == "every job that was tried was cancelled"


async def test_what_failed_later_is_not_of_the_rest(scenario: Scenario, control: Control, clock: Clock) -> None:
    await failed(scenario, 2)
    await control.try_first(FAILED, first=1)
    await scenario.settle_once("extract")
    await clock.advance(seconds=1)
    (late,) = await failed(scenario, 1)
    assert await scenario.queue.advance_trials() == 1
    assert (await scenario.job(late))["state"] == "failed"


async def test_rest_keeps_to_the_filter(scenario: Scenario, control: Control) -> None:
    await failed(scenario, 2)
    (other,) = await failed(scenario, 1, organisation="bolt")
    await control.try_first(Selection(organisation="acme"), first=1)
    await scenario.settle_once("extract")
    assert await scenario.queue.advance_trials() == 1
    assert (await scenario.job(other))["state"] == "failed"


async def test_large_rest_goes_in_batches(scenario: Scenario, control: Control, database: Database) -> None:
    await failed(scenario, 1105)
    await control.try_first(FAILED, first=5)
    await scenario.settle(await scenario.claim("extract", 5))
    assert [await scenario.queue.advance_trials() for _ in range(4)] == [500, 500, 100, 0]
    assert (await newest(database))["retried"] == 1100


async def test_any_number_of_sweepers_retry_each_job_once(
    scenario: Scenario, control: Control, database: Database, dsn: str
) -> None:
    await failed(scenario, 40)
    await control.try_first(FAILED, first=1)
    await scenario.settle_once("extract")
    async with many_connections(dsn, 8) as many:
        queue = type(scenario.queue)(many)
        assert sum(await asyncio.gather(*(queue.advance_trials() for _ in range(8)))) == 39
    assert await database.fetchval("select count(*) from holdfast.audit_log where action = 'retry'") == 40


async def test_document_removed_meanwhile_does_not_keep_it_going(
    scenario: Scenario, control: Control, database: Database
) -> None:
    *_, last = await failed(scenario, 3)
    await control.try_first(FAILED, first=1)
    await database.execute(
        "update holdfast.document set deleted_at = holdfast.clock() "
        "where id = (select document_id from holdfast.pipeline_job where id = $1)",
        last,
    )
    await scenario.settle_once("extract")
    assert [await scenario.queue.advance_trials() for _ in range(2)] == [1, 0]
    assert (await newest(database))["ended_at"] is not None


@pytest.mark.parametrize("first", [0, -1, 101])
async def test_senseless_number_is_refused(scenario: Scenario, control: Control, first: int) -> None:
    with pytest.raises(InvalidInput, match="makes no sense"):
        await control.try_first(FAILED, first=first)


async def test_nothing_to_try_is_said(scenario: Scenario, control: Control) -> None:
    await scenario.submit()
    with pytest.raises(NotFound, match="nothing to try"):
        await control.try_first(FAILED)
    with pytest.raises(InvalidInput, match="have nothing to try"):
        await control.try_first(Selection(state="queued"))


async def test_tenant_tries_its_own_jobs_and_sees_its_own_trials(scenario: Scenario, database: Database) -> None:
    theirs = await failed(scenario, 2, organisation="bolt")
    own = await failed(scenario, 2)
    confined = Control(database.confined_to("acme"), "acme's key")
    trial = await confined.try_first(FAILED, first=1)
    assert trial.first_jobs == own[:1]
    with pytest.raises(NotFound):
        await confined.try_first(Selection(organisation="bolt"))
    await scenario.settle_once("extract")
    assert await scenario.queue.advance_trials() == 1
    assert {(await scenario.job(job))["state"] for job in theirs} == {"failed"}
    assert len(await Overview(database.confined_to("acme")).trials()) == 1
    assert await Overview(database.confined_to("bolt")).trials() == []


async def test_transient_failure_can_be_tried_by_its_fingerprint(
    scenario: Scenario, control: Control, database: Database
) -> None:
    await scenario.submit(3)
    await scenario.fail(await scenario.claim("extract", 3), NetworkTimeout("no answer after 17 ms"))
    (group,) = await Overview(database).failure_groups()
    await control.try_first(Selection(fingerprint=group["fingerprint"]), first=1)
    await scenario.settle_once("extract")
    assert await scenario.queue.advance_trials() == 2


async def test_workers_see_a_trial_through(database: Database, control: Control) -> None:
    broken = True

    async def handle(_: Attempt) -> Done:
        if broken:
            raise TORN
        return Done()

    pipeline = pipeline_of(handle)
    await work_off(database, pipeline, 4)
    broken = False
    await control.try_first(FAILED, first=2)
    async with running(database, pipeline):
        await until(lambda: all_final(database))
    assert {job["state"] for job in await jobs_of(database)} == {"done"}
