"""Who may call: keys, their scopes and how often; and without keys, only this machine's own programs."""

import asyncio
import socket
from pathlib import Path

import httpx2
import pytest

from holdfast.access.keys import Scope
from holdfast.api.headers import HEADERS
from holdfast.api.server import serve
from holdfast.app import open_app
from holdfast.errors import InvalidInput
from holdfast.settings import Settings
from tests.api.serving import Served, bearer, problem, serving

READS = ("/v1/jobs", "/v1/search?q=x", "/v1/admin/processing-status")
OPERATORS = ("/v1/budgets", "/v1/holds", "/metrics")


@pytest.mark.parametrize("address", [*READS, *OPERATORS, "/v1/jobs/1", "/v1/documents/1", "/v1/events"])
async def test_without_a_key_nothing_is_told(guarded: Served, address: str) -> None:
    response = await guarded.client.get(address)
    assert problem(response, 401) == "unauthorised"
    assert response.headers["www-authenticate"] == "Bearer"


async def test_without_a_key_nothing_is_done(guarded: Served) -> None:
    assert problem(await guarded.upload(), 401) == "unauthorised"
    assert problem(await guarded.client.post("/v1/jobs/1/cancel"), 401) == "unauthorised"
    assert await guarded.count("document") == 0


@pytest.mark.parametrize("value", ["Bearer hf_wrong", "Bearer", "Basic dXNlcjpzZWNyZXQ=", "hf_wrong", "Bearer \xff"])
async def test_wrong_key_opens_nothing(guarded: Served, value: str) -> None:
    headers = httpx2.Headers([(b"Authorization", value.encode("latin-1"))])
    assert problem(await guarded.client.get("/v1/jobs", headers=headers), 401) == "unauthorised"


async def test_second_authorisation_does_not_stand_in_for_the_first(guarded: Served) -> None:
    right = (await guarded.key(None))["Authorization"]
    headers = [("Authorization", "Bearer hf_wrong"), ("Authorization", right)]
    assert problem(await guarded.client.get("/v1/jobs", headers=headers), 401) == "unauthorised"


async def test_revoked_key_opens_nothing(guarded: Served) -> None:
    made = await guarded.app.keys.create("crm", scope=Scope.ADMIN, organisation=None, actor="test")
    assert (await guarded.client.get("/v1/jobs", headers=bearer(made.secret))).status_code == 200
    await guarded.app.keys.revoke(made.key_id, actor="test")
    assert problem(await guarded.client.get("/v1/jobs", headers=bearer(made.secret)), 401) == "unauthorised"


async def test_wrong_key_is_refused_where_none_is_asked_for(api: Served) -> None:
    assert problem(await api.client.get("/v1/jobs", headers=bearer("hf_wrong")), 401) == "unauthorised"


async def test_key_to_read_may_not_write(guarded: Served) -> None:
    accepted = (await guarded.upload(headers=await guarded.key("acme"))).json()
    headers = await guarded.key("acme", Scope.READ)
    for address in READS:
        assert (await guarded.client.get(address, headers=headers)).status_code == 200
    job, document = f"/v1/jobs/{accepted['job_id']}", f"/v1/documents/{accepted['document_id']}"
    for act in ("retry", "cancel", "reset"):
        assert problem(await guarded.client.post(f"{job}/{act}", headers=headers), 403) == "forbidden"
    bulk = await guarded.client.post("/v1/jobs/bulk", json={"act": "cancel", "everything": True}, headers=headers)
    assert problem(bulk, 403) == "forbidden"
    assert problem(await guarded.client.delete(document, headers=headers), 403) == "forbidden"
    assert problem(await guarded.upload(b"other", headers=headers), 403) == "forbidden"
    assert (await guarded.client.get(job, headers=headers)).json()["state"] == "queued"
    assert await guarded.count("document") == 1


@pytest.mark.parametrize("address", OPERATORS)
async def test_what_concerns_everyone_is_for_operators(guarded: Served, address: str) -> None:
    for headers in (await guarded.key("acme", Scope.ADMIN), await guarded.key(None, Scope.WRITE)):
        assert problem(await guarded.client.get(address, headers=headers), 403) == "forbidden"
    assert (await guarded.client.get(address, headers=await guarded.key(None))).status_code == 200


