"""A server on loopback that speaks OpenAI's and Deepgram's interfaces, counts its calls and fails as it is told to."""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from errno import EADDRINUSE
from http import HTTPStatus
from typing import Self

from holdfast.testing.answering import Says, completion, embeddings, transcription, utterances
from holdfast.testing.faults import refusal
from holdfast.testing.wire import KEY, BadCall, Call, Reply, Turn, json_reply, read_call, send

UNREADABLE = refusal(400, None, "Invalid file format. Supported formats: ['flac', 'mp3', 'mp4', 'wav']")
NOT_AUDIO = Reply(
    400, b'{"err_code": "Bad Request", "err_msg": "failed to process audio: corrupt or unsupported data"}'
)


class CannotListen(Exception):
    """The port is taken, or none at all."""


class StandIn:
    """Answers every call properly unless a turn was scripted for it. `calls` are all that came, in order.

    `says` may choose the words of the chat model; `refuses` may give a call a turn by what it asks, when no turn is
    scripted.
    """

    def __init__(self, *, port: int = 0) -> None:
        self.calls: list[Call] = []
        self.says: Says | None = None
        self.refuses: Callable[[Call], Turn | None] = lambda _: None
        self._port = port
        self._turns: deque[Turn] = deque()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        except (OSError, OverflowError) as error:
            reason = "it is taken" if getattr(error, "errno", None) == EADDRINUSE else error
            raise CannotListen(f"cannot listen on port {self._port}, {reason}: choose another, or 0 for any") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def base_url(self) -> str:
        """What a setting such as HOLDFAST_LLM_BASE_URL takes."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def script(self, *turns: Turn) -> None:
        """Use these for the next calls, one each."""
        self._turns.extend(turns)

    def recover(self) -> None:
        """Answer properly from now on."""
        self._turns.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await self._converse(reader, writer)
        writer.close()
        self._connections.discard(task)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                call = await read_call(reader)
            except BadCall as error:
                # Where the next call would begin is not known.
                await send(_refused(error), writer)
                return
            await self._answer(call, writer)

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        self.calls.append(call)
        await send(self._turned(call), writer)

    def _turned(self, call: Call) -> Reply:
        """The reply to the call, after its turn if it has one."""
        try:
            turn = self._turns.popleft() if self._turns else self.refuses(call)
            if isinstance(turn, Reply):
                return turn
            reply = self._reply(call)
            return reply if turn is None or reply.status != HTTPStatus.OK else json_reply(turn(json.loads(reply.body)))
        except BadCall as error:
            return _refused(error)

    def _reply(self, call: Call) -> Reply:
        if call.headers.get("authorization") not in (f"Bearer {KEY}", f"Token {KEY}"):
            given = call.headers.get("authorization", "").rpartition(" ")[2]
            return refusal(401, "invalid_api_key", f"Incorrect API key provided {given}")  # as real ones do
        match call.path:
            case "/v1/embeddings":
                return json_reply(embeddings(call))
            case "/v1/chat/completions":
                return json_reply(completion(call, self.says))
            case "/v1/audio/transcriptions":
                return json_reply(transcription()) if b"RIFF" in call.body else UNREADABLE
            case "/v1/listen":
                return json_reply(utterances()) if call.body.startswith(b"RIFF") else NOT_AUDIO
        return refusal(404, "unknown_url", f"Unknown request URL: {call.path}")


def _refused(error: BadCall) -> Reply:
    return refusal(400, None, str(error))
