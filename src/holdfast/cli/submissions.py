"""Reads submissions as programs write them: JSON lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from typing import cast

from holdfast.engine.attempt import Json
from holdfast.engine.queue import Submission
from holdfast.engine.strict_json import load
from holdfast.errors import InvalidInput

LINES_PER_BATCH = 1000
FIELDS = tuple(field.name for field in fields(Submission))


def json_of(text: str) -> Json:
    """A JSON value given on the command line."""
    return cast("Json", load(text.encode(errors="surrogateescape")))


def read_batches(lines: Iterable[bytes], organisation: str | None) -> Iterator[list[Submission]]:
    """Submissions from JSON lines, in batches; blank lines are passed over. Raises InvalidInput naming the line."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    submissions = (_submission(number, line, organisation) for number, line in numbered)
    while batch := list(islice(submissions, LINES_PER_BATCH)):
        yield batch


def _submission(number: int, line: bytes, organisation: str | None) -> Submission:
    try:
        item = load(line)
    except InvalidInput as error:
        raise InvalidInput(f"line {number}: {error}") from error
    if not isinstance(item, dict):
        raise InvalidInput(f"line {number} is no JSON object: write one object per line")
    strangers = sorted(set(item) - set(FIELDS))
    if strangers:
        raise InvalidInput(f'line {number} has the unknown field "{strangers[0]}": use {_listed(FIELDS)}')
    item.setdefault("organisation", organisation)
    if not item["organisation"]:
        raise InvalidInput(f'line {number} names no organisation: add "organisation", or --org for all lines')
    return Submission(**item)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
