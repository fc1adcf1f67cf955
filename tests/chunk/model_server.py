"""A language model's HTTP interface on loopback: it notes what it is asked, and fails where it is told to."""

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self

from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.openai_model import ChatModel, OpenAIModel
from holdfast.providers.usage import Prices

CALL_USD = 3  # thousand tokens at the price below come to as many dollars


class ModelServer:
    """Each call is billed CALL_USD. `refuses` gives the status and code for what a call asks, or None to answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.refuses: Callable[[str], tuple[int, str] | None] = lambda _: None
        self.answers: Callable[[str], str] = lambda asked: f"Situated as number {len(asked)}."

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        host, port = self._server.sockets[0].getsockname()
        self._api = HttpApi(Endpoint("stand-in", f"http://{host}:{port}/v1"))
        prices = Prices(input_usd=Decimal(1000), output_usd=Decimal(1000))
        self.model = OpenAIModel(self._api, ChatModel("stand-in-model", prices))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._api.close()
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            body = await reader.readexactly(_length(head))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(0.005)  # so that calls that may run at once do
            status, reply = self._reply(json.loads(body)["messages"][1]["content"])
            self.at_once -= 1
            writer.write(_response(status, reply))
            await writer.drain()
        writer.close()

    def _reply(self, asked: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(asked)
        refusal = self.refuses(asked)
        if refusal is not None:
            return refusal[0], {"error": {"code": refusal[1], "message": "no"}}
        message = {"role": "assistant", "content": self.answers(asked)}
        usage = {"prompt_tokens": CALL_USD * 1000 - 100, "completion_tokens": 100}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def document_of(asked: str) -> str:
    """The first material of a call: what is shown of the document."""
    return _materials(asked)[0]


def passage_of(asked: str) -> str:
    """The last material of a call: the passage."""
    return _materials(asked)[-1]


def _materials(asked: str) -> list[str]:
    return [part.split(">\n", 1)[1].rsplit("\n</material", 1)[0] for part in asked.split("<material ")[1:]]


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def _length(head: bytes) -> int:
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    return int(headers[b"content-length"])


def _response(status: int, reply: dict[str, Any]) -> bytes:
    body = json.dumps(reply).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
