"""The ways in which providers fail, each as one turn of a script."""

import json
from collections.abc import Mapping
from typing import Any

from holdfast.testing.wire import BadCall, Reply, Turn, Twist

RESET = Reply(body=b'{"half": ', end="reset")
"""The connection breaks in the middle of the answer."""

HANG = Reply(end="hung")
"""The answer never comes."""

PAGE = Reply(body=b"<html><body>Welcome</body></html>", media_type="text/html")
"""A page of some proxy instead of JSON."""

TRUNCATED = Reply(body=b'{"choices": [{"message": {"content": "half')
"""The JSON of the interface itself breaks off."""


def refusal(status: int, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    """A failure in OpenAI's shape; header names are spelt with underscores."""
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": code}}
    spelt = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), spelt)


def rate_limited(retry_after: float | None = None) -> Reply:
    """429, with or without a Retry-After in seconds."""
    headers = {} if retry_after is None else {"retry_after": f"{retry_after:g}"}
    return refusal(429, "rate_limit_exceeded", "Rate limit reached", **headers)


def server_error(status: int = 500) -> Reply:
    """A failure on the provider's own account."""
    return refusal(status, None, "The server had an error")


def content_policy() -> Reply:
    """The provider refuses what it was sent."""
    return refusal(400, "content_policy_violation", "Rejected by the safety system")


def context_length() -> Reply:
    """More tokens than the model reads."""
    return refusal(400, "context_length_exceeded", "The messages are longer than this model reads")


def budget_exceeded() -> Reply:
    """A gateway whose own budget is spent."""
    return refusal(400, "budget_exceeded", "Budget has been exceeded")


def wrong_json(content: str = '{"unasked": true}') -> Twist:
    """A proper answer in which the model says something other than the JSON it was asked for.

    Any other call than a chat's has no such answer, and is refused with 400.
    """

    def twist(answer: dict[str, Any]) -> dict[str, Any]:
        if "choices" not in answer:
            raise BadCall("The fault wrong_json is for chat completions: script it for one of them")
        choice = answer["choices"][0]
        return {**answer, "choices": [{**choice, "message": {**choice["message"], "content": content}}]}

    return twist


def absurd_usage(usage: object = None) -> Twist:
    """A proper answer that claims a usage which cannot be; by default a trillion tokens."""
    claimed = {"prompt_tokens": 10**12, "completion_tokens": 10**12} if usage is None else usage
    return lambda answer: {**answer, "usage": claimed}


FAULTS: Mapping[str, Turn] = {
    "rate_limited": rate_limited(),
    "rate_limited_for_2_seconds": rate_limited(retry_after=2),
    "server_error": server_error(),
    "reset": RESET,
    "hang": HANG,
    "page": PAGE,
    "truncated": TRUNCATED,
    "wrong_json": wrong_json(),
    "content_policy": content_policy(),
    "context_length": context_length(),
    "budget_exceeded": budget_exceeded(),
    "absurd_usage": absurd_usage(),
}
"""One of each kind, by the name that the command line takes."""
