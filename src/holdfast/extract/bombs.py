"""Refuses packed documents of which a part unfolds far beyond its size, before a reader believes in it."""

from collections.abc import Iterable
from contextlib import suppress

from holdfast.archives.zip_directory import ZipEntry, read_entries
from holdfast.errors import CorruptInput, UnsafeArchive
from holdfast.extract.reading import Source

# The XML around tables repeats itself more than a hundredfold.
_MOST_RATIO, _RATIO_FROM_BYTES = 500, 10 << 20
# Drawings and plain areas pack as well as anything can; no reader here opens them.
_PICTURES = (".emf", ".wmf", ".bmp", ".dib", ".tif", ".tiff", ".png", ".jpg", ".jpeg", ".gif", ".svm", ".wav")


def refuse_bomb(source: Source) -> None:
    """Raise UnsafeArchive for a packed document with such a part, whatever it is but a picture."""
    with source.path.open("rb") as file:
        if file.read(2) != b"PK":
            return
        # What is damaged is for its reader to say: some of it can be read.
        with suppress(CorruptInput):
            entries = read_entries(file, source.name)
            refuse_bombs((entry for entry in entries if not entry.name.lower().endswith(_PICTURES)), source.name)


def refuse_bombs(parts: Iterable[ZipEntry], name: str) -> None:
    """Raise UnsafeArchive if one of these parts is a bomb."""
    for part in parts:
        if part.unpacked_bytes > max(_RATIO_FROM_BYTES, _MOST_RATIO * part.packed_bytes):
            raise UnsafeArchive(
                f"the file unfolds far beyond its size, as a bomb does: {part.packed_bytes:,} bytes of "
                f"{name} become {part.unpacked_bytes:,}",
                error_code="BOMB",
            )
