"""Proper answers, in the shapes of OpenAI's and Deepgram's interfaces. The same question has the same answer."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from holdfast.testing.wire import Call

Says: TypeAlias = Callable[[Call], str]
"""What the chat model says to a call."""

DIMENSION = 8
SPOKEN = ("The old garden has a green gate.", "Please close the window before the rain comes.")
SPOKEN_AT = ((0.1, 3.1), (5.1, 8.4))
SPOKEN_SECONDS = 8.4


def embeddings(call: Call) -> dict[str, Any]:
    """Vectors that depend on the text alone, of any length, the last first."""
    texts, dimension = call.json["input"], call.json.get("dimensions", DIMENSION)
    rows = [{"index": index, "embedding": _vector(text, dimension)} for index, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    return {"data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def completion(call: Call, says: Says | None) -> dict[str, Any]:
    """What `says` makes of the call; without it a sentence, or the smallest JSON that fits the schema asked for."""
    wanted = call.json.get("response_format")
    content = "An answer."
    if says is not None:
        content = says(call)
    elif wanted is not None:
        content = json.dumps(_example(wanted["json_schema"]["schema"]))
    message = {"role": "assistant", "content": content, "refusal": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def transcription() -> dict[str, Any]:
    """What OpenAI hears in every recording."""
    segments = [
        {"id": number, "start": start, "end": end, "text": f" {text}", "avg_logprob": -0.1}
        for number, ((start, end), text) in enumerate(zip(SPOKEN_AT, SPOKEN, strict=True))
    ]
    return {"language": "english", "duration": SPOKEN_SECONDS, "text": " ".join(SPOKEN), "segments": segments}


def utterances() -> dict[str, Any]:
    """The same as Deepgram hears it, with two speakers."""
    spoken = [
        {"start": start, "end": end, "transcript": text, "confidence": 0.98, "speaker": number, "channel": 0}
        for number, ((start, end), text) in enumerate(zip(SPOKEN_AT, SPOKEN, strict=True))
    ]
    channel = {"detected_language": "en", "alternatives": [{"transcript": " ".join(SPOKEN)}]}
    return {"metadata": {"duration": SPOKEN_SECONDS}, "results": {"channels": [channel], "utterances": spoken}}


def _vector(text: str, dimension: int) -> list[float]:
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[position % 32] - 127.5 for position in range(dimension)]


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
