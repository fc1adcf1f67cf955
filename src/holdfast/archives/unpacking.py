"""Members on their way out of a container, within limits, whatever the container is and whoever takes them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from holdfast.archives.names import printable
from holdfast.errors import TooLarge, UnsafeArchive

Take: TypeAlias = Callable[[str, Iterator[bytes]], None]

_MEGABYTE = 1_000_000
_DRIVE = re.compile(r"[A-Za-z]:")
_LITTER_FOLDER = "__MACOSX/"
_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much may come out of one container.

    The ratio is only looked at once more than `ratio_from_bytes` came; where it is None, the other limits protect.
    """

    members: int = 10_000
    member_bytes: int = 1_000 * _MEGABYTE
    total_bytes: int = 2_000 * _MEGABYTE
    ratio: int | None = 200
    ratio_from_bytes: int = 10 * _MEGABYTE
    decompressor_bytes: int = 128 << 20


class Unpacking:
    """Hands each member to `take`, by the name it has and in pieces, as long as the limits are kept.

    Nothing is written here, and never under a name of the container's: what becomes of a member is the taker's to say.
    """

    def __init__(self, archive: Path, name: str, *, limits: ArchiveLimits, take: Take) -> None:
        self.archive = archive
        self.name = name
        self.limits = limits
        self._take = take
        self._packed_bytes = archive.stat().st_size
        self._seen = 0
        self._total = 0
        self._skipped: Counter[str] = Counter()
        self._skipped_first: dict[str, str] = {}
        self.is_cut_off = False

    def count(self) -> None:
        """Account for one more entry, of whatever kind. Raises TooLarge beyond the limit."""
        self._seen += 1
        if self._seen > self.limits.members:
            raise TooLarge(
                f"{self.name} holds more than {self.limits.members:,} members, which is the limit: split it",
                error_code="MEMBER_LIMIT",
            )

    def check_path(self, name: str) -> None:
        """Raise UnsafeArchive if the name would lead out of the folder it is unpacked in."""
        path = name.replace("\\", "/")
        if path.startswith("/") or _DRIVE.match(path) or ".." in path.split("/"):
            raise UnsafeArchive(
                f"{self.name} has a member named {printable(name)!r}, which leads out of the archive: "
                "pack it again with relative names",
                error_code="UNSAFE_NAME",
            )

    def skip(self, reason: str, name: str) -> None:
        """Leave a member out, to be told in one line for each reason."""
        self._skipped[reason] += 1
        self._skipped_first.setdefault(reason, printable(name))

    def miss_end(self) -> None:
        """Note that the archive ends without the mark it should end with; what that means, the caller says."""
        self.is_cut_off = True

    def store(self, name: str, chunks: Iterable[bytes]) -> None:
        """Hand one member on, looking at the limits as its bytes come. What is empty or litter is skipped."""
        if name.startswith(_LITTER_FOLDER) or PurePosixPath(name).name in _LITTER:
            self.skip("left by an operating system", name)
            return
        pieces = filter(None, chunks)
        first = next(pieces, b"")
        if not first:
            self.skip("empty", name)
            return
        self._take(name, self._within_limits(name, chain([first], pieces)))

    def check_total(self, total: int) -> None:
        """Raise if `total` bytes out of this archive are too many, or out of proportion."""
        if total > self.limits.total_bytes:
            raise TooLarge(
                f"{self.name} unfolds to more than {self.limits.total_bytes:,} bytes, which is the limit: split it",
                error_code="ARCHIVE_LIMIT",
            )
        ratio = self.limits.ratio
        if ratio and total > max(self.limits.ratio_from_bytes, ratio * self._packed_bytes):
            raise UnsafeArchive(
                f"{self.name} of {self._packed_bytes:,} bytes unfolds to more than {total:,}, over {ratio} times its "
                "size, as if made to exhaust its reader: if it is honest, pack it with gzip, or split it",
                error_code="ARCHIVE_BOMB",
            )

    def omissions(self) -> Iterator[str]:
        """What was left out or may be missing, a line for each reason."""
        if self.is_cut_off:
            yield f"{self.name} has no end: it was probably cut off, get it again"
        for reason, count in self._skipped.items():
            first = self._skipped_first[reason]
            yield f"{count:,} members left out ({reason}), the first is {first!r}"

    def _within_limits(self, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        size = 0
        for piece in pieces:
            size += len(piece)
            self._total += len(piece)
            if size > self.limits.member_bytes:
                raise TooLarge(
                    f"{printable(name)} in {self.name} has more than {self.limits.member_bytes:,} bytes, "
                    "which is the limit: submit it on its own",
                    error_code="MEMBER_TOO_LARGE",
                )
            self.check_total(self._total)
            yield piece
