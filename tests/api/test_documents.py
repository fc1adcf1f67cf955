"""Documents over HTTP: taken in whole or not at all, shown with their life, removed for good."""

import asyncio
import hashlib

import httpx2

from holdfast.access.keys import Scope
from holdfast.artifacts.artifact import Artifact
from holdfast.errors import CorruptInput
from tests.api.serving import Served, problem
from tests.search.library import Library

KEY = {"Idempotency-Key": "order-7"}
AT_ONCE = 50


async def test_upload_is_stored_when_it_is_answered(api: Served) -> None:
    content = b"The tidal gate opens at noon."
    response = await api.upload(content, name="gate.txt", metadata='{"ward": "7"}', organisation="acme")
    assert response.status_code == 202
    accepted = response.json()
    assert response.headers["location"] == f"/v1/documents/{accepted['document_id']}"
    shown = (await api.client.get(response.headers["location"])).json()
    digest = hashlib.sha256(content).hexdigest()
    assert (shown["organisation"], shown["source_name"], shown["platform"]) == ("acme", "gate.txt", "upload")
    assert (shown["metadata"], shown["content_hash"]) == ({"ward": "7"}, digest)
    assert [(job["job_id"], job["state"]) for job in shown["jobs"]] == [(accepted["job_id"], "queued")]
    assert api.app.assembly.store.read("acme", Artifact(digest, len(content))) == content


async def test_upload_without_an_organisation_belongs_to_the_configured_one(api: Served) -> None:
    accepted = (await api.upload()).json()
    shown = (await api.client.get(f"/v1/documents/{accepted['document_id']}")).json()
    assert shown["organisation"] == "default"


async def test_link_becomes_a_job_that_will_fetch_it(api: Served) -> None:
    body = {"url": "https://example.org/Handbook.pdf#page=2", "metadata": {"ward": 7}, "priority": 5}
    response = await api.client.post("/v1/documents", json=body)
    assert response.status_code == 202
    shown = (await api.client.get(response.headers["location"])).json()
    assert (shown["source_name"], shown["platform"]) == ("Handbook.pdf", "url")
    assert (shown["source_location"], shown["metadata"]) == ("https://example.org/Handbook.pdf", {"ward": 7})
    job = await api.app.database.fetchrow("select * from holdfast.pipeline_job")
    assert job is not None
    assert (job["phase"], job["state"], job["priority"]) == ("store", "queued", 5)


async def test_same_key_and_file_is_answered_as_the_first_time(api: Served) -> None:
    first, second = [await api.upload(headers=KEY) for _ in range(2)]
    _assert_replayed(first, second)
    assert first.json()["result"] == "created"
    assert (await api.count("document"), await api.count("pipeline_job")) == (1, 1)


async def test_same_key_and_link_is_answered_as_the_first_time(api: Served) -> None:
    body = {"url": "https://example.org/a.pdf"}
    _assert_replayed(*[await api.client.post("/v1/documents", json=body, headers=KEY) for _ in range(2)])
    assert await api.count("document") == 1


async def test_same_key_at_a_location_is_answered_as_the_first_time(api: Served) -> None:
    _assert_replayed(*[await api.upload(headers=KEY, location="shelf/1") for _ in range(2)])
    assert await api.count("document") == 1


async def test_same_key_with_known_content_is_answered_as_the_first_time(api: Served) -> None:
    await api.upload()
    first, second = [await api.upload(headers=KEY) for _ in range(2)]
    _assert_replayed(first, second)
    assert first.json()["result"] == "duplicate"


async def test_answer_stays_the_same_when_the_job_has_gone_on(api: Served) -> None:
    first = await api.upload(headers=KEY)
    worker = await api.worker()
    await worker.fail_once("store", CorruptInput("the file is torn"))
    await api.client.post(f"/v1/jobs/{first.json()['job_id']}/cancel")
    _assert_replayed(first, await api.upload(headers=KEY))


async def test_key_with_another_document_is_refused_where_that_is_unchanged(api: Served) -> None:
    await api.upload(b"first", location="shelf/1")
    await api.upload(b"second", headers=KEY)
    assert problem(await api.upload(b"first", headers=KEY, location="shelf/1"), 422) == "key_reused"


