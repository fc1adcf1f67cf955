"""A worker that was taken to be lost and comes back: what it has done is kept, and what it cost is known."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import classify
from holdfast.engine.control import Control
from holdfast.engine.doctor import examine
from holdfast.engine.executor import perform
from holdfast.engine.pipeline import Awaits, Done, GiveBack, Phase, Pipeline
from holdfast.errors import NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, STORIES, WORKER, Scenario, begin, no_work, plain

OTHER = "worker-2"
PAID = Done({"words": 7}, cost_usd=Decimal("0.25"))


async def test_late_success_is_kept_while_nobody_has_claimed_the_job(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    assert await _results(scenario, attempt, PAID) == ["settled"]
    assert await _results(scenario, attempt, PAID) == ["already"]
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["crash_count"], job["total_cost_usd"]) == ("done", 0, Decimal("0.25"))
    assert await scenario.outcomes(attempt.job_id) == ["lost", "completed"]
    assert await _spent(database) == Decimal("0.25")
    assert await _recorded(database) == Decimal("0.25")


async def test_late_success_of_a_job_that_was_claimed_again_leaves_its_cost(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    late = await _claim_and_lose(scenario, clock)
    again = await scenario.claim_one("enrich", worker=OTHER)
    await scenario.reserve(again, "1")
    assert await _results(scenario, late, PAID) == ["stale"]
    assert await _results(scenario, late, PAID) == ["stale"]
    assert (await scenario.job(late.job_id))["state"] == "working"
    await scenario.settle([again], replace(PAID, cost_usd=Decimal("0.5")))
    assert await scenario.outcomes(late.job_id) == ["lost", "completed"]
    assert (await scenario.job(late.job_id))["total_cost_usd"] == Decimal("0.75")
    assert await _spent(database) == await _recorded(database) == Decimal("0.75")


async def test_late_failure_counts_as_one(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    failure = replace(classify(NetworkTimeout("reset")), cost_usd=Decimal("0.1"))
    results = await scenario.queue.fail([(attempt, failure)])
    assert list(results.values()) == ["failed"]
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"], job["crash_count"]) == ("failed", 1, 0)
    assert await _spent(database) == await _recorded(database) == Decimal("0.1")


async def test_late_question_to_a_provider_is_not_asked_again(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    asked = Awaits("reader", "r-1", within_seconds=60, cost_usd=Decimal("0.1"))
    assert list((await scenario.queue.await_answers([(attempt, asked)])).values()) == ["awaits"]
    assert list((await scenario.queue.await_answers([(attempt, asked)])).values()) == ["already"]
    assert (await scenario.job(attempt.job_id))["state"] == "held"
    assert await _recorded(database) == Decimal("0.1")


async def test_job_given_back_late_was_back_already_and_its_cost_is_known(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    await scenario.queue.give_back([(attempt, GiveBack("stopping", cost_usd=Decimal("0.1")))])
    assert await scenario.outcomes(attempt.job_id) == ["lost"]
    assert (await scenario.job(attempt.job_id))["state"] == "queued"
    assert await _spent(database) == await _recorded(database) == Decimal("0.1")


async def test_third_loss_is_no_dead_letter_once_the_result_arrives(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempts = [await _claim_and_lose(scenario, clock) for _ in range(3)]
    assert (await scenario.job(attempts[0].job_id))["state"] == "deadletter"
    assert await _results(scenario, attempts[-1], PAID) == ["settled"]
    assert (await scenario.job(attempts[0].job_id))["state"] == "done"


async def test_result_of_a_job_that_an_operator_took_back_is_kept_while_nobody_has_claimed_it(
    database: Database, clock: Clock
) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_requeue(scenario, clock)
    assert await _results(scenario, attempt, PAID) == ["settled"]
    assert await _results(scenario, attempt, PAID) == ["already"]
    assert (await scenario.job(attempt.job_id))["state"] == "done"
    assert await scenario.outcomes(attempt.job_id) == ["released", "completed"]
    assert await _spent(database) == await _recorded(database) == Decimal("0.25")
    assert await examine(database) == []


async def test_failure_of_a_job_that_an_operator_took_back_counts_once(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_requeue(scenario, clock)
    failure = replace(classify(NetworkTimeout("reset")), cost_usd=Decimal("0.1"))
    for said in ("failed", "already"):
        assert list((await scenario.queue.fail([(attempt, failure)])).values()) == [said]
    assert (await scenario.job(attempt.job_id))["retry_count"] == 1
    assert await _spent(database) == await _recorded(database) == Decimal("0.1")


async def test_result_of_a_job_that_an_operator_took_back_and_another_claimed_leaves_its_cost(
    database: Database, clock: Clock
) -> None:
    scenario = await _stories(database)
    late = await _claim_and_requeue(scenario, clock)
    again = await scenario.claim_one("enrich", worker=OTHER)
    assert await _results(scenario, late, PAID) == ["stale"]
    await scenario.settle([again], replace(PAID, cost_usd=Decimal("0.5")))
    assert await _recorded(database) == Decimal("0.75")


async def test_job_that_an_operator_took_back_is_not_worked_on_again_because_its_worker_names_it(
    database: Database, clock: Clock
) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_requeue(scenario, clock)
    pulse = await scenario.queue.heartbeat(WORKER, [attempt])
    assert (pulse.stale, pulse.renewed) == (frozenset({(attempt.job_id, attempt.token)}), {})


async def test_job_that_its_worker_gave_back_is_not_ended_once_more(database: Database) -> None:
    scenario = await _stories(database)
    attempt = await scenario.claim_one("enrich")
    await scenario.reserve(attempt, "1")
    await scenario.queue.give_back([(attempt, GiveBack("its worker stopped", cost_usd=None))])
    assert await _results(scenario, attempt, PAID) == ["stale"]
    assert (await scenario.job(attempt.job_id))["state"] == "queued"


async def test_running_attempt_goes_on_under_a_new_token(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    pulse = await scenario.queue.heartbeat(WORKER, [attempt])
    handle = (attempt.job_id, attempt.token)
    assert (pulse.alive, pulse.stale, pulse.renewed) == (True, frozenset(), {handle: attempt.token + 1})
    # Said again, if the first answer was lost.
    assert (await scenario.queue.heartbeat(WORKER, [attempt])).renewed == {handle: attempt.token + 1}
    assert await scenario.claim("enrich", worker=OTHER) == []
    attempt.token += 1
    assert await scenario.reserve(attempt, "1")
    assert await _results(scenario, attempt, PAID) == ["settled"]
    assert (await scenario.job(attempt.job_id))["crash_count"] == 0
    assert await _spent(database) == await _recorded(database) == Decimal("0.25")


async def test_ending_on_its_way_while_its_token_is_renewed_counts(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    await scenario.queue.heartbeat(WORKER, [attempt])
    assert await _results(scenario, attempt, PAID) == ["settled"]
    assert await _recorded(database) == Decimal("0.25")


async def test_attempt_that_someone_else_has_claimed_since_must_stop(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    await scenario.claim_one("enrich", worker=OTHER)
    pulse = await scenario.queue.heartbeat(WORKER, [attempt])
    assert (pulse.stale, pulse.renewed) == (frozenset({(attempt.job_id, attempt.token)}), {})


async def test_job_that_an_operator_has_reset_is_not_taken_up_again(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempts = [await _claim_and_lose(scenario, clock) for _ in range(3)]
    await database.execute("select holdfast.reset(array[$1]::bigint[])", attempts[0].job_id)
    assert await _results(scenario, attempts[-1], PAID) == ["stale"]
    assert await _recorded(database) == Decimal("0.25")


async def test_claim_that_is_about_to_be_answered_is_not_given_back(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    for _ in range(2):
        await clock.advance(seconds=3)
        assert (await scenario.queue.heartbeat(WORKER, [], names_all=False)).alive
    assert list((await scenario.settle([attempt])).values()) == ["settled"]


async def test_heartbeat_that_was_overtaken_on_its_way_changes_nothing(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    for number in (2, 3):
        await clock.advance(seconds=1)
        await scenario.queue.heartbeat(WORKER, [attempt], number=number)
    seen_at = await database.fetchval("select seen_at from holdfast.worker")
    pulse = await scenario.queue.heartbeat(WORKER, [], number=1)
    assert (pulse.alive, pulse.stale, pulse.renewed) == (True, frozenset(), {})
    assert (await scenario.job(attempt.job_id))["state"] == "working"
    assert await database.fetchval("select seen_at from holdfast.worker") == seen_at


async def test_heartbeat_does_not_wait_for_a_save_that_its_worker_makes(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    attempt = await _claim_and_lose(scenario, clock)
    async with database.transaction() as saving:
        assert list((await scenario.queue.settle([(attempt, PAID)], saving)).values()) == ["settled"]
        async with asyncio.timeout(10):
            pulse = await scenario.queue.heartbeat(WORKER, [attempt])
        assert (pulse.alive, pulse.stale, pulse.renewed) == (True, frozenset(), {})
    assert (await scenario.job(attempt.job_id))["state"] == "done"


async def test_attempt_taken_back_before_it_had_reserved_is_not_charged(database: Database, clock: Clock) -> None:
    scenario = await _stories(database)
    await scenario.queue.heartbeat(WORKER, [], names_all=False)
    attempt = await scenario.claim_one("enrich")
    await clock.advance(seconds=LEASE_SECONDS + 1)
    await scenario.queue.sweep(LEASE_SECONDS)
    ending = await perform(attempt, STORIES.phases[0], scenario.queue)
    assert isinstance(ending, GiveBack)
    await scenario.queue.give_back([(attempt, ending)])
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"], attempt.called) == ("queued", 0, False)


ASKING = Pipeline("asking", (Phase(name="ask", handler=no_work, done="asked", provider="model"),))


PAYING = Pipeline("paying", (Phase(name="ask", handler=no_work, done="asked", paid=True),))


@pytest.mark.parametrize("pipeline", [ASKING, PAYING], ids=["names a provider", "is paid"])
async def test_cost_of_an_attempt_that_an_operator_took_back_becomes_known(
    database: Database, clock: Clock, pipeline: Pipeline
) -> None:
    scenario = await begin(database, pipeline)
    await scenario.submit()
    attempt = await scenario.claim_one("ask")
    await clock.advance(minutes=5)
    await database.execute("select holdfast.requeue_stuck(1)")
    error = await database.fetchval("select error from holdfast.pipeline_phase")
    assert error["details"] == {"cost_is_known": False}
    await scenario.claim_one("ask")
    assert await _results(scenario, attempt, PAID) == ["stale"]
    assert await _recorded(database) == Decimal("0.25")


async def test_cost_of_a_paid_attempt_that_timed_out_becomes_known(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PAYING)
    await scenario.submit()
    attempt = await scenario.claim_one("ask")
    await clock.advance(seconds=attempt.limit_seconds + 1)
    await database.execute("select holdfast.check_timeouts()")
    assert await _results(scenario, attempt, PAID) == ["stale"]
    assert await _recorded(database) == Decimal("0.25")


async def test_claim_that_never_arrived_is_known_to_have_cost_nothing(database: Database, clock: Clock) -> None:
    scenario = await begin(database, ASKING)
    await scenario.submit()
    await scenario.claim_one("ask")
    for _ in range(2):
        await clock.advance(seconds=1)
        await scenario.queue.heartbeat(WORKER, [])
    error = await database.fetchval("select error from holdfast.pipeline_phase where outcome = 'released'")
    assert "details" not in error


async def test_cost_of_a_cancelled_attempt_becomes_known(database: Database) -> None:
    scenario = await begin(database, plain("ask"))
    await scenario.submit()
    attempt = await scenario.claim_one("ask")
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", attempt.job_id)
    assert await _results(scenario, attempt, PAID) == ["stale"]
    assert await _recorded(database) == Decimal("0.25")
    assert (await scenario.job(attempt.job_id))["total_cost_usd"] == Decimal("0.25")


async def test_unknown_cost_spends_the_reservation_and_says_so(database: Database) -> None:
    scenario = await _stories(database)
    attempt = await scenario.claim_one("enrich")
    await scenario.reserve(attempt, "1")
    await scenario.queue.give_back([(attempt, GiveBack("its worker stopped", cost_usd=None))])
    error = await database.fetchval("select error from holdfast.pipeline_phase")
    assert error["details"] == {"cost_is_known": False}
    assert await _spent(database) == Decimal(1)


@pytest.mark.parametrize("cost_usd", [Decimal(0), Decimal("0.1")])
async def test_known_cost_refunds_the_rest(database: Database, cost_usd: Decimal) -> None:
    scenario = await _stories(database)
    attempt = await scenario.claim_one("enrich")
    await scenario.reserve(attempt, "1")
    await scenario.queue.give_back([(attempt, GiveBack("not now", cost_usd=cost_usd))])
    assert await _spent(database) == cost_usd


async def test_worker_judges_others_only_after_a_lease_in_touch(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await scenario.claim("extract")
    await clock.advance(seconds=3600)
    await scenario.register_worker(OTHER)
    swept = await scenario.queue.sweep(LEASE_SECONDS, OTHER)
    assert (swept["lost_jobs"], swept["undecided"]) == ([], True)
    for _ in range(4):
        await clock.advance(seconds=LEASE_SECONDS / 4)
        await scenario.queue.heartbeat(OTHER, [])
    swept = await scenario.queue.sweep(LEASE_SECONDS, OTHER)
    assert (swept["lost_jobs"], swept["undecided"]) == ([submitted.job_id], False)


async def test_outage_for_everybody_ends_nobody(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    await scenario.register_worker(OTHER)
    for _ in range(5):
        await clock.advance(seconds=LEASE_SECONDS / 4)
        for worker, attempts in ((WORKER, [attempt]), (OTHER, [])):
            await scenario.queue.heartbeat(worker, attempts)
    await clock.advance(seconds=60)
    await scenario.queue.heartbeat(OTHER, [])
    assert (await scenario.queue.sweep(LEASE_SECONDS, OTHER))["lost_jobs"] == []
    assert (await scenario.queue.heartbeat(WORKER, [attempt])).stale == frozenset()
    assert (await scenario.job(attempt.job_id))["crash_count"] == 0


async def test_result_that_was_ready_in_time_is_no_timeout_after_an_outage(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    await scenario.register_worker(OTHER)
    await clock.advance(seconds=attempt.limit_seconds + 60)
    await scenario.queue.heartbeat(OTHER, [])
    assert (await scenario.queue.sweep(LEASE_SECONDS, OTHER))["timed_out_jobs"] == []
    await scenario.queue.heartbeat(WORKER, [attempt])
    assert (await scenario.queue.sweep(LEASE_SECONDS, OTHER))["timed_out_jobs"] == []
    assert list((await scenario.settle([attempt])).values()) == ["settled"]


async def test_result_that_waits_to_be_written_is_no_timeout(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    attempt.ended = True
    await _stay_in_touch(scenario, clock, [attempt], attempt.limit_seconds + 2 * LEASE_SECONDS)
    assert (await scenario.queue.sweep(LEASE_SECONDS, WORKER))["timed_out_jobs"] == []
    assert await database.fetchval("select updated_jobs from holdfast.check_timeouts()") == []
    assert list((await scenario.settle([attempt])).values()) == ["settled"]


async def test_worker_in_touch_is_given_time_to_say_that_an_attempt_ended(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    await _stay_in_touch(scenario, clock, [attempt], attempt.limit_seconds + 1)
    assert (await scenario.queue.sweep(LEASE_SECONDS, WORKER))["timed_out_jobs"] == []
    await _stay_in_touch(scenario, clock, [attempt], LEASE_SECONDS)
    assert (await scenario.queue.sweep(LEASE_SECONDS, WORKER))["timed_out_jobs"] == [attempt.job_id]


async def test_result_that_a_dead_worker_could_not_write_is_lost(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    attempt.ended = True
    await scenario.queue.heartbeat(WORKER, [attempt])
    await clock.advance(seconds=attempt.limit_seconds + LEASE_SECONDS)
    swept = await scenario.queue.sweep(LEASE_SECONDS)
    assert (swept["lost_jobs"], swept["timed_out_jobs"]) == ([attempt.job_id], [])


async def test_clock_that_was_set_back_hides_no_dead_worker(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await scenario.claim("extract")
    await clock.advance(seconds=-3600)
    assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == []
    await clock.advance(seconds=LEASE_SECONDS + 1)
    assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == [submitted.job_id]


async def test_many_jobs_of_a_dead_worker_come_back_in_batches(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit(450)
    await scenario.claim("extract", 450)
    await clock.advance(seconds=LEASE_SECONDS + 1)
    sweeps = [await scenario.queue.sweep(LEASE_SECONDS) for _ in range(3)]
    assert [(len(swept["lost_jobs"]), swept["more"]) for swept in sweeps] == [(200, True), (200, True), (50, False)]
    assert await scenario.states() == {"queued": len(submitted)}


async def test_many_timeouts_are_ended_in_batches(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(250)
    (attempt, *_) = await scenario.claim("extract", 250)
    await clock.advance(seconds=attempt.limit_seconds + 1)
    counts = [await database.fetchrow("select updated_count, more from holdfast.check_timeouts()") for _ in range(2)]
    assert [tuple(row or ()) for row in counts] == [(200, True), (50, False)]


async def _stories(database: Database) -> Scenario:
    """A pipeline whose one phase pays from a budget, a job in it, and two workers."""
    scenario = await begin(database, STORIES)
    await database.execute("select holdfast.set_budget('stories', 10)")
    await scenario.register_worker(OTHER)
    await scenario.submit_one()
    return scenario


async def _claim_and_lose(scenario: Scenario, clock: Clock) -> Attempt:
    """An attempt that has reserved money, and whose worker is declared lost; the other worker is not."""
    await scenario.queue.heartbeat(WORKER, [], names_all=False)
    attempt = await scenario.claim_one("enrich")
    assert await scenario.reserve(attempt, "1")
    await clock.advance(seconds=LEASE_SECONDS + 1)
    await scenario.queue.heartbeat(OTHER, [])
    assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == [attempt.job_id]
    return attempt


async def _claim_and_requeue(scenario: Scenario, clock: Clock) -> Attempt:
    """An attempt that has reserved money, and whose job an operator takes back."""
    attempt = await scenario.claim_one("enrich")
    assert await scenario.reserve(attempt, "1")
    await clock.advance(seconds=1)
    assert await Control(scenario.database, "ann").requeue_stuck(minutes=0) == [attempt.job_id]
    return attempt


async def _stay_in_touch(scenario: Scenario, clock: Clock, attempts: list[Attempt], seconds: float) -> None:
    for _ in range(round(seconds / 2)):
        await clock.advance(seconds=2)
        await scenario.queue.heartbeat(WORKER, attempts)


async def _results(scenario: Scenario, attempt: Attempt, done: Done) -> list[str]:
    return list((await scenario.settle([attempt], done)).values())


async def _spent(database: Database) -> Decimal:
    row = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert row is not None
    assert row["reserved_usd"] == 0
    return row["spent_usd"]


async def _recorded(database: Database) -> Decimal:
    return await database.fetchval("select sum(cost_usd) from holdfast.pipeline_phase")
