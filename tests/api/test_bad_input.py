"""What makes no sense is refused as a problem with a code, whichever way it comes; nothing of it is stored."""

from typing import Any

import pytest

from tests.api.serving import Served, problem

DEEP = '{"a":' * 5_000 + "1" + "}" * 5_000
LINK = "https://example.org/a.pdf"


@pytest.mark.parametrize(
    "metadata",
    [
        "ward 7",
        "[1]",
        "7",
        "null",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"a": "\\u0000"}',
        '{"a": ' + "9" * 5_000 + "}",
        DEEP,
        "[" * 100_000,
        '{"a": 1',
        "\x00",
    ],
    ids=lambda text: text[:12],
)
async def test_metadata_that_cannot_be_kept_is_refused(api: Served, metadata: str) -> None:
    assert problem(await api.upload(metadata=metadata), 422) == "invalid_input"
    body = f'{{"url": "{LINK}", "metadata": {metadata}}}'.encode()
    response = await api.client.post("/v1/documents", content=body, headers={"Content-Type": "application/json"})
    assert problem(response, 422) == "invalid_input"
    assert (await api.count("document"), await api.count("pipeline_job")) == (0, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"priority": "high"},
        {"priority": "101"},
        {"platform": "Not A Platform"},
        {"organisation": ""},
        {"organisation": "x" * 256},
        {"organisation": "ac\x00me"},
        {"location": "x" * 4097},
        {"location": "a\x00b"},
    ],
    ids=str,
)
async def test_field_that_makes_no_sense_is_refused(api: Served, fields: dict[str, str]) -> None:
    assert problem(await api.upload(**fields), 422) == "invalid_input"
    assert await api.count("document") == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "text",
        {"url": ""},
        {"url": "file:///etc/passwd"},
        {"url": "https://user:secret@example.org/"},
        {"url": "https://example.org/\u202e"},
        {"url": "https://[::1/"},
        {"url": LINK, "file": "x"},
        {"url": LINK, "location": "elsewhere"},
        {"url": LINK, "platform": "wiki"},
        {"url": LINK, "priority": 2**70},
        {"url": LINK, "metadata": "x"},
    ],
    ids=str,
)
async def test_link_that_makes_no_sense_is_refused(api: Served, body: Any) -> None:
    assert problem(await api.client.post("/v1/documents", json=body), 422) == "invalid_input"
    assert await api.count("document") == 0


async def test_form_without_a_file_is_refused(api: Served) -> None:
    for files in ({"other": ("a.txt", b"x")}, {"file": (None, "only a field")}):
        assert problem(await api.client.post("/v1/documents", files=files), 422) == "invalid_input"


async def test_body_of_another_kind_is_refused(api: Served) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        response = await api.client.post("/v1/documents", content=b"file=x", headers=headers)
        assert problem(response, 415) == "unsupported_media_type"


async def test_endless_json_is_refused(api: Served) -> None:
    body = b'{"url": "' + b"x" * (2 << 20)
    response = await api.client.post("/v1/documents", content=body, headers={"Content-Type": "application/json"})
    assert problem(response, 413) == "too_large"
    response = await api.client.post("/v1/jobs/bulk", content=body, headers={"Content-Type": "application/json"})
    assert problem(response, 413) == "too_large"


@pytest.mark.parametrize("depth", [201, 5_000, 100_000])
@pytest.mark.parametrize("path", ["/v1/documents", "/v1/jobs/bulk", "/v1/webhooks"])
async def test_deep_json_is_refused_by_its_depth(api: Served, path: str, depth: int) -> None:
    body = b'{"url": "https://example.org/", "metadata": ' + b"[" * depth + b"]" * depth + b"}"
    response = await api.client.post(path, content=body, headers={"Content-Type": "application/json; charset=utf-8"})
    assert problem(response, 422) == "invalid_input"
    assert response.json()["detail"] == "the body is nested more than 200 deep: flatten it"


@pytest.mark.parametrize("key", ["", "k" * 256])
async def test_senseless_idempotency_key_is_refused(api: Served, key: str) -> None:
    assert problem(await api.upload(headers={"Idempotency-Key": key}), 422) == "invalid_input"


@pytest.mark.parametrize("number", ["0", "-1", str(2**63), "9" * 5_000, "one", "1.5", "%00"])
async def test_number_of_no_document_is_refused(api: Served, number: str) -> None:
    for address in (f"/v1/documents/{number}", f"/v1/jobs/{number}", f"/v1/jobs/{number}/events"):
        assert problem(await api.client.get(address), 422) == "invalid_input"


@pytest.mark.parametrize(
    "query",
    [
        "/v1/jobs?limit=0",
        "/v1/jobs?limit=501",
        "/v1/jobs?limit=" + "9" * 5_000,
        "/v1/jobs?cursor=1",
        "/v1/jobs?cursor=%D9%A1-%D9%A1",
        "/v1/jobs?cursor=1-1%0A",
        "/v1/jobs?state=lost",
        "/v1/jobs?status=%00",
        "/v1/jobs?organisation=%00",
        "/v1/jobs?platform=" + "x" * 256,
        "/v1/jobs?metadata=ward",
        "/v1/jobs?metadata==7",
        "/v1/jobs?metadata=a%00=7",
        "/v1/search",
        "/v1/search?q=",
        "/v1/search?q=%00",
        "/v1/search?q=" + "x" * 2_001,
        "/v1/search?q=ferry&limit=-1",
        "/v1/search?q=ferry&mode=guess",
        "/v1/search?q=ferry&organisation=%00",
        "/v1/search?q=ferry&name=%00",
        "/v1/search?q=ferry&location=%00",
        "/v1/search?q=ferry&document_id=0",
    ],
    ids=lambda text: text[:50],
)
async def test_question_that_makes_no_sense_is_refused(api: Served, query: str) -> None:
    assert problem(await api.client.get(query), 422) == "invalid_input"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"null",
        b'{"act": "destroy", "everything": true}',
        b'{"act": "cancel"}',
        b'{"act": "cancel", "colour": "red"}',
        b'{"act": "cancel", "\\ud800": 1}',
        b'{"act": "cancel", "everything": true, "reason": "\\ud800"}',
        b'{"act": "cancel", "everything": true, "reason": "\\u0000"}',
        b'{"act": "cancel", "ids": [0]}',
        b'{"act": "cancel", "ids": [9223372036854775808]}',
        b'{"act": "cancel", "ids": [NaN]}',
        b'{"act": "cancel", "organisation": "\\u0000"}',
        b'{"act": "cancel", "everything": NaN}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"act": ',
    ],
    ids=lambda text: str(text[:50]),
)
async def test_act_that_makes_no_sense_is_refused(api: Served, body: bytes) -> None:
    accepted = (await api.upload()).json()
    response = await api.client.post("/v1/jobs/bulk", content=body, headers={"Content-Type": "application/json"})
    assert problem(response, response.status_code) in ("invalid_input", "bad_request")
    assert (await api.client.get(f"/v1/jobs/{accepted['job_id']}")).json()["state"] == "queued"


async def test_way_that_is_none_is_a_problem_too(api: Served) -> None:
    assert problem(await api.client.get("/v1/nothing"), 404) == "not_found"
    assert problem(await api.client.put("/v1/jobs"), 405) == "method_not_allowed"
