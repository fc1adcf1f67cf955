"""Registering declarations: an upsert that never strands a job and never runs a finished phase again."""

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import PATIENT, Policy, Rule
from holdfast.engine.queue import Lane, Queue
from holdfast.engine.slots import Slots
from holdfast.errors import Category, CorruptInput, InvalidInput, NetworkTimeout, NotFound, RateLimited
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, WORKER, Scenario, begin, no_work, plain


async def test_registering_the_same_declaration_again_changes_nothing(database: Database) -> None:
    await begin(database, plain("extract", "embed"))
    before = await _declared(database)
    await begin(database, plain("extract", "embed"))
    assert await _declared(database) == before


async def test_ten_processes_register_at_once(database: Database) -> None:
    pipeline = plain("extract", "embed")
    await asyncio.gather(*(Queue(database).register([pipeline]) for _ in range(10)))
    assert await _phases_in_force(database) == ["extract", "embed"]


async def test_operators_change_of_a_policy_survives_the_same_declaration(database: Database) -> None:
    await begin(database, plain("extract"))
    await _operator_sets_retries(database, 9)
    await begin(database, plain("extract"))
    assert await _retries(database) == 9


async def test_operators_change_of_a_policy_yields_to_a_changed_declaration(database: Database) -> None:
    await begin(database, plain("extract"))
    await _operator_sets_retries(database, 9)
    changed = PATIENT.with_rules({Category.TIMEOUT: Rule(max_retries=7)})
    await begin(database, plain("extract", policy=changed))
    assert await _retries(database) == 3


