"""Fetches what a link leads to, without letting the link choose where in the network we go or how much we take."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx2

from holdfast.errors import OPERATOR_MENDS, SourceGone, TimedOut, TooLarge, UnsafeArchive
from holdfast.intake.answers import name_of, refuse_failure, translated
from holdfast.network.addresses import Guard
from holdfast.network.links import parse_link
from holdfast.network.pinned import PinnedClient

_CHUNK_BYTES = 1 << 20
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How long one fetch may take, and how often it may be sent elsewhere."""

    connect_seconds: float = 10.0
    read_seconds: float = 30.0
    total_seconds: float = 300.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came: a name fit to be used, the type the server claims, and the address it came from in the end."""

    name: str
    content_type: str
    url: str


class Fetcher:
    """Fetches over HTTP. Each hop's host is resolved once, checked, and connected to at exactly that address."""

    def __init__(
        self, guard: Guard | None = None, *, limits: FetchLimits | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._limits = limits or FetchLimits()
        self._client = PinnedClient(
            guard or Guard(),
            connect_seconds=self._limits.connect_seconds,
            read_seconds=self._limits.read_seconds,
            tls=tls,
        )

    async def fetch(self, url: str, to: Path, *, most_bytes: int) -> Fetched:
        """Write what the link leads to into a new file, and say what it is. At most `most_bytes`, after decoding.

        Raises SourceGone, RateLimited, NetworkTimeout, TimedOut, TooLarge, UnsafeArchive or CorruptInput.
        """
        try:
            async with asyncio.timeout(self._limits.total_seconds) as clock:
                return await self._follow(parse_link(url), to, most_bytes)
        except TimeoutError as error:
            if not clock.expired():
                raise
            text = f"{_host(url)} did not deliver within {self._limits.total_seconds:g} s"
            raise TimedOut(text, error_code="FETCH_TIMEOUT") from error

    async def _follow(self, url: httpx2.URL, to: Path, most_bytes: int) -> Fetched:
        for _ in range(self._limits.redirects + 1):
            async with self._answer(url) as answer:
                if answer.status_code not in _REDIRECTS or "location" not in answer.headers:
                    refuse_failure(answer, host=url.host)
                    await _receive(answer, to, most_bytes=most_bytes, host=url.host)
                    return Fetched(
                        name_of(answer, url), _content_type(answer), str(url.copy_with(query=None, fragment=None))
                    )
                url = parse_link(answer.headers["location"], base=url)
        text = f"the link redirects more than {self._limits.redirects} times, lastly to {url.host}"
        raise SourceGone(text, error_code="TOO_MANY_REDIRECTS")

    @asynccontextmanager
    async def _answer(self, url: httpx2.URL) -> AsyncIterator[httpx2.Response]:
        with translated(url.host):
            async with self._client.answer("GET", url, headers=_HEADERS) as response:
                yield response


async def _receive(answer: httpx2.Response, to: Path, *, most_bytes: int, host: str) -> None:
    if "," in answer.headers.get("content-encoding", ""):
        # Each layer multiplies what one packet unfolds to before anyone can count it.
        text = f"{host} sends its answer compressed several times over: such an answer is not unfolded"
        raise UnsafeArchive(text, error_code="STACKED_ENCODING")
    with to.open("xb") as file:
        await _copy(answer, file, most_bytes=most_bytes, host=host)


async def _copy(answer: httpx2.Response, file: BinaryIO, *, most_bytes: int, host: str) -> None:
    received = 0
    async for chunk in answer.aiter_bytes(_CHUNK_BYTES):
        received += len(chunk)
        if received > most_bytes:
            text = f"{host} sends more than {most_bytes} bytes: raise HOLDFAST_MOST_FILE_MB, or split the document"
            raise TooLarge(text, error_code="SOURCE_TOO_LARGE", details=OPERATOR_MENDS)
        await asyncio.to_thread(file.write, chunk)


def _content_type(answer: httpx2.Response) -> str:
    return str(answer.headers.get("content-type", ""))[:200]


def _host(url: str) -> str:
    return parse_link(url).host
