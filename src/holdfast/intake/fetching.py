"""Fetches what a link leads to, without letting the link choose where in the network we go or how much we take."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx2

from holdfast.errors import SourceGone, TimedOut, TooLarge, UnsafeArchive
from holdfast.intake.addresses import Address, Guard
from holdfast.intake.answers import name_of, refuse_failure, translated

_CHUNK_BYTES = 1 << 20
_MOST_ADDRESSES = 4
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DEFAULT_PORTS = {"http": 80, "https": 443}


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
        self._guard = guard or Guard()
        self._limits = limits or FetchLimits()
        self._tls = tls or httpx2.create_ssl_context()

    async def fetch(self, url: str, to: Path, *, most_bytes: int) -> Fetched:
        """Write what the link leads to into a new file, and say what it is. At most `most_bytes`, after decoding.

        Raises SourceGone, RateLimited, NetworkTimeout, TimedOut, TooLarge, UnsafeArchive or CorruptInput.
        """
        try:
            async with asyncio.timeout(self._limits.total_seconds) as clock:
                return await self._follow(_parsed(url), to, most_bytes)
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
                url = _parsed(answer.headers["location"], base=url)
        text = f"the link redirects more than {self._limits.redirects} times, lastly to {url.host}"
        raise SourceGone(text, error_code="TOO_MANY_REDIRECTS")

    @asynccontextmanager
    async def _answer(self, url: httpx2.URL) -> AsyncIterator[httpx2.Response]:
        """Ask the first of the host's addresses that can be connected to."""
        addresses = await self._guard.addresses(url.host, url.port or _DEFAULT_PORTS[url.scheme])
        with translated(url.host):
            # One client per hop: a connection kept for an address would carry requests for another host there.
            async with self._client() as client:
                response = await self._first_answer(client, url, addresses[:_MOST_ADDRESSES])
                try:
                    yield response
                finally:
                    await response.aclose()

    def _client(self) -> httpx2.AsyncClient:
        limits = self._limits
        timeout = httpx2.Timeout(limits.read_seconds, connect=limits.connect_seconds)
        # A proxy named in the environment would resolve the host once more, and go where it likes.
        return httpx2.AsyncClient(verify=self._tls, trust_env=False, timeout=timeout, follow_redirects=False)

    async def _first_answer(
        self, client: httpx2.AsyncClient, url: httpx2.URL, addresses: list[Address]
    ) -> httpx2.Response:
        *others, last = addresses
        for address in others:
            try:
                return await client.send(_request(url, address), stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await client.send(_request(url, last), stream=True)


def _request(url: httpx2.URL, address: Address) -> httpx2.Request:
    """A request to the address that names the host to the server and to its certificate."""
    headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": "holdfast",
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
    }
    server_name = url.raw_host.decode("ascii").rstrip(".")
    extensions = {"sni_hostname": server_name}
    return httpx2.Request("GET", url.copy_with(host=str(address)), headers=headers, extensions=extensions)


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
            raise TooLarge(text, error_code="SOURCE_TOO_LARGE")
        await asyncio.to_thread(file.write, chunk)


def _parsed(url: str, *, base: httpx2.URL | None = None) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url) if base is None else base.join(url)
    except httpx2.InvalidURL as error:
        raise SourceGone(f"the link is refused: {error}", error_code="ADDRESS_REFUSED") from error
    if parsed.scheme not in _DEFAULT_PORTS:
        text = f'the link is refused: "{parsed.scheme}:" is neither http nor https'
        raise SourceGone(text, error_code="ADDRESS_REFUSED")
    if parsed.userinfo:
        text = "the link is refused: it carries a user name, which would be stored; give one without"
        raise SourceGone(text, error_code="ADDRESS_REFUSED")
    return parsed


def _content_type(answer: httpx2.Response) -> str:
    return str(answer.headers.get("content-type", ""))[:200]


def _host(url: str) -> str:
    return _parsed(url).host