async def test_policy_changed_while_it_runs_decides_the_next_failure(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    await _operator_sets_retries(database, 1)
    await clock.advance(minutes=2)
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    assert (await scenario.job(submitted.job_id))["state"] == "deadletter"


async def test_process_without_a_model_leaves_what_others_declared(database: Database) -> None:
    await Queue(database).register([_enriching(provider="model", budget="money")])
    before = await _declared(database)
    await Queue(database).register([_enriching(provider=None, budget=None)])
    assert await _declared(database) == before


async def test_phase_that_others_declared_paid_stays_paid(database: Database) -> None:
    for paid in (True, False):
        phase = Phase(name="ask", handler=no_work, done="asked", paid=paid)
        await Queue(database).register([Pipeline("asking", (phase,))])
    assert await database.fetchval("select paid from holdfast.phase")


async def test_worker_pays_from_its_own_budget_whatever_others_declare(database: Database) -> None:
    scenario = await _begin_paid(database)
    await scenario.submit()
    await scenario.queue.register([_enriching(provider=None, budget=None, version=2)])
    attempt = await scenario.claim_one("enrich", worker="paying")
    assert await scenario.reserve(attempt, "0.1")


async def test_failure_holds_the_provider_of_the_worker_that_had_it(database: Database) -> None:
    scenario = await _begin_paid(database)
    await scenario.submit(2)
    await scenario.queue.register([_enriching(provider="other model", budget=None, version=2)])
    attempt = await scenario.claim_one("enrich", worker="paying")
    await scenario.fail([attempt], RateLimited("slow down", retry_after_seconds=30))
    assert await database.fetchval("select provider from holdfast.hold") == "model"
    assert await scenario.claim("enrich", worker="paying") == []


async def test_worker_without_a_model_does_not_wait_for_the_model(database: Database) -> None:
    scenario = await _begin_paid(database)
    await scenario.submit(2)
    attempt = await scenario.claim_one("enrich", worker="paying")
    await scenario.fail([attempt], RateLimited("slow down", retry_after_seconds=30))
    lanes = Slots.serving([_enriching(provider=None, budget=None)]).all_lanes()
    await scenario.queue.register_worker("plain", host="test", pid=1, lanes=lanes)
    assert len(await scenario.claim("enrich", worker="plain")) == 1


async def test_new_version_may_take_a_provider_away(database: Database) -> None:
    await Queue(database).register([_enriching(provider="model", budget="money")])
    await Queue(database).register([_enriching(provider=None, budget=None, version=2)])
    assert await database.fetchval("select provider from holdfast.phase") is None


async def test_policy_without_a_rule_for_the_unknown_is_refused(database: Database) -> None:
    policy = Policy("careless", {Category.TIMEOUT: Rule()})
    with pytest.raises(InvalidInput, match='no rule for category "unknown"'):
        await begin(database, plain("extract", policy=policy))


async def test_pipeline_with_an_unregistered_policy_is_refused(database: Database) -> None:
    declaration = str(plain("extract").declaration()).replace("'", '"').replace("None", "null")
    with pytest.raises(NotFound, match='policy "patient", which is not registered'):
        await database.execute("select holdfast.register_pipeline($1::text::jsonb)", declaration)


async def test_refused_registration_leaves_nothing_behind(database: Database) -> None:
    careless = plain("extract", name="careless", policy=Policy("careless", {Category.TIMEOUT: Rule()}))
    with pytest.raises(InvalidInput):
        await Queue(database).register([plain("extract"), careless])
    assert await database.fetchval("select count(*) from holdfast.pipeline") == 0


async def test_inserted_phase_runs_for_jobs_that_have_not_passed_it(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await scenario.submit(2)
    await scenario.settle_once("extract")
    await _register(scenario, plain("extract", "chunk", "embed", version=2))
    ran = await _run_to_the_end(scenario)
    assert sorted(ran.values()) == [["embed"], ["extract", "chunk", "embed"]]


@pytest.mark.parametrize("condition", ["queued", "failed", "working then done", "working then failed", "held"])
async def test_removed_phase_strands_no_job_in_it(database: Database, clock: Clock, condition: str) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract", Done({"text": "t"}))
    attempts = await _bring_into(scenario, condition)
    await _register(scenario, plain("extract", "embed", version=2))
    if condition == "working then done":
        await scenario.settle(attempts)
    elif condition == "working then failed":
        await scenario.fail(attempts, NetworkTimeout("reset"))
    await database.execute("select holdfast.release(id) from holdfast.hold")
    await clock.advance(hours=1)
    ran = await _run_to_the_end(scenario)
    assert ran == {submitted.job_id: ["embed"]}
    assert (await scenario.job(submitted.job_id))["state"] == "done"


async def test_job_in_a_removed_last_phase_is_done(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract")
    await _register(scenario, plain("extract", version=2))
    await scenario.queue.sweep(LEASE_SECONDS)
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["finished_at"] is not None) == ("done", True)


async def test_removed_first_phase_is_passed_over(database: Database) -> None:
    scenario = await begin(database, plain("fetch", "extract"))
    submitted = await scenario.submit_one(input={"url": "u"})
    await _register(scenario, plain("extract", version=2))
    await scenario.queue.sweep(LEASE_SECONDS)
    attempt = await scenario.claim_one("extract")
    assert (attempt.job_id, attempt.input) == (submitted.job_id, {"url": "u"})


async def test_next_phase_gets_the_output_of_the_last_one_that_ran(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    await scenario.submit()
    await scenario.settle_once("extract", Done({"text": "t"}))
    await _register(scenario, plain("extract", "embed", version=2))
    await scenario.queue.sweep(LEASE_SECONDS)
    assert (await scenario.claim_one("embed")).input == {"text": "t"}


async def test_renamed_phase_takes_the_place_of_the_old_one(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    await scenario.submit(3)
    await scenario.settle(await scenario.claim("extract", 2))
    await scenario.settle_once("chunk")
    await _register(scenario, plain("extract", "split", "embed", version=2))
    ran = await _run_to_the_end(scenario)
    assert sorted(ran.values()) == [["embed"], ["extract", "split", "embed"], ["split", "embed"]]


async def test_reordered_phases_run_no_finished_phase_again(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract")
    await _register(scenario, plain("chunk", "extract", "embed", version=2))
    assert await _run_to_the_end(scenario) == {submitted.job_id: ["chunk", "embed"]}
    assert (await scenario.job(submitted.job_id))["state"] == "done"


async def test_phase_removed_after_a_reordering_runs_no_finished_phase_again(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract")
    await _register(scenario, plain("chunk", "extract", "embed", version=2))
    await _register(scenario, plain("extract", "embed", version=3))
    assert await _run_to_the_end(scenario) == {submitted.job_id: ["embed"]}


async def test_phase_that_comes_back_is_in_force_again(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    await _register(scenario, plain("extract", "embed", version=2))
    await _register(scenario, plain("extract", "chunk", "embed", version=3))
    submitted = await scenario.submit_one()
    assert await _run_to_the_end(scenario) == {submitted.job_id: ["extract", "chunk", "embed"]}


async def test_older_version_does_not_overwrite_a_newer_one(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed", version=2))
    await _register(scenario, plain("extract", "embed", version=1))
    assert await _phases_in_force(database) == ["extract", "chunk", "embed"]


async def test_worker_of_an_older_version_leaves_phases_it_does_not_know_alone(database: Database) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    submitted = await scenario.submit_one()
    await _register(scenario, plain("extract", "chunk", "embed", version=2))
    older = [Lane("documents", "extract", 5), Lane("documents", "embed", 5)]
    await scenario.settle(await scenario.queue.claim(WORKER, older))
    assert await scenario.queue.claim(WORKER, older) == []
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["phase"]) == ("queued", "chunk")


async def test_worker_of_a_newer_version_may_ask_for_phases_not_registered_yet(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    lanes = [Lane("documents", "not_there_yet", 5), Lane("not_there_yet", "extract", 5)]
    assert await scenario.queue.claim(WORKER, lanes) == []


async def test_changed_limit_and_statuses_are_used_by_the_next_claim(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    changed = plain("extract", version=2)
    phase = replace(changed.phases[0], limit_seconds=7.0, working="reading")
    await _register(scenario, replace(changed, phases=(phase,)))
    attempt = await scenario.claim_one("extract")
    assert attempt.limit_seconds == 7.0
    assert (await scenario.job(submitted.job_id))["status"] == "reading"


async def test_permanent_failure_in_a_removed_phase_goes_on_when_retried(database: Database) -> None:
    scenario = await begin(database, plain("extract", "chunk", "embed"))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract")
    await scenario.fail_once("chunk", CorruptInput("no"))
    await _register(scenario, plain("extract", "embed", version=2))
    await database.execute("select holdfast.retry(array[$1]::bigint[])", submitted.job_id)
    assert await _run_to_the_end(scenario) == {submitted.job_id: ["embed"]}


def _enriching(*, provider: str | None, budget: str | None, version: int = 1) -> Pipeline:
    pipeline = plain("enrich", version=version)
    return replace(pipeline, phases=(replace(pipeline.phases[0], provider=provider, budget=budget),))


async def _begin_paid(database: Database) -> Scenario:
    """A pipeline with a provider and a budget, and a worker that says it has both."""
    pipeline = _enriching(provider="model", budget="money")
    scenario = await begin(database, pipeline)
    lanes = Slots.serving([pipeline]).all_lanes()
    await scenario.queue.register_worker("paying", host="test", pid=1, lanes=lanes)
    return scenario


async def _register(scenario: Scenario, pipeline: Pipeline) -> None:
    await scenario.queue.register([pipeline])


async def _bring_into(scenario: Scenario, condition: str) -> list[Attempt]:
    if condition == "failed":
        await scenario.fail_once("chunk", NetworkTimeout("reset"))
    elif condition == "held":
        await scenario.database.execute("""select holdfast.hold('{"organisation": "acme"}')""")
        assert await scenario.claim("chunk") == []
    elif condition.startswith("working"):
        return await scenario.claim("chunk")
    return []


async def _run_to_the_end(scenario: Scenario) -> dict[int, list[str]]:
    """Sweep and work until nothing is left; the phases that ran from here on, by job."""
    ran: dict[int, list[str]] = {}
    for _ in range(10):
        await scenario.queue.heartbeat(WORKER, [])
        await scenario.queue.sweep(LEASE_SECONDS)
        lanes = [Lane(scenario.pipeline, name, 10) for name in await _phases_in_force(scenario.database)]
        attempts = await scenario.queue.claim(WORKER, lanes)
        await scenario.settle(attempts)
        for attempt in attempts:
            ran.setdefault(attempt.job_id, []).append(attempt.phase)
    return ran


async def _phases_in_force(database: Database) -> list[str]:
    rows = await database.fetch("select name from holdfast.phase where retired_at is null order by position")
    return [row["name"] for row in rows]


async def _declared(database: Database) -> list[asyncpg.Record]:
    return await database.fetch(
        """
        select p::text, f::text, s::text, r::text
        from holdfast.pipeline p
        join holdfast.phase f on f.pipeline = p.name
        join holdfast.pipeline_status s on s.pipeline = p.name
        join holdfast.policy_rule r on r.policy = f.policy
        order by 1, 2, 3, 4
        """
    )


async def _operator_sets_retries(database: Database, count: int) -> None:
    await database.execute(
        "update holdfast.policy_rule set max_retries = $1 where policy = 'patient' and category = 'network_timeout'",
        count,
    )


async def _retries(database: Database) -> int:
    count: int = await database.fetchval(
        "select max_retries from holdfast.policy_rule where policy = 'patient' and category = 'network_timeout'"
    )
    return count
