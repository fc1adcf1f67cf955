"""`holdfast serve` as an operator sees it: where it listens, whom it lets in, and how it ends."""

import asyncio
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from holdfast.db.connection import Database
from tests.cli.conftest import SECONDS, CommandLine
from tests.endpoint import with_user

# What runs may finish for 5 s; the rest is a slow machine's.
END_SECONDS = 20


class Served:
    """A server that answers, and its process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stderr is not None
        # Whoever works beside it may speak first.
        self.announced = next(line for line in process.stderr if line.startswith("serving on "))
        url = urlsplit(self.announced.removeprefix("serving on ").strip())
        self.host, self.port = url.hostname or "", url.port or 0

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self._call("GET", path, None, headers)

    def delete(self, path: str, **headers: str) -> tuple[int, Any]:
        return self._call("DELETE", path, None, headers)

    def send(self, content: bytes, **headers: str) -> tuple[int, Any]:
        """Send a document in."""
        part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + content
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        return self._call("POST", "/v1/documents", part + b"\r\n--x--\r\n", headers | form)

    def _call(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        with closing(HTTPConnection(self.host, self.port, timeout=SECONDS)) as connection:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def end(self, number: signal.Signals) -> tuple[int, float]:
        """Tell it to stop; how it ended and how long that took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(SECONDS), time.monotonic() - began


@contextmanager
def _serving(holdfast: CommandLine, *options: str) -> Iterator[Served]:
    with holdfast.started("serve", "--port", "0", *options) as process:
        yield Served(process)


@contextmanager
def _reading_events(served: Served) -> Iterator[HTTPResponse]:
    with closing(HTTPConnection(served.host, served.port, timeout=SECONDS)) as connection:
        connection.request("GET", "/v1/events")
        answer = connection.getresponse()
        assert answer.readline() == b"event: queues\n"
        yield answer


def test_it_says_where_it_serves_and_answers_there(holdfast: CommandLine) -> None:
    with _serving(holdfast) as served:
        assert served.announced == f"serving on http://127.0.0.1:{served.port}\n"
        assert served.get("/readyz") == (200, {"status": "ok"})


def test_on_loopback_no_key_is_needed_while_there_is_none(holdfast: CommandLine) -> None:
    with _serving(holdfast) as served:
        status, _ = served.get("/v1/jobs")

    assert status == 200


def test_a_key_is_asked_for_once_there_is_one(holdfast: CommandLine) -> None:
    secret = holdfast.succeed("keys", "create", "crm", "--json").json["secret"]
    with _serving(holdfast) as served:
        without, _ = served.get("/v1/jobs")
        with_key, _ = served.get("/v1/jobs", Authorization=f"Bearer {secret}")

    assert (without, with_key) == (401, 200)


def test_the_first_key_counts_within_seconds(holdfast: CommandLine) -> None:
    with _serving(holdfast) as served:
        before, _ = served.get("/v1/jobs")
        holdfast.succeed("keys", "create", "crm")
        deadline = time.monotonic() + SECONDS
        while served.get("/v1/jobs")[0] == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        after, _ = served.get("/v1/jobs")

    assert (before, after) == (200, 401)


def test_a_revoked_key_opens_nothing_at_once(holdfast: CommandLine) -> None:
    secret = holdfast.succeed("keys", "create", "crm", "--json").json["secret"]
    with _serving(holdfast) as served:
        before, _ = served.get("/v1/jobs", Authorization=f"Bearer {secret}")
        holdfast.succeed("keys", "revoke", "1")
        after, _ = served.get("/v1/jobs", Authorization=f"Bearer {secret}")

    assert (before, after) == (200, 401)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_ends_in_order(holdfast: CommandLine, number: signal.Signals) -> None:
    with _serving(holdfast) as served:
        served.get("/readyz")
        code, seconds = served.end(number)

    assert code == 0
    assert seconds < END_SECONDS


def test_a_reader_of_events_does_not_keep_it(holdfast: CommandLine) -> None:
    with _serving(holdfast) as served, _reading_events(served):
        code, seconds = served.end(signal.SIGTERM)

    assert code == 0
    assert seconds < END_SECONDS


def test_beyond_loopback_it_refuses_to_serve_without_a_key(holdfast: CommandLine) -> None:
    result = holdfast.run("serve", "--host", "0.0.0.0", "--port", "0")

    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: 0.0.0.0 can be reached from elsewhere, and there is no key: make one with `holdfast keys create`, "
        "or serve on 127.0.0.1\n"
    )


