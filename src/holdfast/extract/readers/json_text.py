"""JSON and JSON Lines as text: a line for each value, named by its path."""

from collections.abc import Iterable, Iterator

from holdfast.errors import CorruptInput, TooLarge
from holdfast.extract.readers.decoding import decode, lines
from holdfast.extract.readers.embedded_files import EmbeddedFiles
from holdfast.extract.readers.json_tokens import Tokens
from holdfast.extract.readers.json_walk import Piece, walk_tokens, walk_value
from holdfast.extract.readers.writing import write_all
from holdfast.extract.reading import Progress, Reading, Source

_LINES_TYPES = {"application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/json-lines"}
_LINES_ENDINGS = (".jsonl", ".ndjson")
_MOST_LINE_CHARACTERS = 16 << 20
# A document of this size takes about a minute; lines are several times as fast.
_MOST_DOCUMENT_BYTES = 200_000_000


def read_json(source: Source, reading: Reading, progress: Progress) -> None:
    """Write `path: value` for each value, an empty line after each record, in memory that does not grow.

    Numbers keep their digits, a key that occurs twice is written twice, files coded in base64 are left out. Raises
    CorruptInput with line and column where it is malformed; of JSON Lines, malformed lines are counted and left out
    while others are good.
    """
    reading.extractor = "json"
    reading.has_headings = False
    windows = decode(source, reading, progress)
    files = EmbeddedFiles()
    if source.media_type in _LINES_TYPES or source.name.lower().endswith(_LINES_ENDINGS):
        write_all(_records(lines(windows, most_characters=_MOST_LINE_CHARACTERS), reading, files), reading)
    else:
        _refuse_huge(source)
        write_all(_text(walk_tokens(Tokens(windows)), reading, files), reading)
    files.report(reading)


def _refuse_huge(source: Source) -> None:
    size = source.path.stat().st_size
    if size > _MOST_DOCUMENT_BYTES:
        raise TooLarge(
            f"{source.name} is one JSON document of {size:,} bytes, and {_MOST_DOCUMENT_BYTES:,} is the limit: "
            "split it, or write one record per line (.jsonl)",
            error_code="JSON_LIMIT",
        )


def _records(written: Iterable[str], reading: Reading, files: EmbeddedFiles) -> Iterator[str]:
    """Yield the text of each line that is JSON, and warn of the others; if all are bad, raise what is wrong."""
    count = bad = 0
    first_error: CorruptInput | None = None
    first_line = 0
    for number, line in enumerate(written, start=1):
        if line.isspace():
            continue
        count += 1
        try:
            yield "".join(_text(_walk_line(line), reading, files))
        except CorruptInput as error:
            bad += 1
            first_error, first_line = first_error or error, first_line or number
    if first_error and bad == count:
        raise first_error
    if first_error:
        reading.warn(
            "LINES_SKIPPED",
            f"{bad:,} of {count:,} lines were left out; the first is line {first_line:,}: {first_error}",
        )


def _text(pieces: Iterable[Piece], reading: Reading, files: EmbeddedFiles) -> Iterator[str]:
    for path, value in pieces:
        if files.is_one(path, value):
            continue
        text = files.leave_out_of(value)
        if path == "title" and reading.title is None:
            reading.title = text
        yield f"{path}:\n{text}\n" if "\n" in text else f"{path}: {text}\n" if path else f"{text}\n"


def _walk_line(line: str) -> Iterable[Piece]:
    """The pieces of one record, by the fast way if the record is of the usual kind, else by the one that bears all."""
    try:
        return walk_value(line)
    except ValueError:
        return walk_tokens(Tokens([line]))
