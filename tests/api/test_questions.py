"""The questions over HTTP: each answers what happened, to those whom it concerns."""

from decimal import Decimal
from typing import Any

import pytest

from holdfast.access.keys import Scope
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Submission, submit
from holdfast.errors import CorruptInput
from tests.api.serving import Served, problem

FOR_ALL = (
    *("stuck", "throughput", "durations", "costs", "costs-by-day", "saved", "platforms", "backlog", "retries", "flow"),
    *("errors", "failure-groups", "top-failing", "recovery", "repeat-offenders"),
)
FOR_OPERATORS = ("health", "budget-refusals", "workers", "policies", "pipelines", "audit", "database")


async def lively(served: Served) -> list[int]:
    """Three jobs: one that failed for good, one that paid and went on, one of another organisation that waits."""
    items = [Submission(organisation="acme", source_name=f"{name}.pdf") for name in ("torn", "good")]
    torn, good = [taken.job_id for taken in await submit(served.app.database, "documents", items)]
    worker = await served.worker()
    attempts = {attempt.job_id: attempt for attempt in await worker.claim("store", 2)}
    await worker.fail([attempts[torn]], raised(CorruptInput("the file is torn")))
    await worker.settle([attempts[good]], Done(cost_usd=Decimal("0.25")))
    other = await worker.submit_one(organisation="other", source_name="new.pdf")
    return [torn, good, other.job_id]


def raised(error: CorruptInput) -> CorruptInput:
    """The error with the traceback that being raised gives it."""
    try:
        raise error
    except CorruptInput as caught:
        return caught


