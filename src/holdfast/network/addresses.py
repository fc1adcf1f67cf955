"""Which addresses of the network a link may lead to: those that are everyone's, and those an operator allowed."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from holdfast.errors import NetworkTimeout, SourceGone

Address: TypeAlias = IPv4Address | IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

# Spelled out because ipaddress.is_global differs between versions of Python, and because some that are formally
# global lead inward: relays, translators, and the address under which one cloud serves its machines.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# The only part of IPv6 that is given out; loopback, mapped, NAT64, unique local, link-local and multicast lie outside.
_GIVEN_OUT_6 = IPv6Network("2000::/3")
# Protocol assignments with Teredo, documentation (twice), 6to4.
_NOT_PUBLIC_6 = tuple(IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16"))


async def resolve(host: str, port: int) -> Sequence[str]:
    """Every address of a host, as the system's resolver orders them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def is_public(address: Address) -> bool:
    """Whether the address belongs to the open network and to nothing that leads elsewhere."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return (
        address.scope_id is None
        and address in _GIVEN_OUT_6
        and not any(address in network for network in _NOT_PUBLIC_6)
    )


class Guard:
    """Answers to which addresses one may connect for a host, resolved once.

    `allowed` holds hosts, as "host" or "host:port", whose addresses are not asked about.
    """

    def __init__(self, *, allowed: frozenset[str] = frozenset(), resolve: Resolve = resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> list[Address]:
        """The addresses to connect to, all of them fit; otherwise SourceGone, or NetworkTimeout if unknown now."""
        if not host or "%" in host:
            raise _refusal(f'"{host}" is no host')
        host = host.rstrip(".").lower()
        addresses = [_parsed(text) for text in await self._resolved(host, port)]
        if not self._is_allowed(host, port):
            for address in addresses:
                if not is_public(address):
                    raise _refusal(f"{host} leads to {address}, which is not a public address")
        return addresses

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            text = f"the address of {host} cannot be found: {error}; check its spelling and the name server"
            raise NetworkTimeout(text, error_code="HOST_UNKNOWN") from error
        if not addresses:
            raise NetworkTimeout(f"{host} has no address: check its spelling", error_code="HOST_UNKNOWN")
        return addresses

    def _is_allowed(self, host: str, port: int) -> bool:
        bracketed = f"[{host}]" if ":" in host else host
        return bool(self._allowed & {host, bracketed, f"{bracketed}:{port}"})


def _parsed(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise _refusal(f'the resolver answered "{text}", which is no address') from error


def _refusal(reason: str) -> SourceGone:
    return SourceGone(
        f"the link is refused: {reason}; an operator can allow the host in HOLDFAST_ALLOWED_HOSTS",
        error_code="ADDRESS_REFUSED",
    )