async def test_key_of_a_removed_document_is_free_again(api: Served) -> None:
    first = await api.upload(headers=KEY)
    await api.client.delete(first.headers["location"])
    second = await api.upload(headers=KEY)
    assert (second.status_code, second.json()["result"]) == (202, "created")
    assert _ids(first) != _ids(second)


async def test_same_key_with_another_document_is_refused(api: Served) -> None:
    await api.upload(b"first", headers=KEY)
    assert problem(await api.upload(b"second", headers=KEY), 422) == "key_reused"
    link = await api.client.post("/v1/documents", json={"url": "https://example.org/a.pdf"}, headers=KEY)
    assert problem(link, 422) == "key_reused"
    assert await api.count("document") == 1


async def test_organisations_may_use_the_same_key(guarded: Served) -> None:
    ours, theirs = [await guarded.key(name) for name in ("acme", "other")]
    first = await guarded.upload(b"ours", headers=ours | KEY)
    second = await guarded.upload(b"theirs", headers=theirs | KEY)
    assert [first.status_code, second.status_code] == [202, 202]
    assert _ids(first) != _ids(second)


async def test_many_uploads_with_one_key_at_once_make_one_document(api: Served) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def upload() -> httpx2.Response:
        async with turns:
            return await api.upload(headers=KEY)

    answers = await asyncio.gather(*(upload() for _ in range(500)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.text for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert (await api.count("document"), await api.count("pipeline_job"), len(api.stored_files())) == (1, 1, 1)


async def test_document_shows_attempts_and_errors(api: Served) -> None:
    accepted = (await api.upload()).json()
    worker = await api.worker()
    await worker.fail_once("store", CorruptInput("the file is torn", error_code="TORN"))
    shown = (await api.client.get(f"/v1/documents/{accepted['document_id']}")).json()
    (job,) = shown["jobs"]
    (attempt,) = job["attempts"]
    assert (attempt["phase"], attempt["outcome"], attempt["category"]) == ("store", "failed", "corrupt_input")
    assert (attempt["error"]["code"], attempt["error"]["message"]) == ("TORN", "the file is torn")
    assert shown["known"] == {"chunks": 0, "embeddings": 0, "entities": 0, "relations": 0}
    assert shown["warnings"] == []


async def test_document_shows_what_is_known_and_what_its_owner_should_know(api: Served) -> None:
    warnings = [{"code": "PAGES_WITHOUT_TEXT", "message": "pages 2 and 3 have no text"}]
    document = await Library(api.app.database).add("Noon.", "Night.", metadata={"extracted": {"warnings": warnings}})
    shown = (await api.client.get(f"/v1/documents/{document}")).json()
    assert shown["known"] == {"chunks": 2, "embeddings": 0, "entities": 0, "relations": 0}
    assert shown["warnings"] == warnings


async def test_metadata_that_looks_like_warnings_breaks_nothing(api: Served) -> None:
    accepted = (await api.upload(metadata='{"extracted": {"warnings": [1, {"code": 5}, null]}}')).json()
    shown = await api.client.get(f"/v1/documents/{accepted['document_id']}")
    assert (shown.status_code, shown.json()["warnings"]) == (200, [])


async def test_removed_document_is_receipted_and_gone(api: Served) -> None:
    accepted = (await api.upload()).json()
    address = f"/v1/documents/{accepted['document_id']}"
    receipt = await api.client.delete(address)
    assert receipt.status_code == 200
    assert (receipt.json()["documents"], receipt.json()["artifacts"], receipt.json()["bytes"]) == (1, 1, 25)
    assert problem(await api.client.get(address), 404) == "not_found"
    assert problem(await api.client.delete(address), 404) == "not_found"
    assert api.stored_files() == []


async def test_removal_is_audited_under_the_keys_name(guarded: Served) -> None:
    headers = await guarded.key("acme", Scope.WRITE)
    accepted = (await guarded.upload(headers=headers)).json()
    await guarded.client.delete(f"/v1/documents/{accepted['document_id']}", headers=headers)
    acts = [(act["action"], act["actor"]) for act in await guarded.app.overview.audit()]
    assert ("delete", "key 1 (test)") in acts


def _ids(response: httpx2.Response) -> tuple[int, int]:
    return response.json()["document_id"], response.json()["job_id"]


def _assert_replayed(first: httpx2.Response, second: httpx2.Response) -> None:
    assert (first.status_code, second.status_code) == (202, 202)
    assert second.json() == first.json()
    assert second.headers["location"] == first.headers["location"]
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
