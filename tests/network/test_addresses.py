"""Only public addresses are connected to, however a host is spelled and whatever the resolver says."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from holdfast.errors import NetworkTimeout, SourceGone
from holdfast.network.addresses import Guard, Resolve, is_public

INWARD = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:0:53aa:64c:0:7a7:f5ff:fffe",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2606:4700::1%eth0",
]


@pytest.mark.parametrize("address", INWARD)
def test_inward_address_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
)
def test_address_of_the_open_network_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "localhost",
        "LOCALHOST.",
        "0",
        "::1",
        "0:0:0:0:0:0:0:1",
        "::ffff:7f00:1",
        "①②⑦.⓪.⓪.①",
        "100.64.0.1",
        "169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fe80::1%lo",
        "fe80::1%25lo",
        "",
        "%31%32%37.0.0.1",
    ],
)
async def test_every_spelling_of_an_inward_host_is_refused(host: str) -> None:
    with pytest.raises(SourceGone) as refusal:
        await Guard().addresses(host, 80)
    assert refusal.value.error_code == "ADDRESS_REFUSED"


async def test_one_inward_answer_among_public_ones_is_refused() -> None:
    with pytest.raises(SourceGone, match=r"10\.0\.0\.5"):
        await Guard(resolve=_answering("1.1.1.1", "10.0.0.5")).addresses("mixed.example", 443)


async def test_public_answers_are_given_in_the_resolvers_order() -> None:
    addresses = await Guard(resolve=_answering("2606:4700::1", "1.1.1.1")).addresses("example.org", 443)
    assert [str(address) for address in addresses] == ["2606:4700::1", "1.1.1.1"]


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("wiki.inner", "wiki.inner", 8080),
        ("wiki.inner:8080", "Wiki.Inner.", 8080),
        ("[::1]:8080", "::1", 8080),
        ("[::1]", "::1", 8080),
        ("::1", "::1", 8080),
    ],
)
async def test_allowed_host_may_be_inward(entry: str, host: str, port: int) -> None:
    guard = Guard(allowed=frozenset({entry}), resolve=_answering("10.0.0.5"))
    assert [str(address) for address in await guard.addresses(host, port)] == ["10.0.0.5"]


@pytest.mark.parametrize(("host", "port"), [("wiki.inner", 22), ("other.inner", 8080), ("wiki.inner.evil", 8080)])
async def test_allowing_a_host_and_port_allows_nothing_else(host: str, port: int) -> None:
    guard = Guard(allowed=frozenset({"wiki.inner:8080"}), resolve=_answering("10.0.0.5"))
    with pytest.raises(SourceGone):
        await guard.addresses(host, port)


async def test_unknown_host_may_be_known_later() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(NetworkTimeout) as failure:
        await Guard(resolve=resolve).addresses("nowhere.example", 80)
    assert failure.value.error_code == "HOST_UNKNOWN"


async def test_resolver_that_answers_nonsense_or_nothing_is_refused() -> None:
    with pytest.raises(SourceGone):
        await Guard(resolve=_answering("not an address")).addresses("x.example", 80)
    with pytest.raises(NetworkTimeout):
        await Guard(resolve=_answering()).addresses("x.example", 80)


def _answering(*addresses: str) -> Resolve:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve
