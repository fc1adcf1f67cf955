"""The operators' verbs, on real records: what they change, what they refuse, and that nothing goes unaudited."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine import control as control_module
from holdfast.engine.control import CANCEL, RETRY, Control
from holdfast.engine.pipeline import Done
from holdfast.engine.selection import Selection
from holdfast.errors import CorruptInput, InvalidInput, NetworkTimeout, NotFound
from tests.conftest import Clock
from tests.engine.scenario import Scenario, begin, plain


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


@pytest.fixture
def control(database: Database) -> Control:
    return Control(database, "alice")


async def _failed(scenario: Scenario, count: int, **facts: Any) -> list[int]:
    """Jobs whose first phase failed for good."""
    return await scenario.submit_and_fail(count, CorruptInput("torn"), **facts)


async def test_retry_by_id_queues_the_job_where_it_failed(scenario: Scenario, control: Control) -> None:
    (job_id,) = await _failed(scenario, 1)

    tally = await control.retry(Selection(ids=(job_id,)), reason="fixed")

    assert tally.counts == {"queued": 1}
    assert tally.ids == {"queued": [job_id]}
    job = await scenario.job(job_id)
    assert (job["state"], job["phase"]) == ("queued", "extract")


async def test_retry_by_filter_leaves_out_what_a_newer_version_replaced(scenario: Scenario, control: Control) -> None:
    replaced, wanted = await _failed(scenario, 2)
    await _replace(scenario, replaced)

    groups = await control.preview(RETRY, Selection(state="failed"))
    trial = await control.try_first(Selection(state="failed"))
    everything = await control.retry(Selection(everything=True))
    named = await control.retry(Selection(ids=(replaced,)))

    assert sum(group.jobs for group in groups) == 1
    assert trial.first_jobs == [wanted]
    assert everything.counts == {}
    assert named.counts == {"queued": 1}


async def test_cancel_by_filter_meets_what_a_newer_version_replaced(scenario: Scenario, control: Control) -> None:
    replaced, other = await _failed(scenario, 2)
    await _replace(scenario, replaced)
    assert (await control.cancel(Selection(state="failed"))).ids == {"cancelled": [replaced, other]}


async def _replace(scenario: Scenario, job_id: int) -> None:
    await scenario.database.execute(
        "update holdfast.document d set superseded_at = holdfast.clock(), superseded_by = d.id"
        " from holdfast.pipeline_job j where j.id = $1 and d.id = j.document_id",
        job_id,
    )


async def test_every_act_is_on_record_with_its_actor_and_reason(scenario: Scenario, control: Control) -> None:
    (job_id,) = await _failed(scenario, 1)
    await control.retry(Selection(ids=(job_id,)), reason="fixed")
    await control.cancel(Selection(ids=(job_id,)), reason="not wanted")

    rows = await scenario.database.fetch("select actor, action, reason from holdfast.audit_log order by id")

    assert [tuple(row) for row in rows] == [("alice", "retry", "fixed"), ("alice", "cancel", "not wanted")]


async def test_retry_from_an_earlier_phase_runs_it_again(scenario: Scenario, control: Control) -> None:
    job = await scenario.submit_one()
    await scenario.settle_once("extract")
    await scenario.fail_once("embed", CorruptInput("torn"))

    await control.retry(Selection(ids=(job.job_id,)), phase="extract")

    stored = await scenario.job(job.job_id)
    assert (stored["phase"], stored["run"]) == ("extract", 2)


async def test_an_unknown_id_changes_nothing_at_all(scenario: Scenario, control: Control) -> None:
    (job_id,) = await _failed(scenario, 1)

    with pytest.raises(NotFound, match="there is no job 4711"):
        await control.retry(Selection(ids=(job_id, 4711)))

    assert (await scenario.job(job_id))["state"] == "failed"


async def test_an_unknown_phase_is_refused(scenario: Scenario, control: Control) -> None:
    (job_id,) = await _failed(scenario, 1)

    with pytest.raises(NotFound, match="nonsense"):
        await control.retry(Selection(ids=(job_id,)), phase="nonsense")


def test_a_selection_that_names_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="say that all are meant"):
        Selection()


def test_a_selection_by_id_and_filter_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        Selection(ids=(1,), state="failed")


async def test_retry_by_filter_touches_only_what_matches(scenario: Scenario, control: Control) -> None:
    acme = await _failed(scenario, 2, organisation="acme")
    other = await _failed(scenario, 1, organisation="other")

    tally = await control.retry(Selection(organisation="acme"))

    assert tally.ids == {"queued": acme}
    assert (await scenario.job(other[0]))["state"] == "failed"


@pytest.mark.parametrize(
    "narrowed", [{"text": "gate harb"}, {"metadata": {"ward": "7"}}, {"text": "harbour-gate", "state": "failed"}]
)
async def test_retry_by_what_the_document_is_touches_only_such_jobs(
    scenario: Scenario, control: Control, narrowed: dict[str, Any]
) -> None:
    meant = await _failed(scenario, 2, source_name="harbour-gate.pdf", metadata={"ward": "7"})
    await _failed(scenario, 1, source_name="harbour.pdf", metadata={"ward": "8"})

    assert (await control.retry(Selection(**narrowed))).ids == {"queued": meant}


async def test_retry_by_a_number_or_a_status_touches_only_such_jobs(scenario: Scenario, control: Control) -> None:
    first, second = await _failed(scenario, 2)
    await scenario.submit_one()

    assert (await control.retry(Selection(text=str(first)))).ids == {"queued": [first]}
    status = (await scenario.job(second))["status"]
    assert (await control.retry(Selection(status=status))).ids == {"queued": [second]}


async def test_retry_by_filter_leaves_cancelled_jobs_unless_named(scenario: Scenario, control: Control) -> None:
    job = await scenario.submit_one()
    await control.cancel(Selection(ids=(job.job_id,)))

    assert (await control.retry(Selection(organisation="acme"))).counts == {}
    assert (await control.retry(Selection(state="cancelled"))).counts == {"queued": 1}


async def test_many_jobs_are_retried_in_short_transactions(
    scenario: Scenario, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module, "BATCH_JOBS", 4)
    monkeypatch.setattr(control_module, "PAGE_JOBS", 10)
    ids = await _failed(scenario, 25)

    tally = await control.retry(Selection(everything=True))

    assert tally.counts == {"queued": 25}
    assert tally.ids["queued"] == ids
    transactions = await scenario.database.fetchval("select count(distinct xmin::text) from holdfast.audit_log")
    assert transactions == 3 + 3 + 2  # pages of 10, 10 and 5, each in batches of 4


async def test_jobs_left_as_they_were_are_met_once(scenario: Scenario, control: Control) -> None:
    await scenario.submit(3)

    async with asyncio.timeout(30):
        tally = await control.retry(Selection(state="queued"))

    assert tally.counts == {"is_queued": 3}


async def test_only_the_first_hundred_ids_of_a_result_are_kept(scenario: Scenario, control: Control) -> None:
    await _failed(scenario, 120)

    tally = await control.retry(Selection(state="failed"))

    assert tally.counts == {"queued": 120}
    assert len(tally.ids["queued"]) == 100


async def test_jobs_the_act_cannot_change_are_counted_with_the_reason(scenario: Scenario, control: Control) -> None:
    job = await scenario.submit_one()
    await scenario.settle_once("extract")
    await scenario.settle_once("embed")
    (failed,) = await _failed(scenario, 1)

    tally = await control.retry(Selection(ids=(job.job_id, failed)))

    assert tally.counts == {"already_completed": 1, "queued": 1}


async def test_preview_counts_by_phase_and_category_and_changes_nothing(scenario: Scenario, control: Control) -> None:
    await _failed(scenario, 3)
    await scenario.submit(2)
    await scenario.fail(await scenario.claim("extract", 2), NetworkTimeout("gone"))

    groups = await control.preview(RETRY, Selection(everything=True))

    assert [(group.phase, group.category, group.jobs) for group in groups] == [
        ("extract", "corrupt_input", 3),
        ("extract", "network_timeout", 2),
    ]
    assert (await scenario.states()) == {"failed": 5}


async def test_preview_knows_what_the_phase_usually_costs(scenario: Scenario, control: Control) -> None:
    await scenario.submit(2)
    first, second = await scenario.claim("extract", 2)
    await scenario.settle([first], Done(cost_usd=Decimal("0.25")))
    await scenario.fail([second], CorruptInput("torn"))

    (group,) = await control.preview(RETRY, Selection(state="failed"))

    assert group.usual_cost_usd == Decimal("0.25")


async def test_preview_marks_what_would_be_left_as_it_is(scenario: Scenario, control: Control) -> None:
    job = await scenario.submit_one()

    (group,) = await control.preview(RETRY, Selection(ids=(job.job_id,)))

    assert (group.state, group.would_change) == ("queued", False)


async def test_cancel_by_filter_reaches_waiting_and_running_jobs(scenario: Scenario, control: Control) -> None:
    await scenario.submit(3)
    await scenario.claim("extract", 1)

    tally = await control.cancel(Selection(pipeline="documents"))

    assert tally.counts == {"cancelled": 3}


async def test_cancel_previews_what_it_does(scenario: Scenario, control: Control) -> None:
    await scenario.submit(3)
    await scenario.claim("extract", 1)

    groups = await control.preview(CANCEL, Selection(pipeline="documents"))

    assert {group.state: group.jobs for group in groups} == {"queued": 2, "working": 1}


async def test_reset_starts_over_from_the_first_phase(scenario: Scenario, control: Control) -> None:
    job = await scenario.submit_one()
    await scenario.settle_once("extract")
    await scenario.fail_once("embed", CorruptInput("torn"))

    await control.reset(Selection(ids=(job.job_id,)))

    stored = await scenario.job(job.job_id)
    assert (stored["state"], stored["phase"], stored["run"]) == ("queued", "extract", 2)


async def test_many_stuck_jobs_are_taken_back_in_batches(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(501)
    await scenario.claim("extract", 501)
    await clock.advance(minutes=31)
    async with database.transaction() as connection:
        at_once = await connection.fetch("select holdfast.requeue_stuck(30)")
    assert len(at_once) == 500
    await scenario.claim("extract", 501)
    await clock.advance(minutes=31)
    assert len(await Control(database, "ann").requeue_stuck(minutes=30)) == 501


async def test_stuck_jobs_are_named_before_they_are_taken_back(
    scenario: Scenario, control: Control, clock: Clock
) -> None:
    job = await scenario.submit_one()
    await scenario.claim_one("extract")
    await clock.advance(minutes=31)

    assert await control.stuck(minutes=30) == [job.job_id]
    assert await control.requeue_stuck(minutes=30, phase="extract") == [job.job_id]
    assert (await scenario.job(job.job_id))["state"] == "queued"


async def test_jobs_that_make_progress_are_not_stuck(scenario: Scenario, control: Control, clock: Clock) -> None:
    await scenario.submit_one()
    await scenario.claim_one("extract")
    await clock.advance(minutes=29)

    assert await control.requeue_stuck(minutes=30) == []


async def test_a_hold_for_a_time_ends_by_the_database_clock(scenario: Scenario, control: Control, clock: Clock) -> None:
    await scenario.submit_one()
    await clock.advance(days=400)

    await control.hold({"pipeline": "documents"}, lasting=timedelta(hours=2), reason="calm")
    assert await scenario.claim("extract") == []

    await clock.advance(hours=2, seconds=1)
    assert len(await scenario.claim("extract")) == 1


async def test_a_released_hold_lets_jobs_go(scenario: Scenario, control: Control) -> None:
    await scenario.submit_one()
    hold_id = await control.hold({"organisation": "acme"})
    assert await scenario.claim("extract") == []

    await control.release(hold_id)

    assert len(await scenario.claim("extract")) == 1


@pytest.mark.parametrize(
    ("scope", "error"),
    [
        ({}, InvalidInput),
        ({"colour": "red"}, InvalidInput),
        ({"pipeline": "nonsense"}, NotFound),
        ({"pipeline": "documents", "phase": "nonsense"}, NotFound),
    ],
)
async def test_a_hold_on_nothing_that_exists_is_refused(
    scenario: Scenario, control: Control, scope: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await control.hold(scope)


async def test_a_hold_cannot_end_twice(scenario: Scenario, control: Control) -> None:
    with pytest.raises(InvalidInput, match="one of them"):
        await control.hold({"organisation": "acme"}, until=datetime.now(UTC), lasting=timedelta(1))


async def test_releasing_an_unknown_hold_is_refused(control: Control) -> None:
    with pytest.raises(NotFound, match="no hold 7"):
        await control.release(7)


@pytest.mark.parametrize("amount", ["-1", "NaN", "1e13"])
async def test_a_budget_of_a_senseless_amount_is_refused(control: Control, amount: str) -> None:
    with pytest.raises(InvalidInput):
        await control.set_budget("enrichment", Decimal(amount))


async def test_a_budget_in_an_unknown_time_zone_is_refused(control: Control) -> None:
    with pytest.raises(InvalidInput, match="Mars"):
        await control.set_budget("enrichment", Decimal(5), time_zone="Mars")


async def test_an_empty_list_of_ids_matches_no_job(scenario: Scenario) -> None:
    await scenario.submit_one()

    rows = await scenario.database.fetch("""select holdfast.matching_jobs('{"ids": []}')""")

    assert rows == []
