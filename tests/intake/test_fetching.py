"""Links are followed to where they may lead, and no further; what comes is taken in measure."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from holdfast.errors import (
    CorruptInput,
    NetworkTimeout,
    PhaseError,
    RateLimited,
    SourceGone,
    TimedOut,
    TooLarge,
    UnsafeArchive,
)
from holdfast.intake.fetching import Fetched, Fetcher, FetchLimits
from holdfast.network.addresses import Guard
from tests.intake.certificates import contexts_for
from tests.intake.web import Web, respond, web

MEGABYTE = 1 << 20


@pytest.fixture
async def site() -> AsyncIterator[Web]:
    async with web() as site:
        yield site


def fetcher_for(site: Web, **limits: float) -> Fetcher:
    return Fetcher(Guard(allowed=frozenset({site.host})), limits=FetchLimits(**limits))


async def fetch(fetcher: Fetcher, url: str, to: Path, most_bytes: int = MEGABYTE) -> Fetched:
    return await fetcher.fetch(url, to / "content", most_bytes=most_bytes)


async def test_content_is_written_and_named(site: Web, tmp_path: Path) -> None:
    site.answers["/docs/tide%20table.pdf?v=1"] = respond(b"%PDF-1.7", Content_Type="application/pdf")
    fetched = await fetch(fetcher_for(site), site.url("/docs/tide table.pdf?v=1#page=2"), tmp_path)
    assert fetched == Fetched("tide table.pdf", "application/pdf", site.url("/docs/tide%20table.pdf"))
    assert (tmp_path / "content").read_bytes() == b"%PDF-1.7"
    assert f"Host: {site.host}".encode() in site.requests[0]


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/x", {"Content_Disposition": 'attachment; filename="../../tides.csv"'}, "tides.csv"),
        ("/x", {"Content_Disposition": "attachment; filename*=UTF-8''%E2%80%AEgezeiten%C3%BC.txt"}, "gezeitenü.txt"),
        ("/x", {"Content_Disposition": "attachment; filename*=nonsense''%ff.txt"}, "ÿ.txt"),
        ("/x", {"Content_Disposition": "attachment; filename=" + "n" * 400 + ".md"}, "n" * 197 + ".md"),
        ("/a/b/", {}, "b"),
        ("/notes", {"Content_Type": "text/markdown; charset=utf-8"}, "notes.md"),
        ("/notes.txt", {"Content_Type": "text/markdown"}, "notes.txt"),
        ("/", {"Content_Type": "text/html"}, "127.0.0.1.html"),
        ("/%2e%2e%2f%2e%2e%2fpasswd%00", {}, "passwd"),
    ],
)
async def test_name_is_the_servers_or_the_links_and_harmless(
    site: Web, tmp_path: Path, path: str, headers: dict[str, str], name: str
) -> None:
    site.answers[path] = respond(b"x", **headers)
    assert (await fetch(fetcher_for(site), site.url(path), tmp_path)).name == name


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://example.org/",
        "data:text/plain,x",
        "//example.org/",
        "http:///x",
        "http://ann:secret@example.org/",
        "http://0177.0.0.1/",
        "http://１２７.０.０.１/",  # noqa: RUF001
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://localhost./",
        "http://example.org:80\\@127.0.0.1/",
        "http://x\x00y/",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
async def test_link_that_leads_inward_or_elsewhere_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SourceGone) as refusal:
        await fetch(Fetcher(), url, tmp_path)
    assert refusal.value.error_code == "ADDRESS_REFUSED"
    assert not (tmp_path / "content").exists()


async def test_refused_address_is_never_connected_to(site: Web, tmp_path: Path) -> None:
    with pytest.raises(SourceGone):
        await fetch(Fetcher(), site.url(), tmp_path)
    assert site.requests == []


async def test_rebinding_host_is_connected_to_at_the_address_that_was_checked(site: Web, tmp_path: Path) -> None:
    answers = iter([["192.0.2.1"], ["127.0.0.1"]])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(answers)

    # 192.0.2.1 leads nowhere, and stands for a public address: only the check is lifted for it.
    guard = Guard(allowed=frozenset({"rebind.example"}), resolve=resolve)
    with pytest.raises(NetworkTimeout):
        await fetch(
            Fetcher(guard, limits=FetchLimits(connect_seconds=0.2)), f"http://rebind.example:{site.port}/", tmp_path
        )
    assert next(answers) == ["127.0.0.1"]
    assert site.requests == []


async def test_host_that_rebinds_between_hops_is_checked_again(site: Web, tmp_path: Path) -> None:
    """The first answer is let through as the allowed host, the second is the same host turned inward on a new port."""
    answers = iter([["127.0.0.1"], ["127.0.0.1"]])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(answers)

    site.answers["/"] = respond(status=302, Location="http://rebind.example:1/")
    guard = Guard(allowed=frozenset({f"rebind.example:{site.port}"}), resolve=resolve)
    with pytest.raises(SourceGone) as refusal:
        await fetch(Fetcher(guard), f"http://rebind.example:{site.port}/", tmp_path)
    assert refusal.value.error_code == "ADDRESS_REFUSED"
    assert len(site.requests) == 1


async def test_host_is_asked_for_by_name_at_the_resolved_address(site: Web, tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    site.answers["/"] = respond(b"x")
    guard = Guard(allowed=frozenset({"tides.example"}), resolve=resolve)
    await fetch(Fetcher(guard), f"http://Tides.Example:{site.port}/", tmp_path)
    assert f"Host: tides.example:{site.port}\r\n".encode() in site.requests[0]


async def test_next_address_is_tried_when_one_cannot_be_reached(site: Web, tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    site.answers["/"] = respond(b"x")
    guard = Guard(allowed=frozenset({"tides.example"}), resolve=resolve)
    await fetch(Fetcher(guard), f"http://tides.example:{site.port}/", tmp_path)
    assert len(site.requests) == 1


async def test_certificate_is_checked_for_the_host_and_not_for_the_address(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    server, client = contexts_for("tides.example", tmp_path)
    guard = Guard(allowed=frozenset({"tides.example", "other.example"}), resolve=resolve)
    async with web(server) as site:
        site.answers["/"] = respond(b"secret tides")
        await fetch(Fetcher(guard, tls=client), f"https://tides.example:{site.port}/", tmp_path)
        assert site.server_names == ["tides.example"]
        with pytest.raises(NetworkTimeout, match=r"(?i)certificate|hostname"):
            await fetch(Fetcher(guard, tls=client), f"https://other.example:{site.port}/", tmp_path)
    assert (tmp_path / "content").read_bytes() == b"secret tides"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:9/",
        "http://[::1]/",
        "//169.254.169.254/latest/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/",
        "http://ann:secret@{host}/x",
    ],
)
async def test_redirect_inward_or_elsewhere_is_refused(site: Web, tmp_path: Path, location: str) -> None:
    site.answers["/"] = respond(status=302, Location=location.format(host=site.host))
    with pytest.raises(SourceGone) as refusal:
        await fetch(fetcher_for(site), site.url(), tmp_path)
    assert refusal.value.error_code == "ADDRESS_REFUSED"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_named_after_the_end(site: Web, tmp_path: Path, status: int) -> None:
    site.answers["/start"] = respond(status=status, Location="next")
    site.answers["/next"] = respond(status=status, Location=site.url("/end.txt?token=abc"))
    site.answers["/end.txt?token=abc"] = respond(b"x")
    fetched = await fetch(fetcher_for(site), site.url("/start"), tmp_path)
    assert fetched.name == "end.txt"
    assert fetched.url == site.url("/end.txt")


async def test_endless_redirects_end(site: Web, tmp_path: Path) -> None:
    site.answers["/"] = respond(status=302, Location="/")
    with pytest.raises(SourceGone) as refusal:
        await fetch(fetcher_for(site), site.url(), tmp_path)
    assert refusal.value.error_code == "TOO_MANY_REDIRECTS"
    assert len(site.requests) == 6


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (404, SourceGone, "HTTP_404"),
        (410, SourceGone, "HTTP_410"),
        (401, SourceGone, "SOURCE_REFUSED"),
        (403, SourceGone, "SOURCE_REFUSED"),
        (451, SourceGone, "SOURCE_REFUSED"),
        (304, SourceGone, "SOURCE_REFUSED"),
        (408, NetworkTimeout, "HTTP_408"),
        (429, RateLimited, "HTTP_429"),
        (500, NetworkTimeout, "HTTP_500"),
        (503, NetworkTimeout, "HTTP_503"),
    ],
)
async def test_each_failing_status_has_its_category(
    site: Web, tmp_path: Path, status: int, error: type[PhaseError], code: str
) -> None:
    site.answers["/"] = respond(b"sorry", status=status, Retry_After="120")
    with pytest.raises(error) as failure:
        await fetch(fetcher_for(site), site.url(), tmp_path)
    assert failure.value.error_code == code
    if error is not SourceGone:
        assert failure.value.retry_after_seconds == 120
    assert not (tmp_path / "content").exists()


async def test_endless_body_is_too_large(site: Web, tmp_path: Path) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    site.answers["/"] = endless
    with pytest.raises(TooLarge) as failure:
        await fetch(fetcher_for(site), site.url(), tmp_path, most_bytes=3 * MEGABYTE)
    assert failure.value.error_code == "SOURCE_TOO_LARGE"
    assert (tmp_path / "content").stat().st_size <= 3 * MEGABYTE


async def test_body_of_exactly_the_limit_is_taken(site: Web, tmp_path: Path) -> None:
    site.answers["/"] = respond(b"x" * MEGABYTE)
    await fetch(fetcher_for(site), site.url(), tmp_path, most_bytes=MEGABYTE)
    assert (tmp_path / "content").stat().st_size == MEGABYTE


async def test_decompressed_size_counts(site: Web, tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(64 * MEGABYTE), mtime=0)
    site.answers["/"] = respond(bomb, Content_Encoding="gzip")
    with pytest.raises(TooLarge):
        await fetch(fetcher_for(site), site.url(), tmp_path, most_bytes=MEGABYTE)
    assert (tmp_path / "content").stat().st_size <= MEGABYTE


@pytest.mark.parametrize(
    ("encoding", "packed"), [("gzip", gzip.compress(b"tides", mtime=0)), ("deflate", zlib.compress(b"tides"))]
)
async def test_compressed_body_is_unfolded(site: Web, tmp_path: Path, encoding: str, packed: bytes) -> None:
    site.answers["/"] = respond(packed, Content_Encoding=encoding)
    await fetch(fetcher_for(site), site.url(), tmp_path)
    assert (tmp_path / "content").read_bytes() == b"tides"


async def test_body_compressed_several_times_is_refused(site: Web, tmp_path: Path) -> None:
    site.answers["/"] = respond(gzip.compress(gzip.compress(b"x"), mtime=0), Content_Encoding="gzip, gzip")
    with pytest.raises(UnsafeArchive):
        await fetch(fetcher_for(site), site.url(), tmp_path)


async def test_body_that_cannot_be_decompressed_is_corrupt(site: Web, tmp_path: Path) -> None:
    site.answers["/"] = respond(b"not gzip", Content_Encoding="gzip")
    with pytest.raises(CorruptInput):
        await fetch(fetcher_for(site), site.url(), tmp_path)


async def test_body_that_trickles_ends_at_the_time_limit(site: Web, tmp_path: Path) -> None:
    async def trickle(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    site.answers["/"] = trickle
    with pytest.raises(TimedOut) as failure:
        await fetch(fetcher_for(site, total_seconds=0.3), site.url(), tmp_path)
    assert failure.value.error_code == "FETCH_TIMEOUT"


async def test_silent_server_is_given_up(site: Web, tmp_path: Path) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    site.answers["/"] = silent
    with pytest.raises(NetworkTimeout):
        await fetch(fetcher_for(site, read_seconds=0.2), site.url(), tmp_path)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000,
    ],
)
async def test_broken_answer_may_be_whole_later(site: Web, tmp_path: Path, answer: bytes) -> None:
    site.answers["/"] = answer
    with pytest.raises(NetworkTimeout):
        await fetch(fetcher_for(site), site.url(), tmp_path)


async def test_server_that_is_down_may_be_up_later(tmp_path: Path) -> None:
    async with web() as site:
        pass
    with pytest.raises(NetworkTimeout) as failure:
        await fetch(fetcher_for(site), site.url(), tmp_path)
    assert failure.value.error_code == "CONNECTION_FAILED"


async def test_proxy_of_the_environment_is_not_asked(
    site: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        site.answers["/"] = respond(b"x")
        await fetch(fetcher_for(site), site.url(), tmp_path)
        assert proxy.requests == []
