"""Events over HTTP: the state first, then every change without asking again, until there will be none."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.api import events
from tests.api.serving import Served, problem


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.05)


class Stream:
    """Events as they come in."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> dict[str, Any] | None:
        """The next event by its fields, data decoded; a comment as its text; None at the end."""
        fields: dict[str, Any] = {}
        async for line in self._lines:
            if not line:
                break
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        if not fields:
            return None
        return {**fields, "data": json.loads(fields["data"])} if "data" in fields else fields


@asynccontextmanager
async def listening(api: Served, address: str, last_seen: str | None = None) -> AsyncIterator[Stream]:
    headers = {"Last-Event-ID": last_seen} if last_seen else {}
    async with api.client.stream("GET", address, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response.aiter_lines())


async def test_job_tells_its_state_then_its_changes_then_ends(api: Served) -> None:
    job = (await api.upload()).json()["job_id"]
    async with listening(api, f"/v1/jobs/{job}/events") as stream:
        first = await stream.next()
        assert first is not None
        assert (first["event"], first["data"]["job_id"], first["data"]["state"]) == ("job", job, "queued")
        await api.client.post(f"/v1/jobs/{job}/cancel")
        second = await stream.next()
        assert second is not None
        assert second["data"]["state"] == "cancelled"
        assert second["id"] != first["id"]
        assert await stream.next() is None


async def test_job_that_has_ended_is_told_once(api: Served) -> None:
    job = (await api.upload()).json()["job_id"]
    await api.client.post(f"/v1/jobs/{job}/cancel")
    async with listening(api, f"/v1/jobs/{job}/events") as stream:
        told = await stream.next()
        assert told is not None
        assert await stream.next() is None
    async with listening(api, f"/v1/jobs/{job}/events", told["id"]) as stream:
        assert await stream.next() is None


async def test_who_comes_back_hears_only_what_is_new(api: Served) -> None:
    job = (await api.upload()).json()["job_id"]
    async with listening(api, f"/v1/jobs/{job}/events") as stream:
        seen = await stream.next()
    assert seen is not None
    async with listening(api, f"/v1/jobs/{job}/events", seen["id"]) as stream:
        await api.client.post(f"/v1/jobs/{job}/cancel")
        told = await stream.next()
    assert told is not None
    assert told["data"]["state"] == "cancelled"


async def test_silence_is_broken_by_a_sign_of_life(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SIGN_OF_LIFE_SECONDS", 0.1)
    job = (await api.upload()).json()["job_id"]
    async with listening(api, f"/v1/jobs/{job}/events") as stream:
        await stream.next()
        assert await stream.next() == {"": "still here"}


async def test_queues_tell_what_changes(api: Served) -> None:
    async with listening(api, "/v1/events") as stream:
        first = await stream.next()
        assert first is not None
        assert (first["event"], first["data"]["queues"]["store"]["queued"]) == ("queues", 0)
        await api.upload()
        second = await stream.next()
        assert second is not None
        assert second["data"]["queues"]["store"]["queued"] == 1


async def test_job_that_is_none_is_a_problem(api: Served) -> None:
    assert problem(await api.client.get("/v1/jobs/999/events"), 404) == "not_found"


async def test_stream_ends_when_its_key_is_revoked(guarded: Served) -> None:
    headers = await guarded.key("acme")
    async with guarded.client.stream("GET", "/v1/events", headers=headers) as response:
        stream = Stream(response.aiter_lines())
        assert await stream.next() is not None
        await guarded.app.keys.revoke(1, actor="test")
        assert await stream.next() is None


async def test_stream_ends_when_its_document_is_removed(api: Served) -> None:
    accepted = (await api.upload()).json()
    async with listening(api, f"/v1/jobs/{accepted['job_id']}/events") as stream:
        await stream.next()
        await api.client.delete(f"/v1/documents/{accepted['document_id']}")
        told = await stream.next()
        assert told is not None
        assert (told["data"]["state"], told["data"]["source_name"]) == ("cancelled", "deleted")
        assert await stream.next() is None


async def test_database_that_breaks_ends_the_stream(api: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with listening(api, "/v1/events") as stream:
        await stream.next()
        await api.app.database.execute("alter function holdfast.overview_queues() rename to overview_lost")
        assert await stream.next() is None
    await api.calm()
    assert "Traceback" not in caplog.text
