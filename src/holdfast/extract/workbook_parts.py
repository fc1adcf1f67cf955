"""The parts of a packed workbook, read with suspicion: its reader believes what the file says of itself."""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias
from xml.parsers import expat

from holdfast.archives.zip_archive import read_member
from holdfast.archives.zip_directory import ZipEntry, locate_data, read_entries
from holdfast.errors import CorruptInput, TooLarge, UnsafeArchive
from holdfast.extract.bombs import refuse_bombs
from holdfast.extract.encryption import needs_password
from holdfast.extract.safe_xml import new_parser

_MOST_BYTES = 800 << 20
_MOST_PROPERTIES_BYTES = 1 << 20

# Of an OpenDocument.
ALL_SHEETS = "content.xml"
_SHEET = re.compile(r"(?:.*/)?worksheets/[^/]+\.(?:xml|bin)", re.IGNORECASE)
# What its reader opens besides the sheets.
_FRAME = re.compile(
    r"(?:.*/)?(?:workbook|sharedStrings|styles)\.(?:xml|bin)|(?:.*/)?_rels/[^/]*\.rels|\[Content_Types\]\.xml"
    r"|mimetype|META-INF/manifest\.xml",
    re.IGNORECASE,
)
_PROPERTIES = ("docProps/core.xml", "meta.xml")
_TITLE = "http://purl.org/dc/elements/1.1/ title"

# Makes another content of a part's, which it may read more than once.
Mend: TypeAlias = Callable[[Callable[[], Iterable[bytes]]], Iterable[bytes]]


class WorkbookParts:
    """The parts that matter, by name. Others, such as pictures, are never opened."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        entries = [entry for entry in read_entries(file, name) if not entry.is_folder]
        starts = locate_data(file, entries, name)
        self._file = file
        self._parts = {_plain(entry): (entry, start) for entry, start in zip(entries, starts, strict=True)}
        # What holds the cells comes last: the rest says whether it can be read.
        self.names = [*filter(_FRAME.fullmatch, self._parts), *filter(_SHEET.fullmatch, self._parts)]
        self.names += [ALL_SHEETS] if ALL_SHEETS in self._parts else []
        opened = frozenset(self.names)
        self._check([entry for entry in entries if _plain(entry) in opened], name)

    @property
    def kind(self) -> str:
        """The ending by which its reader tells what it is."""
        if ALL_SHEETS in self.names and "mimetype" in self.names:
            return "ods"
        return "xlsb" if any(part.lower().endswith("workbook.bin") for part in self.names) else "xlsx"

    def read(self, part: str) -> Iterator[bytes]:
        """Yield the content. Raises CorruptInput if it is damaged, UnsafeArchive if there is more than was said."""
        return read_member(self._file, *self._parts[part])

    def find_title(self) -> str | None:
        """The title in the document's properties, if there are any that can be read."""
        for part in _PROPERTIES:
            if part in self._parts:
                with suppress(CorruptInput, UnsafeArchive, expat.ExpatError):
                    return _title(self.read(part))
        return None

    def write(self, target: Path, mends: Mapping[str, Mend | None]) -> None:
        """Write a workbook of the same parts, some of them mended; None leaves one out."""
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as workbook:
            for part in self.names:
                mend = mends.get(part, _as_it_is)
                if mend is not None:
                    with workbook.open(part, "w") as written:
                        for piece in mend(partial(self.read, part)):
                            written.write(piece)

    def _check(self, entries: list[ZipEntry], name: str) -> None:
        if any(entry.is_encrypted for entry in entries):
            raise needs_password(name)
        refuse_bombs(entries, name)
        total = sum(entry.unpacked_bytes for entry in entries)
        if total > _MOST_BYTES:
            raise TooLarge(
                f"{name} unfolds to {total:,} bytes, {_MOST_BYTES:,} are allowed: split the workbook",
                error_code="CONTENT_LIMIT",
            )


def is_sheet(part: str) -> bool:
    """Whether a part is one sheet among others."""
    return _SHEET.fullmatch(part) is not None


def _as_it_is(read: Callable[[], Iterable[bytes]]) -> Iterable[bytes]:
    return read()


def _plain(entry: ZipEntry) -> str:
    return entry.name.replace("\\", "/")


def _title(pieces: Iterator[bytes]) -> str | None:
    words: list[str] = []
    path: list[str] = []
    parser = new_parser(namespace_separator=" ")
    parser.StartElementHandler = lambda element, _: path.append(element)
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = lambda text: words.append(text) if path[-1] == _TITLE else None
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > _MOST_PROPERTIES_BYTES:
            break
        parser.Parse(piece)
    return " ".join("".join(words).split()) or None
