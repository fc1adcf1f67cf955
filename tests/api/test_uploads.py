"""Uploads that are too large, long, cut off or not what they claim to be: taken whole, or refused with a reason."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.api.serving import PATIENCE_SECONDS, Served, problem, serving, until

MEGABYTE = 1 << 20
LARGE_MB = 200
MOST_GROWTH_MB = 60
MOST_DESCRIPTORS = 1024
BOUNDARY = "limit"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
FILE = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'.encode()
END = f"\r\n--{BOUNDARY}--\r\n".encode()


async def test_upload_beyond_the_limit_is_refused(dsn: str, tmp_path: Path) -> None:
    async with serving(dsn, tmp_path, asks_for_keys=False, most_file_mb=1) as api:
        assert (await api.upload(b"x" * MEGABYTE)).status_code == 202
        assert problem(await api.upload(b"y" * (MEGABYTE + 1)), 413) == "too_large"
        assert problem(await api.upload(b"z" * 3 * MEGABYTE), 413) == "too_large"
        assert (await api.count("document"), len(api.stored_files())) == (1, 1)


async def test_upload_that_says_it_is_too_large_is_refused_before_it_comes(api: Served) -> None:
    head = f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\nContent-Length: "
    answer = await _say(api, f"{head}{1 << 40}\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("boundary", [BOUNDARY, "----json"])
async def test_large_upload_never_is_in_memory(api: Served, boundary: str) -> None:
    form = {"Content-Type": f"multipart/form-data; boundary={boundary}"}

    async def body() -> AsyncIterator[bytes]:
        yield FILE.replace(BOUNDARY.encode(), boundary.encode())
        for number in range(LARGE_MB * 4):
            yield number.to_bytes(4, "big") * (MEGABYTE // 16)
        yield END.replace(BOUNDARY.encode(), boundary.encode())

    with _memory() as peak:
        response = await api.client.post("/v1/documents", content=body(), headers=form)
    assert response.status_code == 202
    assert sum(path.stat().st_size for path in api.stored_files()) == LARGE_MB * MEGABYTE
    assert peak() < MOST_GROWTH_MB


@pytest.mark.parametrize("chunked", [False, True])
async def test_upload_that_is_cut_off_leaves_nothing(
    api: Served, chunked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    before = _nameless_files()
    half = FILE + b"x" * 3 * MEGABYTE
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {2 * len(half)}"
    head = f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\n{length}\r\n\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(head.encode() + (b"%x\r\n%b\r\n" % (len(half), half) if chunked else half))
    await writer.drain()
    await until(lambda: _nameless_files() - before)
    writer.close()
    await api.calm()
    assert (await api.count("document"), await api.count("pipeline_job"), api.stored_files()) == (0, 0, [])
    assert _nameless_files() - before == set()
    assert (await api.upload()).status_code == 202
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("bytes_a_turn", [0, 1])
async def test_body_that_trickles_in_is_given_up(
    api: Served, bytes_a_turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    # Only for this one: a body that is sent as fast as it goes may still pause that long on a busy machine.
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.api.guards.SLOW_SECONDS", 0.3)
        writer.write(f"{head}Content-Length: 1000000\r\n\r\n".encode() + FILE)
        answer = asyncio.create_task(reader.readline())
        while not answer.done():
            writer.write(b"x" * bytes_a_turn)
            await asyncio.sleep(0.02)
        writer.close()
        assert await answer == b"HTTP/1.1 408 Request Timeout\r\n"
    assert (await api.count("document"), api.stored_files()) == (0, [])
    assert (await api.upload()).status_code == 202


async def test_body_that_ends_before_its_form_does_leaves_nothing(api: Served) -> None:
    for body in (FILE + b"half of", FILE + b"half of\r\n--lim", FILE[:40], b""):
        response = await api.client.post("/v1/documents", content=body, headers=FORM)
        assert problem(response, response.status_code) in ("bad_request", "invalid_input")
    assert (await api.count("document"), api.stored_files()) == (0, [])


@pytest.mark.parametrize("length", ["-1", "twelve", "5, 6"])
async def test_senseless_length_is_refused(api: Served, length: str) -> None:
    answer = await _say(api, f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert (await api.client.get("/healthz")).status_code == 200


async def test_length_shorter_than_the_body_takes_no_part_of_it(api: Served) -> None:
    head = f"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\nContent-Length: "
    answer = await _say(api, f"{head}{len(FILE) + 4}\r\n\r\n{FILE.decode()}all of it{END.decode()}")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 422 "))
    assert await api.count("document") == 0


async def test_form_of_very_many_parts_is_refused(api: Served) -> None:
    part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'.encode()
    response = await api.client.post("/v1/documents", content=part * 100_000 + FILE + END, headers=FORM)
    assert problem(response, response.status_code) in ("bad_request", "too_large")
    assert await api.count("document") == 0


async def test_form_of_two_files_is_refused(api: Served) -> None:
    files = [("file", ("a.txt", b"one")), ("file", ("b.txt", b"two"))]
    assert problem(await api.client.post("/v1/documents", files=files), 400) == "bad_request"


@pytest.mark.parametrize("charset", ["idna", "punycode", "rot13", "utf-16", "undefined", "no-such"])
async def test_form_in_an_odd_charset_never_breaks_the_server(api: Served, charset: str) -> None:
    headers = {"Content-Type": f"{FORM['Content-Type']}; charset={charset}"}
    strange = FILE.replace(b"a.txt", b"xn--\xff\xfe..a") + b"text" + END
    response = await api.client.post("/v1/documents", content=strange, headers=headers)
    assert response.status_code == 202 or problem(response, response.status_code) in ("bad_request", "invalid_input")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("x" * 296 + ".pdf", "x" * 196 + ".pdf"),
        ("../../etc/passwd", "passwd"),
        ("..", "unnamed"),
        ("C:\\temp\\plan.txt", "plan.txt"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("in\x07voice.txt", "invoice.txt"),
        ("gnp\u202efdp.exe", "gnpfdp.exe"),
        ("caf\u00e9.txt", "caf\u00e9.txt"),
    ],
)
async def test_file_is_kept_under_a_safe_name(api: Served, sent: str, kept: str) -> None:
    disposition = FILE.replace(b'"a.txt"', b'"' + sent.encode() + b'"')
    response = await api.client.post("/v1/documents", content=disposition + b"text" + END, headers=FORM)
    assert response.status_code == 202
    shown = (await api.client.get(response.headers["location"])).json()
    assert shown["source_name"] == kept


@contextmanager
def _memory() -> Iterator["Peak"]:
    """How many megabytes this process grew by, at most."""
    peak = Peak()
    watching = asyncio.get_running_loop().create_task(peak.watch())
    try:
        yield peak
    finally:
        watching.cancel()


class Peak:
    def __init__(self) -> None:
        self._process = psutil.Process()
        self._first = self._most = self._process.memory_info().rss

    async def watch(self) -> None:
        while True:
            self._most = max(self._most, self._process.memory_info().rss)
            await asyncio.sleep(0.01)

    def __call__(self) -> float:
        return (self._most - self._first) / MEGABYTE


def _nameless_files() -> set[tuple[int, int]]:
    """What this process has open and nobody else can find: a file that grows while an upload comes in."""
    found = set()
    for descriptor in range(MOST_DESCRIPTORS):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                found.add((status.st_dev, status.st_ino))
    return found


async def _say(api: Served, words: str) -> bytes:
    """Send these bytes as they are, and hear the first answer's head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(words.encode())
    try:
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
    finally:
        writer.close()
