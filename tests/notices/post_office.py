"""A mail server on loopback: takes letters, refuses as it is told to, and offers TLS if it has a certificate."""

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Self, cast


class PostOffice:
    """`letters` are those it took; `logins` what was sent to log in; `refusals` are answered to the next letters."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.letters: list[EmailMessage] = []
        self.logins: list[str] = []
        self.refusals: deque[str] = deque()
        self._tls = tls
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def host(self) -> str:
        assert self._server is not None
        return f"localhost:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while line := (await reader.readline()).decode().strip():
                answer = await self._take(reader, writer) if line.upper() == "DATA" else self._answer(line)
                writer.write(f"{answer}\r\n".encode())
                await writer.drain()
                if line.upper() == "STARTTLS" and self._tls is not None:
                    await writer.start_tls(self._tls)
        writer.close()

    def _answer(self, line: str) -> str:
        match line.partition(" ")[0].upper():
            case "EHLO":
                return "250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN" if self._tls else "250-here\r\n250 AUTH PLAIN"
            case "STARTTLS":
                return "220 go on"
            case "AUTH":
                self.logins.append(line)
                return "235 welcome"
            case "QUIT":
                return "221 bye"
        return "250 fine"

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        if self.refusals:
            return self.refusals.popleft()
        writer.write(b"354 speak\r\n")
        letter = await reader.readuntil(b"\r\n.\r\n")
        self.letters.append(cast(EmailMessage, message_from_bytes(letter[:-5], policy=default)))
        return "250 taken"
