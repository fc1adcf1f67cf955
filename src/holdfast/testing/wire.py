"""Calls and replies as they go over the wire, in as much of HTTP as a provider's clients speak."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from holdfast import json_codec

KEY = "stand-in-key-73"
"""The key that a stand-in accepts; every other one is refused as a real provider would."""


class BadCall(ValueError):
    """A call that a provider refuses with 400, and why."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came in."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, for calls that carry JSON. Raises BadCall where it is none."""
        try:
            return json_codec.loads(self.body)
        except ValueError as error:
            raise BadCall(f"We could not parse the JSON body of your request: {error}") from error


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and how it ends: `closed` properly, `reset` in the middle, or `hung` without an end."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    end: Literal["closed", "reset", "hung"] = "closed"
    media_type: str = "application/json"


Twist: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes something else of the proper answer."""

Turn: TypeAlias = Reply | Twist
"""What happens to one call: a reply that is sent instead, or a twist of the proper answer."""


def json_reply(value: object) -> Reply:
    """A proper answer."""
    return Reply(body=json.dumps(value).encode())


async def read_call(reader: asyncio.StreamReader) -> Call:
    """The next call on a connection; IncompleteReadError when the other side has left, BadCall for what is no HTTP."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        _, target, _ = head[0].split(" ")
        pairs = (line.split(":", 1) for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        body = await _read_body(reader, headers)
        address = urlsplit(target)
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise BadCall(f"We could not read your request: {error}") from error
    return Call(address.path, dict(parse_qsl(address.query)), headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(len(b"\r\n"))
    while await reader.readuntil(b"\r\n") != b"\r\n":
        continue  # a trailer, which no provider reads
    return b"".join(chunks)


async def send(reply: Reply, writer: asyncio.StreamWriter) -> None:
    """Send it to its end, which for one that hangs never comes."""
    length = len(reply.body) + (0 if reply.end == "closed" else 1000)
    headers = {"content-type": reply.media_type, "content-length": str(length), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} Said", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + reply.body)
    await writer.drain()
    match reply.end:
        case "reset":
            writer.transport.abort()
        case "hung":
            await asyncio.Event().wait()
