"""What the isolated side hands over: a line of JSON for each row, in the order in which rows are to be stored."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from holdfast.engine import strict_json
from holdfast.errors import CorruptInput, InvalidInput

RECORDS_FILE = "records.jsonl"
BATCH_ROWS = 2_000
BATCH_BYTES = 4_000_000
# A value of a million characters, each of them escaped or of several bytes, and what stands around it.
_MOST_RECORD_BYTES = 8_000_000

_FIELDS: dict[str, tuple[tuple[str, type], ...]] = {
    "files": (("number", int), ("source_path", str), ("file", str), ("encoding", str)),
    "stanzas": (("file_number", int), ("number", int), ("name", str), ("line", int)),
    "settings": (("file_number", int), ("stanza_number", int), ("line", int), ("key", str), ("value", str)),
    "errors": (("file_number", int), ("line", int), ("message", str), ("text", str)),
}


@dataclass(slots=True)
class Batch:
    """Rows to be stored together; `size` is their bytes."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in _FIELDS})
    count: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it should be stored before more is added."""
        return self.count >= BATCH_ROWS or self.size >= BATCH_BYTES

    def add(self, record: bytes) -> None:
        """Take one record in; CorruptInput if it is none: a child may have been taken over."""
        kind, row = _read(record)
        self.rows[kind].append(row)
        self.count += 1
        self.size += len(record)


def record(kind: str, *values: int | str) -> bytes:
    """A record as the isolated side writes it."""
    return strict_json.dump([kind, *values]) + b"\n"


def batches(file: BinaryIO) -> Iterator[Batch]:
    """What the records say, in batches of limited size."""
    batch = Batch()
    for line in _lines(file):
        batch.add(line)
        if batch.is_full:
            yield batch
            batch = Batch()
    if batch.count:
        yield batch


def _lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.readline(_MOST_RECORD_BYTES), b"")


def _read(record: bytes) -> tuple[str, dict[str, Any]]:
    try:
        value = strict_json.load(record)
    except InvalidInput as error:
        raise _nonsense() from error
    match value:
        case [str(kind), *values] if kind in _FIELDS and len(values) == len(_FIELDS[kind]):
            named = list(zip(_FIELDS[kind], values, strict=True))
            if all(type(item) is expected for (_, expected), item in named):
                return kind, {name: item for (name, _), item in named}
    raise _nonsense()


def _nonsense() -> CorruptInput:
    return CorruptInput("the reader broke and handed over nonsense", error_code="NONSENSE_ANSWER")
