"""A transaction-pooling proxy: each transaction may meet another server, as behind PgBouncer. No COPY."""

import asyncio
import contextlib
import struct
from dataclasses import dataclass
from types import TracebackType

from tests.endpoint import Endpoint

SERVERS = 2
SSL_REQUEST = 80877103
CANCEL_REQUEST = 80877102
PROTOCOL_3 = 196608
MADE_UP_PID = 4_000_001
OUTSIDE_TRANSACTION = b"Z\x00\x00\x00\x05I"


@dataclass(frozen=True, slots=True)
class ServerConnection:
    """One real connection, and what the server said about itself when greeting."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    greeting: bytes


class Pooler:
    """Listens on loopback while entered; `dsn` leads through it."""

    def __init__(self, upstream: str) -> None:
        self._upstream = Endpoint.of(upstream)
        self._idle: asyncio.Queue[ServerConnection] = asyncio.Queue()  # first in, first out: servers alternate

    async def __aenter__(self) -> "Pooler":
        for _ in range(SERVERS):
            self._idle.put_nowait(await _greeted(self._upstream))
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.dsn = self._upstream.seen_through(self._listener.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        while not self._idle.empty():
            self._idle.get_nowait().writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            if not await _started(reader, writer):
                return
            await self._greet(writer)
            await self._carry(reader, writer)

    async def _greet(self, writer: asyncio.StreamWriter) -> None:
        server = await self._idle.get()
        self._idle.put_nowait(server)
        key = struct.pack("!II", MADE_UP_PID, 0)
        welcome = _message(b"R", struct.pack("!I", 0))
        writer.write(welcome + server.greeting + _message(b"K", key) + _message(b"Z", b"I"))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Lend a server from a client's first message until that server is outside any transaction."""
        server: ServerConnection | None = None
        answering: asyncio.Task[None] | None = None
        try:
            while (message := await _read(reader))[:1] != b"X":
                if answering is None or answering.done():
                    server = await self._idle.get()
                    answering = asyncio.create_task(self._answer(server, writer))
                assert server is not None
                server.writer.write(message)
        finally:
            if server is not None and answering is not None and not answering.done():
                # The client left in the middle: its transaction must end with it.
                answering.cancel()
                server.writer.close()
                self._idle.put_nowait(await _greeted(self._upstream))

    async def _answer(self, server: ServerConnection, writer: asyncio.StreamWriter) -> None:
        """Hand the server's answers to the client until it is ready for another one's transaction."""
        while True:
            message = await _read(server.reader)
            if message == OUTSIDE_TRANSACTION:
                self._idle.put_nowait(server)
                writer.write(message)
                return
            writer.write(message)


async def _started(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Go through the client's start-up; False for one that only came to cancel."""
    while True:
        (length,) = struct.unpack("!I", await reader.readexactly(4))
        (code,) = struct.unpack("!I", (await reader.readexactly(length - 4))[:4])
        if code != SSL_REQUEST:
            return bool(code != CANCEL_REQUEST)
        writer.write(b"N")


async def _greeted(upstream: Endpoint) -> ServerConnection:
    reader, writer = await upstream.open()
    parameters = f"user\0{upstream.user}\0database\0{upstream.database}\0\0".encode()
    writer.write(struct.pack("!II", len(parameters) + 8, PROTOCOL_3) + parameters)
    greeting = b""
    while (message := await _read(reader))[:1] != b"Z":
        if message[:1] == b"E":
            raise ConnectionRefusedError(message[5:].decode(errors="replace"))
        if message[:1] == b"S":
            greeting += message
    return ServerConnection(reader, writer, greeting)


async def _read(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body
