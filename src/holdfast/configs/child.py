"""The isolated side: opens the untrusted archive, and leaves what its .conf files say in the scratch folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from holdfast.archives.compression import Progress, read_pieces
from holdfast.archives.opening import is_archive, unpack
from holdfast.archives.unpacking import ArchiveLimits, Unpacking
from holdfast.configs.conf import BadLine, Setting, Stanza, parse
from holdfast.configs.lines import Lines, NotText
from holdfast.configs.paths import Paths
from holdfast.configs.records import RECORDS_FILE, record
from holdfast.errors import CorruptInput, EmptyText, PhaseError, UnsupportedFormat

SUFFIX = ".conf"
# Thousands of files that resemble each other pack to a thousandth. They are streamed: the total is what protects.
LIMITS = ArchiveLimits(ratio=None, members=50_000, member_bytes=100_000_000, total_bytes=1_000_000_000)
# Of a file that is no .conf file at all, every line is wrong: the first ones tell enough.
MOST_ERRORS_KEPT = 1_000
_NOT_TEXT = "is not text: it has zero bytes throughout, and no byte order mark says that it is UTF-16 or UTF-32"


def read_configs(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Read the archive, or the single file, that the payload names; the records of it go to the folder.

    Returns the counts and what was left out. Raises our errors only: what it stumbles over is the archive's fault,
    unless it is memory or the disk.
    """
    path, name = Path(payload["path"]), str(payload["name"])
    with (Path(payload["folder"]) / RECORDS_FILE).open("wb") as file:
        files = _ConfFiles(file)
        try:
            omissions = _read(path, name, files, progress)
        except (PhaseError, MemoryError, OSError):
            raise
        except Exception as error:
            text = f"{name} cannot be read: {type(error).__name__}: {error}"
            raise CorruptInput(text, error_code="READER_FAILED") from error
    files.refuse_emptiness(name)
    return {**files.counts, "omissions": omissions}


def _read(path: Path, name: str, files: "_ConfFiles", progress: Progress) -> list[str]:
    if path.stat().st_size == 0:
        raise EmptyText(f"{name} has no content: zero bytes", error_code="ZERO_BYTES")
    if is_archive(path):
        unpacking = Unpacking(path, name, limits=LIMITS, take=files.take)
        unpack(unpacking, progress)
        _refuse_missing_end(unpacking)
        return list(unpacking.omissions())
    if not name.lower().endswith(SUFFIX):
        raise UnsupportedFormat(
            f"{name} is neither an archive (zip, tar, tar.gz, tar.bz2, tar.xz) nor a {SUFFIX} file: pack the files",
            error_code="NOT_A_CONFIG",
        )
    files.take(PurePosixPath(name).name, read_pieces(path, progress))
    return []


def _refuse_missing_end(unpacking: Unpacking) -> None:
    """Raise if an archive was cut off between two members: a comparison would take the rest for removed."""
    if unpacking.is_cut_off:
        raise CorruptInput(
            f"{unpacking.name} is damaged: it has no end, so it was cut off: get it again, or pack it again",
            error_code="ARCHIVE_DAMAGED",
        )


class _ConfFiles:
    """Takes the members of an archive and writes records of those that are .conf files."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._paths = Paths()
        self._others = 0
        self._unreadable: str | None = None
        self.counts = {"files": 0, "stanzas": 0, "settings": 0, "parse_errors": 0}

    def take(self, name: str, pieces: Iterator[bytes]) -> None:
        """Read one member, if it is a .conf file."""
        if not name.lower().endswith(SUFFIX):
            self._others += 1
            return
        path = self._paths.give(name)
        try:
            lines = Lines(pieces)
        except NotText:
            self._unreadable = self._unreadable or path
            number = self._begin(path, "unknown")
            self._write("errors", number, 1, _NOT_TEXT, "")
            self.counts["parse_errors"] += 1
            return
        self._parse(self._begin(path, lines.encoding), lines)

    def refuse_emptiness(self, name: str) -> None:
        """Raise if nothing could be read."""
        if not self.counts["files"]:
            raise EmptyText(
                f"{name} holds no {SUFFIX} file with content (other files: {self._others:,}; archives inside it are "
                f"not opened): pack the {SUFFIX} files themselves",
                error_code="NO_CONF_FILES",
            )
        if self._unreadable and not self.counts["stanzas"]:
            raise CorruptInput(f"{self._unreadable} in {name} {_NOT_TEXT}", error_code="NOT_TEXT")

    def _begin(self, path: str, encoding: str) -> int:
        self.counts["files"] += 1
        number = self.counts["files"]
        self._write("files", number, path, PurePosixPath(path).name, encoding)
        return number

    def _parse(self, number: int, lines: Lines) -> None:
        errors = 0
        for item in parse(lines):
            match item:
                case Setting():
                    self.counts["settings"] += 1
                    self._write("settings", number, item.stanza, item.line, item.key, item.value)
                case Stanza():
                    self.counts["stanzas"] += 1
                    self._write("stanzas", number, item.number, item.name, item.line)
                case BadLine():
                    errors += 1
                    if errors <= MOST_ERRORS_KEPT:
                        self._write("errors", number, item.line, item.message, item.text)
        self.counts["parse_errors"] += errors

    def _write(self, kind: str, *values: int | str) -> None:
        self._file.write(record(kind, *values))
