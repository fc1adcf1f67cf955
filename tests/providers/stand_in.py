"""A server on loopback that speaks OpenAI's and Deepgram's interfaces, counts its calls and fails as it is told to."""

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

KEY = "stand-in-key-73"
SPOKEN = ("The old garden has a green gate.", "Please close the window before the rain comes.")
SPOKEN_AT = ((0.1, 3.1), (5.1, 8.4))
SPOKEN_SECONDS = 8.4
DIMENSION = 8


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came in."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and how it ends: `closed` properly, `reset` in the middle, or `hung` without an end."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    end: str = "closed"
    media_type: str = "application/json"


Twist = Callable[[dict[str, Any]], dict[str, Any]]
Turn = Reply | Twist

RESET = Reply(body=b'{"half": ', end="reset")
HANG = Reply(end="hung")
PAGE = Reply(body=b"<html><body>Welcome</body></html>", media_type="text/html")
TRUNCATED = Reply(body=b'{"choices": [{"message": {"content": "half')


def refusal(status: int, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    """A failure in OpenAI's shape; header names are spelt with underscores."""
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": code}}
    spelt = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), spelt)


class StandIn:
    """Answers every call properly unless a turn was scripted for it. `calls` are those that got as far as an answer.

    A turn is a Reply that is sent instead, or a function that twists the proper answer.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.says: Callable[[Call], str] | None = None
        self._turns: deque[Turn] = deque()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def base_url(self) -> str:
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
            while True:
                await self._answer(await _read_call(reader), writer)
        writer.close()
        self._connections.discard(task)

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        self.calls.append(call)
        turn = self._turns.popleft() if self._turns else None
        if isinstance(turn, Reply):
            await _send(turn, writer)
            return
        reply = self._reply(call)
        if turn is not None:
            reply = _json_reply(turn(json.loads(reply.body)))
        await _send(reply, writer)

    def _reply(self, call: Call) -> Reply:
        if call.headers.get("authorization") not in (f"Bearer {KEY}", f"Token {KEY}"):
            given = call.headers.get("authorization", "").rpartition(" ")[2]
            return refusal(401, "invalid_api_key", f"Incorrect API key provided {given}")  # as real ones do
        match call.path:
            case "/v1/embeddings":
                return _json_reply(_embeddings(call))
            case "/v1/chat/completions":
                return _json_reply(_completion(call, self.says))
            case "/v1/audio/transcriptions":
                return _json_reply(_transcription()) if b"RIFF" in call.body else UNREADABLE
            case "/v1/listen":
                return _json_reply(_utterances()) if call.body.startswith(b"RIFF") else NOT_AUDIO
        return refusal(404, "unknown_url", f"Unknown request URL: {call.path}")


UNREADABLE = refusal(400, None, "Invalid file format. Supported formats: ['flac', 'mp3', 'mp4', 'wav']")
NOT_AUDIO = Reply(
    400, b'{"err_code": "Bad Request", "err_msg": "failed to process audio: corrupt or unsupported data"}'
)


async def _read_call(reader: asyncio.StreamReader) -> Call:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    _, target, _ = head[0].split(" ")
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers["content-length"]))
    address = urlsplit(target)
    return Call(address.path, dict(parse_qsl(address.query)), headers, body)


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> None:
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


def _json_reply(value: object) -> Reply:
    return Reply(body=json.dumps(value).encode())


def _embeddings(call: Call) -> dict[str, Any]:
    """Vectors that depend on the text alone, of any length, the last first."""
    texts, dimension = call.json["input"], call.json.get("dimensions", DIMENSION)
    rows = [{"index": index, "embedding": _vector(text, dimension)} for index, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    return {"data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _vector(text: str, dimension: int) -> list[float]:
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[position % 32] - 127.5 for position in range(dimension)]


def _completion(call: Call, says: Callable[[Call], str] | None) -> dict[str, Any]:
    wanted = call.json.get("response_format")
    content = "An answer."
    if says is not None:
        content = says(call)
    elif wanted is not None:
        content = json.dumps(_example(wanted["json_schema"]["schema"]))
    message = {"role": "assistant", "content": content, "refusal": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def _example(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: _example(part) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [_example(schema["items"])]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return "text"


def _transcription() -> dict[str, Any]:
    segments = [
        {"id": number, "start": start, "end": end, "text": f" {text}", "avg_logprob": -0.1}
        for number, ((start, end), text) in enumerate(zip(SPOKEN_AT, SPOKEN, strict=True))
    ]
    return {"language": "english", "duration": SPOKEN_SECONDS, "text": " ".join(SPOKEN), "segments": segments}


def _utterances() -> dict[str, Any]:
    utterances = [
        {"start": start, "end": end, "transcript": text, "confidence": 0.98, "speaker": number, "channel": 0}
        for number, ((start, end), text) in enumerate(zip(SPOKEN_AT, SPOKEN, strict=True))
    ]
    channel = {"detected_language": "en", "alternatives": [{"transcript": " ".join(SPOKEN)}]}
    return {"metadata": {"duration": SPOKEN_SECONDS}, "results": {"channels": [channel], "utterances": utterances}}
