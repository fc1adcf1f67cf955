"""Requests to exactly the addresses that were checked: through no proxy, and along no redirect."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2

from holdfast.network.addresses import Address, Guard
from holdfast.network.authorities import authorities
from holdfast.network.links import DEFAULT_PORTS

_MOST_ADDRESSES = 4


class PinnedClient:
    """Asks over HTTP. A host is resolved once, checked, and connected to at exactly that address."""

    def __init__(
        self, guard: Guard, *, connect_seconds: float, read_seconds: float, tls: ssl.SSLContext | None = None
    ) -> None:
        self._guard = guard
        self._timeout = httpx2.Timeout(read_seconds, connect=connect_seconds)
        self._tls = tls

    @asynccontextmanager
    async def answer(
        self, method: str, url: httpx2.URL, *, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Ask the first of the host's addresses that can be connected to; the body of the answer is not read yet.

        Raises what the guard raises, and the client's own errors.
        """
        addresses = await self._guard.addresses(url.host, url.port or DEFAULT_PORTS[url.scheme])
        requests = [_request(method, url, address, headers, content) for address in addresses[:_MOST_ADDRESSES]]
        # One client per request: a connection kept for an address would carry requests for another host there.
        async with self._client() as client:
            response = await _first_answer(client, requests)
            try:
                yield response
            finally:
                await response.aclose()

    def _client(self) -> httpx2.AsyncClient:
        # A proxy named in the environment would resolve the host once more, and go where it likes.
        verify = self._tls or authorities()
        return httpx2.AsyncClient(verify=verify, trust_env=False, timeout=self._timeout, follow_redirects=False)


async def _first_answer(client: httpx2.AsyncClient, requests: list[httpx2.Request]) -> httpx2.Response:
    *others, last = requests
    for request in others:
        try:
            return await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await client.send(last, stream=True)


def _request(
    method: str, url: httpx2.URL, address: Address, headers: Mapping[str, str], content: bytes | None
) -> httpx2.Request:
    """A request to the address that names the host to the server and to its certificate."""
    named = {"Host": url.netloc.decode("ascii"), "User-Agent": "holdfast", **headers}
    extensions = {"sni_hostname": url.raw_host.decode("ascii").rstrip(".")}
    return httpx2.Request(
        method, url.copy_with(host=str(address)), headers=named, content=content, extensions=extensions
    )
