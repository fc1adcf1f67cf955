"""The questions about the whole: health, queues, flow, time, money and failures."""

from decimal import Decimal

import pytest

from holdfast.db.connection import Database, connect
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import GiveBack
from holdfast.engine.queue import Lane
from holdfast.errors import AuthenticationFailed, InvalidInput, NotFound, RateLimited
from holdfast.settings import Settings
from tests.conftest import Clock
from tests.engine.observed_pipeline import DAMAGED, GARBLED, RESET, WATCHED, finish
from tests.engine.scenario import LEASE_SECONDS, WORKER, Scenario, begin, plain

LANES = [Lane("documents", phase.name, 1) for phase in WATCHED.phases]


@pytest.fixture
async def watched(database: Database) -> Scenario:
    """The pipeline registered, with one worker."""
    return await begin(database, WATCHED)


@pytest.fixture
def overview(database: Database) -> Overview:
    """What is under test."""
    return Overview(database)


async def test_quiet_system_is_healthy(overview: Overview, watched: Scenario) -> None:
    health = await overview.health()
    assert (health["healthy"], health["problems"], health["error_rate"]) == (True, [], None)


async def test_health_counts_every_state(overview: Overview, watched: Scenario) -> None:
    await watched.submit(5)
    await watched.fail_once("extract", RESET)
    await finish(watched)
    await watched.claim_one("extract")
    health = await overview.health()
    counted = {key: health[key] for key in ("queued", "working", "failed", "held", "deadletter")}
    assert counted == {"queued": 2, "working": 1, "failed": 1, "held": 0, "deadletter": 0}


async def test_health_names_the_phase_nobody_runs(overview: Overview, watched: Scenario) -> None:
    await watched.submit(3)
    assert (await overview.health())["problems"] == [
        "3 jobs wait for extract of documents and no living worker runs it: start one"
    ]


async def test_health_is_content_when_a_worker_runs_what_waits(overview: Overview, watched: Scenario) -> None:
    await watched.submit()
    await watched.queue.register_worker(WORKER, host="test", pid=1, lanes=LANES)
    assert (await overview.health())["healthy"]


