"""Members of a container on their way to becoming documents: limits, names and files, whatever the container is."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from holdfast.errors import TooLarge, UnsafeArchive
from holdfast.extract.reading import Member, Reading, Source

_MEGABYTE = 1_000_000
# Controls, and the marks that reverse or hide what is written.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")
_LITTER_FOLDER = "__MACOSX/"
_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
_MOST_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much may come out of one container. The ratio is only looked at once more than `ratio_from_bytes` came."""

    members: int = 10_000
    member_bytes: int = 1_000 * _MEGABYTE
    total_bytes: int = 2_000 * _MEGABYTE
    ratio: int = 200
    ratio_from_bytes: int = 10 * _MEGABYTE
    decompressor_bytes: int = 128 << 20


class Unpacking:
    """Writes members to numbered files in the scratch folder, never under a name of theirs, within the limits."""

    def __init__(self, source: Source, reading: Reading, limits: ArchiveLimits) -> None:
        self._source = source
        self._reading = reading
        self._limits = limits
        self._folder = source.folder / "members"
        self._folder.mkdir(exist_ok=True)
        self._packed_bytes = source.path.stat().st_size
        self._seen = 0
        # For each name taken, the last number given to another that wanted it: looking for a free one stays cheap.
        self._numbers: dict[str, int] = {}
        self._sizes: list[int] = []
        self._total = 0
        self._skipped: Counter[str] = Counter()
        self._skipped_first: dict[str, str] = {}

    def count(self) -> None:
        """Account for one more entry, of whatever kind. Raises UnsafeArchive beyond the limit."""
        self._seen += 1
        if self._seen > self._limits.members:
            raise UnsafeArchive(
                f"{self._source.name} holds more than {self._limits.members:,} members, which is the limit: split it",
                error_code="MEMBER_LIMIT",
            )

    def check_path(self, name: str) -> None:
        """Raise UnsafeArchive if the name would lead out of the folder it is unpacked in."""
        path = name.replace("\\", "/")
        if path.startswith("/") or _DRIVE.match(path) or ".." in path.split("/"):
            raise UnsafeArchive(
                f"{self._source.name} has a member named {printable(name)!r}, which leads out of the archive: "
                "pack it again with relative names",
                error_code="UNSAFE_NAME",
            )

    def skip(self, reason: str, name: str) -> None:
        """Leave a member out, to be told in one warning for each reason."""
        self._skipped[reason] += 1
        self._skipped_first.setdefault(reason, printable(name))

    def store(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write one member, looking at the limits as its bytes come. What is empty or litter of a system is skipped."""
        if name.startswith(_LITTER_FOLDER) or PurePosixPath(name).name in _LITTER:
            self.skip("left by an operating system", name)
            return
        path = self._folder / f"{len(self._sizes):06}"
        size = self._write(path, name, filter(None, chunks))
        if size == 0:
            self.skip("empty", name)
            return
        self._sizes.append(size)
        self._total += size
        self._reading.members.append(Member(path, self._free_name(name)))

    def check_total(self, total: int) -> None:
        """Raise if `total` bytes out of this archive are too many, or out of proportion."""
        if total > self._limits.total_bytes:
            raise TooLarge(
                f"{self._source.name} unfolds to more than {self._limits.total_bytes:,} bytes, which is the limit: "
                "split it",
                error_code="ARCHIVE_LIMIT",
            )
        if total > max(self._limits.ratio_from_bytes, self._limits.ratio * self._packed_bytes):
            raise UnsafeArchive(
                f"{self._source.name} of {self._packed_bytes:,} bytes unfolds to more than {total:,}, over "
                f"{self._limits.ratio} times its size: it is made to exhaust its reader",
                error_code="ARCHIVE_BOMB",
            )

    def report(self) -> None:
        """Warn of what was left out."""
        for reason, count in self._skipped.items():
            first = self._skipped_first[reason]
            self._reading.warn("MEMBERS_SKIPPED", f"{count:,} members left out ({reason}), the first is {first!r}")

    def write_list(self, heading: str) -> None:
        """Write the names of the members and their sizes, a line for each."""
        self._reading.write(f"{heading}\n\n")
        for member, size in zip(self._reading.members, self._sizes, strict=True):
            self._reading.write(f"- {member.name} ({size:,} bytes)\n")

    def _write(self, path: Path, name: str, chunks: Iterator[bytes]) -> int:
        first = next(chunks, b"")
        # Ten thousand empty members shall not cost ten thousand files.
        if not first:
            return 0
        size = 0
        with path.open("wb") as file:
            for chunk in chain([first], chunks):
                size += len(chunk)
                self._check_size(size, name)
                file.write(chunk)
        return size

    def _check_size(self, size: int, name: str) -> None:
        if size > self._limits.member_bytes:
            raise TooLarge(
                f"{printable(name)} in {self._source.name} has more than {self._limits.member_bytes:,} bytes, "
                "which is the limit: submit it on its own",
                error_code="MEMBER_TOO_LARGE",
            )
        self.check_total(self._total + size)

    def _free_name(self, name: str) -> str:
        """The name as it can be shown, different from all before, also where case does not count."""
        shown = printable(name)
        if shown != name.replace("\\", "/").removeprefix("./"):
            self._reading.warn("NAME_CHANGED", f"the name of a member cannot be shown as it is: it became {shown!r}")
        path, key = PurePosixPath(shown), _folded(shown)
        while _folded(shown) in self._numbers:
            self._numbers[key] += 1
            shown = str(path.with_name(f"{path.stem} ({self._numbers[key]}){path.suffix}"))
        self._numbers[_folded(shown)] = 1
        return shown


def _folded(name: str) -> str:
    """What names have in common that some file systems do not tell apart."""
    return unicodedata.normalize("NFC", name).casefold()


def printable(name: str) -> str:
    """The name without what would deceive or break a line, and not longer than a line."""
    shown = _UNPRINTABLE.sub("_", name.replace("\\", "/")).removeprefix("./")
    return (shown[-_MOST_NAME_CHARACTERS:] or "_").strip("/") or "_"
