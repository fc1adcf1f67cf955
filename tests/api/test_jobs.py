"""Jobs over HTTP: found by what they have in common, shown with their life, acted upon one by one or together."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from holdfast.access.keys import Scope
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Submission, submit
from holdfast.errors import CorruptInput, RateLimited
from tests.api.serving import Served, problem


@pytest.fixture
async def jobs(api: Served) -> list[int]:
    """Three jobs: one that failed for good, one that will be tried again, one that waits."""
    items = [
        Submission(organisation="acme", source_name="torn.pdf", metadata={"ward": "7"}),
        Submission(organisation="acme", source_name="slow.pdf", source_platform="wiki"),
    ]
    torn, slow = [taken.job_id for taken in await submit(api.app.database, "documents", items)]
    worker = await api.worker()
    attempts = {attempt.job_id: attempt for attempt in await worker.claim("store", 2)}
    await worker.fail([attempts[torn]], CorruptInput("the file is torn", error_code="TORN"))
    await worker.fail([attempts[slow]], RateLimited("slow down"))
    new = await worker.submit_one(organisation="other", source_name="new.pdf")
    return [torn, slow, new.job_id]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, [2, 1, 0]),
        ({"state": "failed"}, [1, 0]),
        ({"state": "queued"}, [2]),
        ({"status": "pending_upload"}, [2]),
        ({"pipeline": "documents"}, [2, 1, 0]),
        ({"phase": "store"}, [2, 1, 0]),
        ({"phase": "extract"}, []),
        ({"component": "storage"}, [1, 0]),
        ({"category": "corrupt_input"}, [0]),
        ({"category": "rate_limit"}, [1]),
        ({"organisation": "other"}, [2]),
        ({"organisation": "nobody"}, []),
        ({"platform": "wiki"}, [1]),
        ({"retryable": "true"}, [1]),
        ({"retryable": "false"}, [0]),
        ({"metadata": "ward=7"}, [0]),
        ({"metadata": "ward=8"}, []),
        ({"organisation": "acme", "platform": "upload"}, [0]),
    ],
    ids=str,
)
async def test_filter_finds_what_fits(api: Served, jobs: list[int], query: dict[str, str], found: list[int]) -> None:
    response = await api.client.get("/v1/jobs", params=query)
    assert response.status_code == 200, response.text
    assert [job["job_id"] for job in response.json()["jobs"]] == [jobs[place] for place in found]


async def test_name_of_no_pipeline_is_told(api: Served, jobs: list[int]) -> None:
    assert problem(await api.client.get("/v1/jobs", params={"pipeline": "nothing"}), 404) == "not_found"


async def test_pages_show_every_job_once(api: Served) -> None:
    items = [Submission(organisation="acme", source_name=f"{number}.pdf") for number in range(25)]
    submitted = await submit(api.app.database, "documents", items)
    seen: list[int] = []
    query: dict[str, Any] = {"limit": 10}
    while True:
        page = (await api.client.get("/v1/jobs", params=query)).json()
        seen += [job["job_id"] for job in page["jobs"]]
        if page["cursor"] is None:
            break
        query["cursor"] = page["cursor"]
    assert seen == sorted((one.job_id for one in submitted), reverse=True)


async def test_job_shows_its_error_in_the_public_shape(api: Served, jobs: list[int]) -> None:
    torn = (await api.client.get(f"/v1/jobs/{jobs[0]}")).json()
    error = torn["last_error"]
    assert (error["component"], error["code"], error["category"]) == ("storage", "TORN", "corrupt_input")
    assert (error["message"], error["retryable"], error["retry_at"]) == ("the file is torn", False, None)
    assert set(error) == {
        *("component", "code", "category", "message", "timestamp"),
        *("retryable", "retry_count", "max_retries", "retry_at", "details"),
    }
    slow = (await api.client.get(f"/v1/jobs/{jobs[1]}")).json()
    assert slow["last_error"]["retryable"] is True
    assert slow["retry_at"] is not None


async def test_traceback_stays_inside(api: Served) -> None:
    await submit(api.app.database, "documents", [Submission(organisation="acme")])
    worker = await api.worker()
    try:
        raise ZeroDivisionError("inside")
    except ZeroDivisionError as error:
        failure = CorruptInput("broken", details={"page": 3})
        failure.__cause__ = error
        await worker.fail_once("store", failure)
    stored = await api.app.database.fetchval("select last_error from holdfast.pipeline_job")
    assert "traceback" in stored["details"]
    for address in ("/v1/jobs/1", "/v1/documents/1", "/v1/jobs"):
        text = (await api.client.get(address)).text
        assert '"page":3' in text
        assert "raceback" not in text
        assert "ZeroDivision" not in text


async def test_retry_queues_again_where_it_failed(api: Served, jobs: list[int]) -> None:
    acted = await api.client.post(f"/v1/jobs/{jobs[0]}/retry", json={"reason": "restored"})
    assert acted.json() == {"counts": {"queued": 1}, "ids": {"queued": [jobs[0]]}}
    assert await _states(api, jobs) == ["queued", "failed", "queued"]
    (act, *_) = await api.app.overview.audit()
    assert (act["actor"], act["action"], act["reason"]) == ("loopback", "retry", "restored")


async def test_retry_from_a_phase_that_is_none_is_refused(api: Served, jobs: list[int]) -> None:
    problem(await api.client.post(f"/v1/jobs/{jobs[0]}/retry", json={"phase": "nowhere"}), 404)
    assert await _states(api, jobs) == ["failed", "failed", "queued"]


async def test_cancel_ends_it(api: Served, jobs: list[int]) -> None:
    acted = await api.client.post(f"/v1/jobs/{jobs[2]}/cancel")
    assert acted.json()["counts"] == {"cancelled": 1}
    assert await _states(api, jobs) == ["failed", "failed", "cancelled"]


async def test_reset_starts_over(api: Served, jobs: list[int]) -> None:
    worker = await api.worker()
    await worker.settle_once("store", Done())
    await worker.fail_once("extract", CorruptInput("torn"))
    acted = await api.client.post(f"/v1/jobs/{jobs[2]}/reset")
    assert acted.json()["counts"] == {"queued": 1}
    job = (await api.client.get(f"/v1/jobs/{jobs[2]}")).json()
    assert (job["state"], job["phase"], job["retry_count"]) == ("queued", "store", 0)
    document = (await api.client.get(f"/v1/documents/{job['document_id']}")).json()
    assert document["failure_state"] is None


@pytest.mark.parametrize("act", ["retry", "cancel", "reset"])
async def test_job_that_is_none_is_told(api: Served, act: str) -> None:
    assert problem(await api.client.post(f"/v1/jobs/999/{act}"), 404) == "not_found"


@pytest.mark.parametrize(
    ("asked", "states", "counted"),
    [
        ({"act": "retry", "category": "corrupt_input"}, ["queued", "failed", "queued"], 1),
        ({"act": "retry", "everything": True}, ["queued", "queued", "queued"], 2),
        ({"act": "reset", "retryable": False}, ["queued", "failed", "queued"], 1),
        ({"act": "cancel", "organisation": "other"}, ["failed", "failed", "cancelled"], 1),
        ({"act": "cancel", "platform": "wiki"}, ["failed", "cancelled", "queued"], 1),
        ({"act": "cancel", "ids": [2, 3]}, ["failed", "cancelled", "cancelled"], 2),
    ],
    ids=str,
)
async def test_bulk_changes_what_its_preview_said(
    api: Served, jobs: list[int], asked: dict[str, Any], states: list[str], counted: int
) -> None:
    before = await _states(api, jobs)
    preview = (await api.client.post("/v1/jobs/bulk", json={**asked, "dry_run": True})).json()
    assert preview["jobs"] == counted
    assert await _states(api, jobs) == before
    acted = (await api.client.post("/v1/jobs/bulk", json=asked)).json()
    assert sum(acted["counts"].values()) == counted
    assert await _states(api, jobs) == states


async def test_preview_says_what_it_would_cost(api: Served) -> None:
    items = [Submission(organisation="acme") for _ in range(3)]
    await submit(api.app.database, "documents", items)
    worker = await api.worker()
    first, *others = await worker.claim("store", 3)
    await worker.fail(others, CorruptInput("torn"))
    asked = {"act": "retry", "everything": True, "dry_run": True}
    assert (await api.client.post("/v1/jobs/bulk", json=asked)).json()["cost_usd"] is None
    await worker.settle([first], Done(cost_usd=Decimal("0.25")))
    preview = (await api.client.post("/v1/jobs/bulk", json=asked)).json()
    assert (preview["jobs"], preview["cost_usd"]) == (2, 0.5)
    (group,) = preview["groups"]
    assert (group["phase"], group["category"], group["usual_cost_usd"]) == ("store", "corrupt_input", 0.25)


async def test_bulk_of_an_organisations_key_meets_only_its_own(guarded: Served) -> None:
    items = [Submission(organisation=name) for name in ("acme", "other")]
    await submit(guarded.app.database, "documents", items)
    headers = await guarded.key("acme", Scope.WRITE)
    acted = await guarded.client.post("/v1/jobs/bulk", json={"act": "cancel", "everything": True}, headers=headers)
    assert acted.json()["counts"] == {"cancelled": 1}


async def _states(api: Served, jobs: Sequence[int]) -> list[str]:
    return [(await api.client.get(f"/v1/jobs/{job}")).json()["state"] for job in jobs]
