"""A stand-in for all providers that can keep an answer back, and settings that lead to it."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.testing import KEY, Call, Reply, StandIn

DIMENSION = 8
CHAT, EMBEDDINGS, TRANSCRIPTIONS = "/v1/chat/completions", "/v1/embeddings", "/v1/audio/transcriptions"


class Providers(StandIn):
    """Speaks for transcriber, language model and embedder, and knows which phase a call belongs to.

    `segments` are what it hears in every recording, `entities` what it reads in every passage.
    """

    def __init__(self) -> None:
        super().__init__()
        self.segments: list[str] = []
        self.entities: list[str] = []
        self.says = self._say
        self._held: Callable[[Call], bool] | None = None
        self._is_held = asyncio.Event()

    def hold(self, phase: str, *, after: int = 0) -> asyncio.Event:
        """Keep the answer to one call of a phase back for ever, after so many others; the event tells when it came."""
        passed = iter(range(after))
        self._held = lambda call: phase_of(call) == phase and next(passed, None) is None
        self._is_held = asyncio.Event()
        return self._is_held

    def count(self) -> Counter[tuple[str, str]]:
        """How often each call was made, by its phase and all it asked for."""
        return Counter((phase_of(call), _asked(call)) for call in self.calls)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "embedder": "openai",
            "embedder_base_url": self.base_url,
            "embedder_api_key": KEY,
            "embedder_model": "stand-in",
            "embedder_dimension": DIMENSION,
            "transcriber": "openai",
            "transcriber_base_url": self.base_url,
            "transcriber_api_key": KEY,
            "llm_base_url": self.base_url,
            "llm_api_key": KEY,
            "llm_model": "stand-in",
        }

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        if self._held is not None and self._held(call):
            self._held = None
            self.calls.append(call)
            self._is_held.set()
            await asyncio.Event().wait()
        await super()._answer(call, writer)

    def _reply(self, call: Call) -> Reply:
        if call.path == TRANSCRIPTIONS and self.segments:
            return Reply(body=json.dumps(_transcript(self.segments)).encode())
        return super()._reply(call)

    def _say(self, call: Call) -> str:
        if phase_of(call) == "chunk":
            return "It is one passage of several."
        numbers = map(int, re.findall(r"^Passage (\d+):$", str(call.json["messages"][-1]["content"]), re.MULTILINE))
        entities = [{"kind": "thing", "name": name} for name in self.entities]
        return json.dumps({"passages": [{"number": n, "entities": entities, "relations": []} for n in numbers]})


def phase_of(call: Call) -> str:
    """The phase that makes such a call."""
    match call.path:
        case "/v1/audio/transcriptions":
            return "extract"
        case "/v1/embeddings":
            return "embed"
        case _:
            return "graph_extract" if "response_format" in call.json else "chunk"


def _asked(call: Call) -> str:
    # The parts of an upload are divided by a line that differs each time.
    return "recording" if phase_of(call) == "extract" else call.body.decode()


def _transcript(segments: list[str]) -> dict[str, Any]:
    rows = [{"start": 5.0 * n, "end": 5.0 * n + 4, "text": text} for n, text in enumerate(segments)]
    return {"language": "english", "duration": 5.0 * len(rows), "text": " ".join(segments), "segments": rows}
