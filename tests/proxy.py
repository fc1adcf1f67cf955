"""A proxy in front of PostgreSQL that delays, cuts, resets and swallows traffic on demand."""

import asyncio
import contextlib
from types import TracebackType

from tests.endpoint import Endpoint

CHUNK = 65536


class Proxy:
    """Listens on loopback while entered; `dsn` leads through it."""

    def __init__(self, upstream: str, *, port: int = 0) -> None:
        self._port = port
        self._upstream = Endpoint.of(upstream)
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._trigger: tuple[bytes, bool] | None = None
        self._refusing = False
        self.delay_seconds = 0.0
        self.answer_delay_seconds = 0.0
        self.cuts = 0

    async def __aenter__(self) -> "Proxy":
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self.dsn = self._upstream.seen_through(self._listener.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.restore()
        self.cut()

    def cut(self) -> None:
        """Reset every connection there is. New ones pass."""
        self.cuts += 1
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def refuse(self) -> None:
        """Reset every connection there is, and each new one as soon as it is opened."""
        self._refusing = True
        self.cut()

    def cut_at(self, text: bytes, *, delivered: bool) -> None:
        """Cut once, when a client sends `text`: before it reaches the server, or after it was obeyed."""
        self._trigger = (text, delivered)

    def blackhole(self) -> None:
        """Forward nothing and tell nobody: both sides wait."""
        self._open.clear()

    def restore(self) -> None:
        """Let traffic pass again at once, what was kept back included."""
        self.delay_seconds = self.answer_delay_seconds = 0.0
        self._refusing = False
        self._open.set()

    def rewrite(self, data: bytes) -> bytes:
        """What the client gets of what the server said; as it is, unless a test knows better."""
        return data

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError, OSError):
            await self._open.wait()
            try:
                server_reader, server_writer = await self._upstream.open()
            except OSError:
                writer.transport.abort()
                raise
            self._writers.add(server_writer)
            answered = asyncio.Event()
            await asyncio.gather(
                self._to_server(reader, server_writer, answered), self._carry(server_reader, writer, answered)
            )

    async def _to_server(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answered: asyncio.Event
    ) -> None:
        with contextlib.closing(writer):
            while data := await reader.read(CHUNK):
                await self._pause()
                if self._trigger is None or self._trigger[0] not in data:
                    writer.write(data)
                    continue
                delivered, self._trigger = self._trigger[1], None
                if delivered:
                    await self._deliver(data, writer, answered)
                self.cut()
                self._open.set()
                return

    async def _deliver(self, data: bytes, writer: asyncio.StreamWriter, answered: asyncio.Event) -> None:
        """Come back when the server has answered; the answer does not get through."""
        self._open.clear()
        answered.clear()
        writer.write(data)
        await answered.wait()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answered: asyncio.Event) -> None:
        with contextlib.closing(writer):
            while data := await reader.read(CHUNK):
                answered.set()
                if self.answer_delay_seconds:
                    await asyncio.sleep(self.answer_delay_seconds)
                await self._pause()
                writer.write(self.rewrite(data))

    async def _pause(self) -> None:
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        await self._open.wait()
