"""Proper answers, in the shapes of OpenAI's and Deepgram's interfaces. The same question has the same answer."""

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from holdfast.testing.example import example
from holdfast.testing.wire import BadCall, Call

Says: TypeAlias = Callable[[Call], str]
"""What the chat model says to a call."""

DIMENSION = 8
SENTENCE = "An answer."
SPOKEN = ("The old garden has a green gate.", "Please close the window before the rain comes.")
SPOKEN_AT = ((0.1, 3.1), (5.1, 8.4))
SPOKEN_SECONDS = 8.4


def embeddings(call: Call) -> dict[str, Any]:
    """Vectors that depend on the text alone, of any length, the last first."""
    asked = _asked(call)
    texts, dimension = _texts(asked.get("input")), asked.get("dimensions", DIMENSION)
    if not isinstance(dimension, int):
        raise BadCall("Invalid type for 'dimensions': expected an integer")
    rows = [{"index": index, "embedding": _vector(text, dimension)} for index, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    return {"data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def completion(call: Call, says: Says | None) -> dict[str, Any]:
    """What `says` makes of the call; without it a sentence, or small JSON of the form asked for."""
    asked = _asked(call)
    content = _said(asked.get("response_format")) if says is None else says(call)
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


def _asked(call: Call) -> dict[str, Any]:
    if not isinstance(call.json, dict):
        raise BadCall("We could not parse the JSON body of your request: it is not an object")
    return call.json


def _texts(given: object) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadCall("Invalid type for 'input': expected a string or an array of strings")
    return texts


def _said(form: object) -> str:
    match form:
        case None | {"type": "text"}:
            return SENTENCE
        case {"type": "json_object"}:
            return json.dumps({"answer": SENTENCE})
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return json.dumps(example(schema))
    raise BadCall("Invalid value for 'response_format': expected text, json_object, or json_schema with a schema")