async def test_health_counts_no_silent_worker(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.queue.register_worker(WORKER, host="test", pid=1, lanes=LANES)
    await clock.advance(seconds=20)
    health = await overview.health()
    assert (health["workers"], health["healthy"]) == (0, False)


async def test_health_is_not_content_with_jobs_that_only_dead_workers_have(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    await watched.submit()
    await watched.claim_one("extract")
    assert (await overview.health())["healthy"]
    await clock.advance(seconds=20)
    health = await overview.health()
    assert (health["working"], health["workers"], health["healthy"]) == (1, 0, False)
    assert health["problems"][0].startswith("1 jobs are with workers that are gone")


async def test_health_warns_of_many_errors(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(5)
    await watched.fail_once("extract", DAMAGED)
    await watched.settle(await watched.claim("extract", 4))
    await watched.claim("enrich", 4)
    health = await overview.health()
    assert health["error_rate"] == pytest.approx(0.2)
    assert health["problems"] == ["20.0 % of the attempts of the last hour failed: see the errors"]


async def test_health_warns_of_holds_without_end(overview: Overview, watched: Scenario) -> None:
    await watched.submit()
    await watched.fail_once("extract", AuthenticationFailed("the key was revoked"))
    assert (await overview.health())["problems"] == ["1 holds last until someone releases them: see the holds"]


async def test_queues_follow_the_pipelines_order(overview: Overview, watched: Scenario) -> None:
    assert [row["phase"] for row in await overview.queues()] == ["extract", "enrich", "embed"]


async def test_queues_count_each_state_where_the_job_stands(overview: Overview, watched: Scenario) -> None:
    await watched.submit(6)
    await watched.fail_once("extract", RESET)
    await watched.settle_once("extract")
    await watched.fail_once("enrich", AuthenticationFailed("the key was revoked"))
    await watched.claim_one("extract")
    extract, enrich, _ = await overview.queues()
    states = ("queued", "working", "failed", "held", "deadletter")
    assert [extract[state] for state in states] == [3, 1, 1, 0, 0]
    assert [enrich[state] for state in states] == [0, 0, 0, 1, 0]


async def test_queues_count_jobs_that_are_suspected_of_killing_workers(
    overview: Overview, watched: Scenario, database: Database
) -> None:
    await watched.submit(2)
    await database.execute("update holdfast.pipeline_job set crash_count = 2 where id = 1")
    assert (await overview.queues())[0]["queued"] == 2


async def test_oldest_queued_is_the_longest_waiting_not_the_next(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    await watched.submit(priority=0)
    await clock.advance(minutes=5)
    await watched.submit(priority=9)
    assert (await overview.queues())[0]["oldest_queued_seconds"] == pytest.approx(300, abs=30)


async def test_queues_count_living_workers_by_what_they_run(overview: Overview, watched: Scenario) -> None:
    await watched.queue.register_worker(WORKER, host="test", pid=1, lanes=LANES[:1])
    assert [row["workers"] for row in await overview.queues()] == [1, 0, 0]


async def test_retired_phase_shows_while_it_has_jobs(overview: Overview, database: Database) -> None:
    scenario = await begin(database, plain("scan", "store"))
    await scenario.submit()
    await scenario.queue.register([plain("store", version=2)])
    assert sorted(row["phase"] for row in await overview.queues()) == ["scan", "store"]
    await scenario.queue.sweep(10)
    assert [row["phase"] for row in await overview.queues()] == ["store"]


async def test_backlog_grows_by_what_arrived_and_was_not_completed(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    await watched.submit(4)
    await clock.advance(hours=2)
    await watched.submit(3)
    await watched.settle(await watched.claim("extract", 5))
    extract, enrich, embed = await overview.backlog()
    assert (extract["queued"], extract["arrived_last_hour"], extract["growth_last_hour"]) == (2, 3, -2)
    assert (enrich["queued"], enrich["arrived_last_hour"], enrich["growth_last_hour"]) == (5, 5, 5)
    assert (embed["queued"], embed["growth_last_hour"]) == (0, 0)


async def test_stuck_lists_work_without_progress(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(2)
    stuck, lively = await watched.claim("extract", 2)
    await clock.advance(minutes=12)
    lively.progress(0.5)
    await watched.queue.heartbeat(WORKER, [stuck, lively])
    (row,) = await overview.stuck(10)
    assert (row["job_id"], row["worker_id"], row["minutes"]) == (stuck.job_id, WORKER, pytest.approx(12, abs=1))


async def test_throughput_counts_by_hour_and_keeps_uncharged_apart(
    overview: Overview, watched: Scenario, noon: Clock
) -> None:
    await watched.submit(3)
    await watched.settle_once("extract")
    await watched.fail_once("extract", RESET)
    await watched.queue.give_back([(await watched.claim_one("extract"), GiveBack("draining"))])
    await noon.advance(hours=2)
    await watched.settle_once("enrich")
    newest, before = await overview.throughput(24)
    assert (newest["phase"], newest["completed"], newest["failed"], newest["uncharged"]) == ("enrich", 1, 0, 0)
    assert (before["phase"], before["completed"], before["failed"], before["uncharged"]) == ("extract", 1, 1, 1)


async def test_window_leaves_out_what_is_older(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.settle_once("extract")
    await clock.advance(hours=2)
    assert await overview.throughput(1) == []


async def test_durations_are_those_of_completed_attempts(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(4)
    for seconds in (1000, 2000, 3000):
        attempt = await watched.claim_one("extract")
        await clock.advance(seconds=seconds)
        await watched.settle([attempt])
    failing = await watched.claim_one("extract")
    await clock.advance(seconds=9000)
    await watched.fail([failing], RESET)
    (row,) = await overview.durations()
    assert (row["phase"], row["completed"]) == ("extract", 3)
    assert row["p50_seconds"] == pytest.approx(2000, abs=40)
    assert row["p95_seconds"] == pytest.approx(2900, abs=40)
    assert row["max_seconds"] == pytest.approx(3000, abs=40)


async def test_costs_name_payer_origin_and_waste(overview: Overview, watched: Scenario) -> None:
    await watched.submit(organisation="acme", source_platform="s3")
    await finish(watched, cost_usd="0.010")
    await watched.submit(organisation="bolt", source_platform="gdrive")
    await watched.settle_once("extract")
    await watched.fail_once("enrich", GARBLED)
    dear, wasted = await overview.costs()
    assert (dear["organisation"], dear["platform"], dear["phase"]) == ("acme", "s3", "enrich")
    assert (dear["cost_usd"], dear["wasted_usd"], dear["attempts"]) == (Decimal("0.010"), 0, 1)
    assert (wasted["organisation"], wasted["platform"]) == ("bolt", "gdrive")
    assert wasted["wasted_usd"] == wasted["cost_usd"] == Decimal("0.002")


async def test_failure_rate_is_by_platform(overview: Overview, watched: Scenario) -> None:
    await watched.submit(source_platform="s3")
    await watched.fail_once("extract", RESET)
    await watched.submit(source_platform="upload")
    await finish(watched)
    rates = {
        row["platform"]: (row["attempts"], row["failure_rate"]) for row in await overview.failure_rate_by_platform()
    }
    assert rates == {"s3": (1, 1.0), "upload": (3, 0.0)}


async def test_retries_tell_how_often_a_phase_recovers(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(2)
    await watched.fail([*await watched.claim("extract", 2)], RESET)
    await clock.advance(seconds=61)
    recovering, failing = await watched.claim("extract", 2)
    await watched.settle([recovering])
    await watched.fail([failing], RESET)
    (row,) = await overview.retries()
    assert (row["phase"], row["failures"], row["retries"], row["recovered"]) == ("extract", 3, 2, 1)
    assert (row["recovery_rate"], row["average_wait_seconds"]) == (0.5, pytest.approx(61, abs=40))


async def test_recovery_is_counted_for_the_category_that_was_retried(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    await watched.submit()
    await watched.fail_once("extract", RESET)
    await clock.advance(seconds=61)
    await watched.settle_once("extract")
    assert await overview.recovery_by_category() == [
        {"category": "network_timeout", "retries": 1, "recovered": 1, "recovery_rate": 1.0}
    ]


async def test_processing_status_has_the_documented_shape(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(3)
    failed = await watched.fail_once("extract", DAMAGED)
    stuck = await watched.claim_one("extract")
    await clock.advance(minutes=11)
    status = await overview.processing_status()
    assert status["queues"]["extract"] == {"queued": 1, "processing": 1, "failed": 1}
    (row,) = status["stuck_jobs"]
    assert (row["document"], row["phase"], round(row["minutes"])) == (stuck.document.id, "extract", 11)
    assert status["recent_failures"] == [
        {"document": failed.document.id, "pipeline": "documents", "phase": "extract", "error": "no end of file"}
    ]


async def test_processing_status_tells_pipelines_with_the_same_phase_apart(
    overview: Overview, database: Database
) -> None:
    await begin(database, plain("scan", "store"))
    await begin(database, plain("scan", name="letters"))
    assert list((await overview.processing_status())["queues"]) == ["documents.scan", "store", "letters.scan"]


async def test_holds_show_their_reason_and_who_waits(overview: Overview, watched: Scenario) -> None:
    await watched.submit(3)
    await watched.settle(await watched.claim("extract", 3))
    await watched.fail_once("enrich", RateLimited("slow down", retry_after_seconds=600))
    assert await watched.claim("enrich", 3) == []
    (hold,) = await overview.holds()
    assert (hold["provider"], hold["organisation"], hold["parked_jobs"]) == ("model", "acme", 3)
    assert hold["reason"] == "rate_limit: slow down"


async def test_released_and_ended_holds_are_not_in_force(
    overview: Overview, watched: Scenario, database: Database, clock: Clock
) -> None:
    await database.execute(
        "select holdfast.hold('{\"pipeline\": \"documents\"}', holdfast.clock() + interval '1 hour')"
    )
    await database.execute('select holdfast.release(holdfast.hold(\'{"organisation": "acme"}\'))')
    await clock.advance(hours=2)
    assert await overview.holds() == []


async def test_workers_show_their_condition(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.claim_one("extract")
    await watched.register_worker("gone")
    await watched.queue.stop_worker("gone")
    conditions = {row["worker_id"]: (row["condition"], row["working"]) for row in await overview.workers()}
    assert conditions == {WORKER: ("alive", 1), "gone": ("stopped", 0)}
    await clock.advance(seconds=16)
    assert {row["condition"] for row in await overview.workers()} == {"silent", "stopped"}


async def test_pipelines_and_policies_are_told_as_registered(overview: Overview, watched: Scenario) -> None:
    (pipeline,) = await overview.pipelines()
    assert [phase["name"] for phase in pipeline["phases"]] == ["extract", "enrich", "embed"]
    rules = {(row["policy"], row["category"]): row for row in await overview.policies()}
    assert rules["steady", "network_timeout"]["wait_seconds"] == [60, 300]


async def test_audit_tells_who_did_what_to_a_job(overview: Overview, watched: Scenario, database: Database) -> None:
    jobs = await watched.submit(2)
    for job in jobs:
        await database.execute("select holdfast.cancel(array[$1]::bigint[], 'ada', 'not needed')", job.job_id)
    (act,) = await overview.audit(job_id=jobs[0].job_id)
    assert (act["actor"], act["action"], act["reason"]) == ("ada", "cancel", "not needed")
    assert [act["job_id"] for act in await overview.audit()] == [jobs[1].job_id, jobs[0].job_id]


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("stuck", [-1]),
        ("throughput", [0]),
        ("durations", [-5]),
        ("costs", [0]),
        ("costs", [4000]),
        ("failure_rate_by_platform", [0]),
        ("retries", [-1]),
        ("recovery_by_category", [0]),
        ("top_failing", [-1]),
        ("errors_by", ["colour"]),
        ("errors_by", ["category", 0]),
        ("repeat_offenders", [0]),
        ("budget_refusals", [-7]),
        ("audit", [-1]),
        ("failed", [-1]),
        ("throughput", [10**12]),
    ],
)
async def test_senseless_numbers_and_names_are_refused(
    overview: Overview, watched: Scenario, question: str, arguments: list[object]
) -> None:
    with pytest.raises(InvalidInput):
        await getattr(overview, question)(*arguments)


@pytest.mark.parametrize(("question", "arguments"), [("job", [404]), ("pipeline_of", [404]), ("audit", [10, 404])])
async def test_unknown_ids_are_not_found(overview: Overview, question: str, arguments: list[object]) -> None:
    with pytest.raises(NotFound, match="404"):
        await getattr(overview, question)(*arguments)


@pytest.mark.parametrize("role", ["holdfast_readonly", "holdfast_api"])
async def test_roles_that_only_look_may_ask_everything(dsn: str, watched: Scenario, role: str) -> None:
    await watched.submit(2)
    await watched.fail_once("extract", RESET)
    job_id = await finish(watched)
    of_jobs = {"family": [[job_id]], "progress": [[job_id]], "spent": [[job_id]], "failed_originals": [[1]]}
    arguments = {"errors_by": ["category"], "job": [job_id], "position": [job_id], "pipeline_of": [1], **of_jobs}
    questions = [name for name in vars(Overview) if not name.startswith("_")]
    async with connect(
        Settings(database_url=f"{dsn}{'&' if '?' in dsn else '?'}options=-c%20role%3D{role}")
    ) as database:
        assert await database.fetchval("select current_user") == role
        for question in questions:
            await getattr(Overview(database), question)(*arguments.get(question, []))


async def test_progress_of_a_family_counts_what_a_hold_leaves_in_the_queue_as_waiting(
    overview: Overview, watched: Scenario, database: Database
) -> None:
    jobs = [one.job_id for one in await watched.submit(2)]
    await database.execute(
        "select holdfast.hold('{\"pipeline\": \"documents\"}', p_until => now() + interval '1 hour')"
    )
    extract, *_ = await overview.progress(jobs)
    assert (extract["queued"], extract["waiting"]) == (0, 2)
    assert extract["resumes_at"] == await database.fetchval("select until from holdfast.hold")


async def test_progress_of_a_family_counts_what_its_jobs_at_work_have_done(
    overview: Overview, watched: Scenario
) -> None:
    jobs = [one.job_id for one in await watched.submit(3)]
    first, second = await watched.claim("extract", 2)
    assert (await overview.progress(jobs))[0]["progress"] is None
    first.progress(0.25)
    second.progress(0.5)
    await watched.queue.heartbeat(WORKER, [first, second])
    extract, *others = await overview.progress(jobs)
    assert (extract["queued"], extract["working"], extract["progress"]) == (1, 2, 0.75)
    assert {row["progress"] for row in others} == {None}


async def test_attempt_of_a_lost_worker_is_nobodys_failure_wherever_it_is_counted(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    job_id = (await watched.submit_one()).job_id
    await watched.claim_one("extract")
    await clock.advance(minutes=1)
    await watched.queue.sweep(LEASE_SECONDS)
    (spent,) = await overview.spent([job_id])
    assert (spent["completed"], spent["failed"]) == (0, 0)
    assert (await overview.health())["failed_last_hour"] == 0