async def ask(served: Served, question: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
    response = await served.client.get(f"/v1/{question}", params=query, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("question", FOR_ALL)
async def test_reader_may_ask_about_its_own(guarded: Served, question: str) -> None:
    await lively(guarded)
    own = await ask(guarded, f"admin/{question}", await guarded.key("acme", Scope.READ))
    assert "other" not in str(own)


@pytest.mark.parametrize("question", FOR_OPERATORS)
async def test_operator_alone_may_ask_about_the_whole(guarded: Served, question: str) -> None:
    await lively(guarded)
    await ask(guarded, f"admin/{question}", await guarded.key(None))
    refused = await guarded.client.get(f"/v1/admin/{question}", headers=await guarded.key("acme"))
    assert problem(refused, 403) == "forbidden"


async def test_answers_tell_what_happened(api: Served) -> None:
    torn, _, _ = await lively(api)
    assert (await ask(api, "admin/health"))["failed"] == 1
    (group,) = await ask(api, "admin/failure-groups")
    assert (group["errors"], group["open_jobs"], group["example_job_id"]) == (1, 1, torn)
    assert [row["key"] for row in await ask(api, "admin/errors", by="category")] == ["corrupt_input"]
    assert [row["source_name"] for row in await ask(api, "admin/top-failing")] == ["torn.pdf"]
    assert [row["times"] for row in await ask(api, "admin/repeat-offenders", times=1)] == [1]
    (cost,) = await ask(api, "admin/costs-by-day")
    assert (cost["organisation"], cost["cost_usd"], cost["wasted_usd"]) == ("acme", 0.25, 0.0)
    flow = await ask(api, "admin/flow", bucket_seconds=900)  # two rows when a stretch of time ended in between
    assert [sum(row[outcome] for row in flow) for outcome in ("completed", "failed")] == [1, 1]
    assert [row["worker_id"] for row in await ask(api, "admin/workers")] == ["worker-1"]
    assert (await ask(api, "admin/database"))["connections_used"] >= 1


async def test_senseless_windows_are_refused(api: Served) -> None:
    for address in (
        "throughput?hours=0",
        "costs?days=367",
        "flow?seconds=0",
        "flow?bucket_seconds=1000",
        "errors?by=x",
    ):
        assert problem(await api.client.get(f"/v1/admin/{address}"), 422) == "invalid_input"


async def test_traceback_is_told_to_operators_only(guarded: Served) -> None:
    job, *_ = await lively(guarded)
    document = await guarded.app.database.fetchval("select document_id from holdfast.pipeline_job where id = $1", job)
    operator, owner = await guarded.key(None), await guarded.key("acme")
    address = f"worker/runs/{document}/status"
    assert "in raised" in (await ask(guarded, address, operator))["error_traceback"]
    assert (await ask(guarded, address, owner))["error_traceback"] is None
    assert "in raised" in (await ask(guarded, "admin/failure-groups", operator))[0]["traceback"]
    assert (await ask(guarded, "admin/failure-groups", owner))[0]["traceback"] is None
    assert (await ask(guarded, address, await guarded.key(None, Scope.READ)))["error_traceback"] is None


async def test_run_is_told_by_its_document(api: Served) -> None:
    job, *_ = await lively(api)
    told = await ask(api, f"worker/runs/{job}/status")
    assert (told["task_id"], told["state"], told["error_message"]) == (job, "failed", "the file is torn")
    assert told["metrics"]["error_type"] == "CorruptInput"
    assert told["submitted_at"] <= told["started_at"] <= told["finished_at"]
    assert problem(await api.client.get("/v1/worker/runs/999/status"), 404) == "not_found"


async def test_worker_metrics_are_of_a_pipeline_or_of_all(api: Served) -> None:
    await lively(api)
    told = await ask(api, "worker/metrics")
    assert told["status_counts"] == {"queued": 2, "working": 0, "failed": 1, "held": 0, "deadletter": 0}
    assert [row["error"] for row in told["recent_failures"]] == ["the file is torn"]
    assert [row["failures"] for row in told["retry_stats"]] == [1]
    assert [row["avg_seconds"] > 0 for row in told["avg_duration"]] == [True]
    assert (await ask(api, "worker/metrics", pipeline="documents")) == told
    assert problem(await api.client.get("/v1/worker/metrics?pipeline=x"), 404) == "not_found"


async def test_job_tells_its_position(api: Served) -> None:
    failed, _, waiting = await lively(api)
    assert (await ask(api, f"jobs/{waiting}"))["queue_position"] == 0
    assert (await ask(api, f"jobs/{failed}"))["queue_position"] is None


async def test_jobs_are_found_by_text_and_cause(api: Served) -> None:
    torn, _, _ = await lively(api)
    (group,) = await ask(api, "admin/failure-groups")
    for query in ({"text": "PDF torn"}, {"fingerprint": group["fingerprint"]}):
        assert [job["job_id"] for job in (await ask(api, "jobs", **query))["jobs"]] == [torn]
    assert problem(await api.client.get("/v1/jobs?text=!"), 422) == "invalid_input"


async def test_bulk_retry_tries_a_few_first(api: Served) -> None:
    torn, _, _ = await lively(api)
    asked = {"act": "retry", "category": "corrupt_input", "first": 1, "reason": "fixed"}
    trial = (await api.client.post("/v1/jobs/bulk", json=asked)).json()
    assert (trial["state"], trial["first_jobs"], trial["reason"]) == ("trying", [torn], "fixed")
    assert await ask(api, "trials") == [trial]
    for wrong in ({"act": "cancel"}, {"phase": "store"}, {"first": 0}):
        assert problem(await api.client.post("/v1/jobs/bulk", json={**asked, **wrong}), 422) == "invalid_input"
    assert problem(await api.client.post("/v1/jobs/bulk", json=asked), 404) == "not_found"


async def test_refusal_names_no_option_of_the_command_line(api: Served) -> None:
    response = await api.client.post("/v1/jobs/bulk", json={"act": "retry"})
    assert problem(response, 422) == "invalid_input"
    assert "--" not in response.text


async def test_holds_are_placed_and_released(api: Served) -> None:
    placed = await api.client.post("/v1/holds", json={"pipeline": "documents", "reason": "maintenance"})
    assert placed.status_code == 201
    (hold,) = await ask(api, "holds")
    assert (hold["hold_id"], hold["reason"]) == (placed.json()["hold_id"], "maintenance")
    address = f"/v1/holds/{hold['hold_id']}"
    assert (await api.client.delete(address)).json() == {"waiting": 0}
    assert await ask(api, "holds") == []
    assert problem(await api.client.delete(address), 404) == "not_found"
    assert problem(await api.client.post("/v1/holds", json={}), 422) == "invalid_input"


async def test_budget_is_set(api: Served) -> None:
    response = await api.client.put("/v1/budgets/stories", json={"daily_limit_usd": 2.5, "organisation": "acme"})
    (budget,) = response.json()
    assert (budget["name"], budget["organisation"], budget["limit_usd"]) == ("stories", "acme", 2.5)
    assert problem(await api.client.put("/v1/budgets/stories", json={"daily_limit_usd": -1}), 422) == "invalid_input"


@pytest.mark.parametrize(("method", "address"), [("POST", "holds"), ("DELETE", "holds/1"), ("PUT", "budgets/stories")])
async def test_operators_acts_are_not_for_organisations(guarded: Served, method: str, address: str) -> None:
    body = {"pipeline": "documents"} if address == "holds" else {"daily_limit_usd": 1} if method == "PUT" else None
    response = await guarded.client.request(method, f"/v1/{address}", json=body, headers=await guarded.key("acme"))
    assert problem(response, 403) == "forbidden"