async def test_too_many_calls_are_told_when_to_come_back(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=True, api_calls_per_minute=2) as served:
        busy, quiet = await served.key("acme"), await served.key("acme")
        answers = [await served.client.get("/v1/jobs", headers=busy) for _ in range(3)]
        assert [answer.status_code for answer in answers[:2]] == [200, 200]
        assert problem(answers[2], 429) == "too_many_calls"
        assert 1 <= int(answers[2].headers["retry-after"]) <= 30
        assert (await served.client.get("/v1/jobs", headers=quiet)).status_code == 200
        assert (await served.client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost@evil", "["])
async def test_keyless_server_answers_to_no_foreign_name(api: Served, host: str) -> None:
    assert problem(await api.client.get("/v1/jobs", headers={"Host": host}), 403) == "foreign_page"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]", "[::1]:8000"])
async def test_keyless_server_answers_to_the_names_of_this_machine(api: Served, host: str) -> None:
    assert (await api.client.get("/v1/jobs", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://["])
async def test_strangers_page_cannot_act_through_a_browser(api: Served, origin: str) -> None:
    accepted = (await api.upload()).json()
    headers = {"Origin": origin}
    assert problem(await api.upload(b"planted", headers=headers), 403) == "foreign_page"
    cancel = f"/v1/jobs/{accepted['job_id']}/cancel"
    assert problem(await api.client.post(cancel, headers=headers), 403) == "foreign_page"
    assert await api.count("document") == 1
    assert (await api.client.post(cancel, headers={"Origin": "http://localhost:8000"})).status_code == 200


async def test_every_answer_carries_the_security_headers(api: Served, guarded: Served) -> None:
    calls = [
        await api.client.get("/v1/jobs"),
        await api.upload(),
        await api.client.get("/healthz"),
        await api.client.get("/metrics"),
        await api.client.get("/v1/openapi.json"),
        await api.client.get("/nothing"),
        await api.client.put("/v1/jobs"),
        await api.client.head("/v1/jobs"),
        await api.client.options("/v1/jobs"),
        await api.client.post("/v1/documents", content=b"x", headers={"Content-Type": "text/plain"}),
        await api.client.post("/v1/jobs/bulk", content=b"x" * ((1 << 20) + 1)),
        await api.client.get("/v1/jobs?limit=0"),
        await api.client.get("/v1/jobs", headers={"Host": "evil.example"}),
        await guarded.client.get("/v1/jobs"),
    ]
    for response in calls:
        assert {name: response.headers.get(name) for name in HEADERS} == HEADERS, response.url
    async with api.client.stream("GET", "/v1/events") as stream:
        assert {name: stream.headers.get(name) for name in HEADERS} == HEADERS


async def test_failure_of_ours_shows_nothing_inside(api: Served) -> None:
    await api.app.database.execute("alter table holdfast.hold rename column reason to because")
    response = await api.client.get("/v1/holds")
    assert problem(response, 500) == "failed"
    assert "reason" not in response.json()["detail"].replace("for a reason that its log tells", "")
    assert {name: response.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_nobody_serves_the_world_without_keys(dsn: str, tmp_path: Path, host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    async with open_app(Settings(database_url=dsn, home=tmp_path)) as app:
        with (
            socket.create_server((host, 0), family=family) as listener,
            pytest.raises(InvalidInput, match="there is no key"),
        ):
            await serve(app, listener, announce=lambda _: None, stop=asyncio.Event())


async def test_revoked_key_is_no_reason_to_serve_the_world(dsn: str, tmp_path: Path) -> None:
    async with open_app(Settings(database_url=dsn, home=tmp_path)) as app:
        made = await app.keys.create("old", scope=Scope.ADMIN, organisation=None, actor="test")
        await app.keys.revoke(made.key_id, actor="test")
        with socket.create_server(("0.0.0.0", 0)) as listener, pytest.raises(InvalidInput, match="there is no key"):
            await serve(app, listener, announce=lambda _: None, stop=asyncio.Event())
