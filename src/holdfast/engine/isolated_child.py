"""The child's side of isolation: shuts itself in, runs one function after the other, answers in frames.

Every import here is paid for with each child, so what only a failure needs is imported by the failure.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from holdfast.engine import confinement, strict_json
from holdfast.errors import InvalidInput, PhaseError
from holdfast.sandbox.supervisor import MEMORY_EXIT

# A frame is this mark, the length of its body in four bytes, and the body, which is JSON.
FRAME_MARK = b"HOLD"
HEADER_BYTES = len(FRAME_MARK) + 4


def main(
    *,
    parent_pid: int,
    answers_fd: int,
    lifeline_fd: int,
    scratch: str,
    limits: dict[str, int],
    hidden: Sequence[str],
    kept: Sequence[str],
) -> None:
    """Serve requests from standard input until it ends. Ends the process without the interpreter's farewell.

    Native libraries are known to crash in that farewell, after all work is done.
    """
    confinement.die_with_parent(parent_pid)
    os.set_inheritable(lifeline_fd, False)
    granted = confinement.enter_cell(
        Path(scratch),
        hidden=[*map(Path, hidden)],
        kept=[*map(Path, kept)],
        lifeline=lifeline_fd,
        memory_mb=limits["memory_mb"],
        granted=confinement.set_limits(**limits),
    )
    os.set_inheritable(answers_fd, False)
    with _take_input() as requests, open(answers_fd, "wb") as answers:
        _write_frame(answers, {"granted": granted})
        number = 0
        while header := requests.read(HEADER_BYTES):
            number += 1
            request = json.loads(requests.read(frame_size(header)))
            os.chdir(scratch)
            _serve(_Call(number, request, answers, granted))
    os._exit(0)


def give_back(payload: object, progress: Callable[[float], None]) -> object:
    """Return the payload: the cheapest isolated function, for asking what isolation is worth here."""
    return payload


def frame(body: bytes) -> bytes:
    """Return the body as it goes over a pipe."""
    return FRAME_MARK + len(body).to_bytes(4) + body


def frame_size(header: bytes) -> int:
    """Return how many bytes of body follow this header, or raise InvalidInput if it is none."""
    if len(header) != HEADER_BYTES or not header.startswith(FRAME_MARK):
        raise InvalidInput("the answer does not begin with a frame")
    return int.from_bytes(header[len(FRAME_MARK) :])


class _Call(NamedTuple):
    """One request. What is said about it carries its number, so that a straggler cannot speak for the next one."""

    number: int
    request: dict[str, Any]
    answers: BinaryIO
    granted: Sequence[str]

    def say(self, **words: object) -> None:
        _write_frame(self.answers, {"call": self.number, **words})

    def is_worn(self) -> bool:
        return confinement.is_worn(**self.request["limits"], granted=self.granted)


def _serve(call: _Call) -> None:
    confinement.renew_limits(**call.request["limits"], granted=call.granted)
    try:
        _answer(call)
    except MemoryError:
        os._exit(MEMORY_EXIT)
    sys.stderr.flush()


def _answer(call: _Call) -> None:
    try:
        name = call.request["function"]
        result = _find(name)(call.request["payload"], _progress_reporter(call))
        _say_result(call, result, name)
    except BaseException as error:
        confinement.lift_memory_limit(call.granted)
        # An error that is not ours is one that nobody foresaw, so nobody knows what it left behind.
        call.say(failure=_account(error), worn=not isinstance(error, PhaseError) or call.is_worn())


def _find(name: str) -> Callable[[object, Callable[[float], None]], object]:
    module, _, qualified_name = name.partition(":")
    handler: Callable[[object, Callable[[float], None]], object]
    handler = attrgetter(qualified_name)(importlib.import_module(module))
    return handler


def _progress_reporter(call: _Call) -> Callable[[float], None]:
    reported = -1.0

    def report(fraction: float) -> None:
        """Report how much is done, from 0 to 1; what differs by less than a thousandth is not sent."""
        nonlocal reported
        rounded = round(min(max(0.0, fraction), 1.0), 3)
        if rounded != reported:
            reported = rounded
            call.say(progress=rounded)

    return report


def _say_result(call: _Call, result: object, name: str) -> None:
    try:
        call.say(result=result, worn=call.is_worn())
    except InvalidInput as error:
        text = f"the result of {name} cannot be stored: {error}"
        raise PhaseError(text, error_code="UNSTORABLE_RESULT") from error


def _account(error: BaseException) -> dict[str, object]:
    from holdfast.engine.classify import classify

    return classify(error).to_json()


def _write_frame(answers: BinaryIO, words: dict[str, object]) -> None:
    answers.write(frame(strict_json.dump(words)))
    answers.flush()


def _take_input() -> BinaryIO:
    """Return standard input, of which the functions and what they start see nothing."""
    requests = open(os.dup(0), "rb")  # noqa: SIM115 - the caller closes it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return requests