def test_beyond_loopback_a_revoked_key_is_none(holdfast: CommandLine) -> None:
    holdfast.succeed("keys", "create", "crm")
    holdfast.succeed("keys", "revoke", "1")

    assert holdfast.run("serve", "--host", "0.0.0.0", "--port", "0").code == 2


def test_beyond_loopback_it_serves_those_with_a_key(holdfast: CommandLine) -> None:
    secret = holdfast.succeed("keys", "create", "crm", "--json").json["secret"]
    with _serving(holdfast, "--host", "0.0.0.0") as served:
        served.host = "127.0.0.1"
        without, _ = served.get("/v1/jobs")
        with_key, _ = served.get("/v1/jobs", Authorization=f"Bearer {secret}")

    assert (without, with_key) == (401, 200)


async def test_a_login_for_the_api_can_serve_what_a_worker_has_registered(
    holdfast: CommandLine, database: Database, dsn: str, guest: str
) -> None:
    secret = holdfast.succeed("keys", "create", "crm", "--org", "acme", "--json").json["secret"]
    await asyncio.to_thread(holdfast.succeed, "worker", "--drain")
    await database.execute(f'grant holdfast_api to "{guest}"')
    with _serving(holdfast.with_settings(HOLDFAST_DATABASE_URL=with_user(dsn, guest))) as served:
        key = {"Authorization": f"Bearer {secret}"}
        accepted = await asyncio.to_thread(served.send, b"The ferry leaves at noon.", **key)
        _, listed = await asyncio.to_thread(served.get, "/v1/jobs", **key)
        found, _ = await asyncio.to_thread(served.get, "/v1/search?q=ferry", **key)
        removed = await asyncio.to_thread(served.delete, f"/v1/documents/{accepted[1]['document_id']}", **key)

    assert (accepted[0], found, removed[0]) == (202, 200, 200)
    assert [job["job_id"] for job in listed["jobs"]] == [accepted[1]["job_id"]]


async def test_a_login_for_the_api_is_told_when_nothing_is_registered(
    holdfast: CommandLine, database: Database, dsn: str, guest: str
) -> None:
    await database.execute(f'grant holdfast_api to "{guest}"')
    serving = holdfast.with_settings(HOLDFAST_DATABASE_URL=with_user(dsn, guest))
    result = await asyncio.to_thread(serving.run, "serve", "--port", "0")

    assert (result.code, result.out) == (1, "")
    assert result.err == (
        'error: nobody has registered "documents", "configs", "reports" yet, and this login may not: start '
        "`holdfast worker` with the same settings first, or grant holdfast_worker to this login\n"
    )


async def test_a_login_that_may_register_needs_no_worker_before_it(
    holdfast: CommandLine, database: Database, dsn: str, guest: str
) -> None:
    await database.execute(f'grant holdfast_api, holdfast_worker to "{guest}"')
    with _serving(holdfast.with_settings(HOLDFAST_DATABASE_URL=with_user(dsn, guest))) as served:
        status, _ = await asyncio.to_thread(served.send, b"The ferry leaves at noon.")

    assert status == 202


def test_a_port_that_is_taken_is_named(holdfast: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = holdfast.run("serve", "--port", str(port))

    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: cannot listen on 127.0.0.1 port {port} (Address already in use): name another --port or --host\n"
    )


def test_a_host_that_is_not_there_is_named(holdfast: CommandLine) -> None:
    result = holdfast.run("serve", "--host", "nowhere.invalid")

    assert result.code == 2
    assert "cannot listen on nowhere.invalid" in result.err
    assert "Traceback" not in result.err


def test_up_serves_and_carries_documents_and_ends_when_told(holdfast: CommandLine) -> None:
    with holdfast.started("up", "--port", "0") as process:
        served = Served(process)
        holdfast.succeed(
            "ingest", "-", "--name", "note.md", "--no-wait", stdin="# Tides\n\nThe ferry leaves at noon.\n"
        )
        while served.get("/v1/jobs?state=done")[1]["jobs"] == []:
            time.sleep(0.1)
        status, found = served.get("/v1/search?q=ferry")
        with _reading_events(served):
            code, _ = served.end(signal.SIGTERM)

    assert (status, code) == (200, 0)
    assert found["hits"][0]["source_name"] == "note.md"
