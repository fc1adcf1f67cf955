"""A worker dies at every boundary of an attempt: its job goes on elsewhere, and nothing finished runs again."""

import signal
import time

import pytest

from holdfast.engine.lifeline import Pace
from tests.walks.conftest import ATTENTIVE, Walks
from tests.walks.worker_process import BOUNDARIES

PHASES = ["first", "second", "third"]
TAKEN_OVER_SECONDS = 15.0
SLOW_MACHINE_SECONDS = 15.0


def test_default_pace_leaves_time_to_be_taken_over() -> None:
    pace = Pace()
    assert pace.lease_seconds + pace.sweep_seconds + pace.poll_seconds < TAKEN_OVER_SECONDS


@pytest.mark.parametrize("boundary", BOUNDARIES)
async def test_job_of_killed_worker_completes_elsewhere(walks: Walks, boundary: str) -> None:
    (job_id,) = await walks.submit()
    # Once at the pace that operators get by default: a job waits no longer than that for its worker.
    if boundary == "mid_phase":
        await _kill_and_wait_out_the_lease(walks, job_id)
    else:
        doomed = await walks.start(pause_at=boundary, **ATTENTIVE)
        await doomed.says(boundary)
        await walks.start(**ATTENTIVE)
        await doomed.kill()
        await walks.lose(doomed)
        await walks.until_state(job_id, "done")

    lost = [("second", "lost")] if boundary != "after_settle" else []
    expected = [("first", "completed"), *lost, ("second", "completed"), ("third", "completed")]
    # It may have claimed the third phase already, even begun it: that claim is lost like any other.
    outcomes = await walks.outcomes(job_id)
    third_lost = outcomes.count(("third", "lost"))
    assert [outcome for outcome in outcomes if outcome != ("third", "lost")] == expected
    assert third_lost <= (1 if boundary == "after_settle" else 0)
    assert await walks.results(job_id) == PHASES
    calls = walks.calls(job_id)
    assert calls["first"] == 1
    assert 1 <= calls["third"] <= 1 + third_lost
    assert calls["second"] == (1 if boundary in ("after_claim", "after_settle") else 2)
    job = await walks.database.fetchrow("select * from holdfast.pipeline_job where id = $1", job_id)
    assert job is not None
    assert (job["retry_count"], job["crash_count"]) == (0, 0)
    charged = await walks.database.fetchval("select count(*) from holdfast.error_log where charged")
    assert charged == 0


async def _kill_and_wait_out_the_lease(walks: Walks, job_id: int) -> None:
    doomed = await walks.start(pause_at="mid_phase")
    await doomed.says("mid_phase")
    await walks.start()
    await doomed.kill()
    killed_at = time.monotonic()
    await walks.until_state(job_id, "done")
    assert time.monotonic() - killed_at < TAKEN_OVER_SECONDS + SLOW_MACHINE_SECONDS


async def test_stopped_worker_that_comes_back_writes_nothing(walks: Walks) -> None:
    (job_id,) = await walks.submit(freezes=True, pause_seconds=0)
    frozen = await walks.start(pause_at="mid_phase", **ATTENTIVE)
    await frozen.says("mid_phase")
    await walks.start(**ATTENTIVE)
    await walks.lose(frozen)
    await walks.until_state(job_id, "done")
    outcomes = await walks.outcomes(job_id)

    frozen.send(signal.SIGCONT)
    (later,) = await walks.submit(pause_seconds=0)
    await walks.until_state(later, "done")
    assert frozen.running
    assert await walks.outcomes(job_id) == outcomes
    assert outcomes == [("first", "completed"), ("second", "lost"), ("second", "completed"), ("third", "completed")]
    assert await walks.results(job_id) == PHASES


async def test_worker_that_came_back_works_again(walks: Walks) -> None:
    (job_id,) = await walks.submit(freezes=True, pause_seconds=0)
    frozen = await walks.start(pause_at="mid_phase", **ATTENTIVE)
    await frozen.says("mid_phase")
    other = await walks.start(**ATTENTIVE)
    await walks.lose(frozen)
    await walks.until_state(job_id, "done")
    await other.kill()
    frozen.send(signal.SIGCONT)
    (later,) = await walks.submit(pause_seconds=0)
    await walks.until_state(later, "done")
    workers = await walks.database.fetch(
        "select id, lost_at from holdfast.worker where pid = $1 order by started_at", frozen.process.pid
    )
    assert [worker["lost_at"] for worker in workers] == [None]


async def test_document_that_kills_its_workers_ends_as_dead_letter_and_its_neighbours_finish(walks: Walks) -> None:
    neighbours = await walks.submit(20)
    (deadly,) = await walks.submit(deadly=True)
    workers = [await walks.start(**ATTENTIVE)]

    async def settled() -> bool:
        if not workers[-1].running:
            workers.append(await walks.start(**ATTENTIVE))
            await walks.lose(workers[-2])
        return not await walks.database.fetchval(
            "select exists (select from holdfast.pipeline_job where state not in ('done', 'deadletter'))"
        )

    await walks.until(settled, 90)
    states = await walks.database.fetch("select id, state, crash_count, last_error from holdfast.pipeline_job")
    by_id = {row["id"]: row for row in states}
    assert by_id[deadly]["state"] == "deadletter"
    assert by_id[deadly]["crash_count"] == 3
    assert by_id[deadly]["last_error"]["category"] == "worker_lost"
    assert {by_id[job]["state"] for job in neighbours} == {"done"}
