"""The isolated side of extraction: opens the untrusted file, and leaves its standard form in the scratch folder."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from holdfast.errors import CorruptInput, EmptyText, PhaseError
from holdfast.extract.cut_off import warn_if_cut_off
from holdfast.extract.headings import find_headings
from holdfast.extract.reading import Progress, Reader, Reading, Source
from holdfast.extract.routes import find_reader
from holdfast.standard import Carried

# Reading is most of the work; the rest is looking for headings.
_READ_SHARE = 0.95


def payload_of(
    carried: Carried, path: Path, *, most_characters: int, languages: Sequence[str] = (), most_scanned_pages: int = 0
) -> dict[str, Any]:
    """What `extract` is told of a file that lies in the child's folder."""
    return {
        "path": str(path),
        "folder": str(path.parent),
        "name": carried.name,
        "media_type": carried.media_type,
        "charsets": [carried.charset] if carried.charset else [],
        "most_characters": most_characters,
        "languages": list(languages),
        "most_scanned_pages": most_scanned_pages,
    }


def extract(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Read the file that the payload names and return the summary of its `Reading`.

    Raises our errors only: what a reader stumbles over is the file's fault, unless it is memory.
    """
    source = Source(
        path=Path(payload["path"]),
        name=payload["name"],
        media_type=payload["media_type"],
        folder=Path(payload["folder"]),
        charsets=tuple(payload["charsets"]),
        languages=tuple(payload["languages"]),
        most_scanned_pages=payload["most_scanned_pages"],
    )
    reader = load_reader(find_reader(source.media_type, source.name))
    reading = Reading(source.folder, most_characters=payload["most_characters"])
    try:
        _read(reader, source, reading, lambda fraction: progress(fraction * _READ_SHARE))
        _add_headings(reading)
        warn_if_cut_off(source.path, source.media_type, reading)
        return reading.finish()
    finally:
        reading.abandon()


def load_reader(name: str) -> Reader:
    """Import the reader that a route names."""
    module, _, function = name.partition(":")
    return cast("Reader", getattr(importlib.import_module(module), function))


def _read(reader: Reader, source: Source, reading: Reading, progress: Progress) -> None:
    if source.path.stat().st_size == 0:
        raise EmptyText(f"{source.name} has no content: zero bytes", error_code="ZERO_BYTES")
    try:
        reader(source, reading, progress)
    except (PhaseError, MemoryError, OSError):
        raise
    except Exception as error:
        text = f"{source.name} cannot be read as {source.media_type}: {type(error).__name__}: {error}"
        raise CorruptInput(text, error_code="READER_FAILED") from error
    if reading.is_blank and not reading.members:
        raise EmptyText(
            f"{source.name} was read as {source.media_type} but holds no text: check that it opens as you expect",
            error_code="NO_TEXT",
        )


def _add_headings(reading: Reading) -> None:
    if reading.has_headings and not reading.counts["heading"]:
        first = None
        for span in find_headings(reading.read_back()):
            reading.add(span)
            first = first or span
        if first is not None and reading.title is None and isinstance(first.value, tuple):
            reading.title = str(first.value[-1])
