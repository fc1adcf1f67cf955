"""A web server on loopback that says exactly what a test tells it to, and remembers what it was asked."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Web:
    """Paths and what they answer; anything else is 404."""

    port: int = 0
    answers: dict[str, bytes | Answer] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    server_names: list[str | None] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(request)
            answer = self.answers.get(request.split(b" ")[1].decode(), respond(status=404))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        writer.close()


def respond(body: bytes = b"", *, status: int = 200, **headers: str) -> bytes:
    """A whole answer; headers are given as keywords, `_` for `-`."""
    lines = {"Content-Length": str(len(body)), "Connection": "close"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Because\r\n{head}\r\n".encode("latin-1") + body


@asynccontextmanager
async def web(tls: ssl.SSLContext | None = None) -> AsyncIterator[Web]:
    site = Web()
    if tls is not None:
        tls.sni_callback = lambda _, name, __: site.server_names.append(name)
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        await site.serve(reader, writer)
        connections.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
