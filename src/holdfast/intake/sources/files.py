"""Files and folders of this machine."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import NotFound
from holdfast.intake.found import Found
from holdfast.intake.names import safe_name

PLATFORM = "file"


@dataclass(slots=True)
class LeftOut:
    """What of a folder was not taken: how many, by reason, and the paths that could not be read."""

    hidden: int = 0
    links: int = 0
    special: int = 0
    own: int = 0
    unreadable: list[str] = field(default_factory=list)


class Files:
    """A file, or all files of a folder and the folders in it, in the same order each time.

    Hidden files, links, whatever is neither file nor folder, and the folders in `own`, where Holdfast has its database
    and what it stores, are left out of a folder; one that is named itself is taken. A link is followed only as the path
    that was named, so nothing outside that folder is ever read. What cannot be read is noted and passed over. The
    location is the file's own, however it was reached.
    """

    def __init__(self, path: Path, *, own: Sequence[Path] = ()) -> None:
        self._own = frozenset(folder.resolve() for folder in own)
        try:
            self._root = path.resolve(strict=True)
            self._is_folder = self._root.is_dir()
        except (OSError, RuntimeError) as error:
            raise NotFound(f"cannot take in {safe_path(path)}: {error}") from error
        if not self._is_folder and not self._root.is_file():
            raise NotFound(f"cannot take in {safe_path(path)}: it is neither a file nor a folder")
        self.left_out = LeftOut()

    def __iter__(self) -> Iterator[Found]:
        self.left_out = LeftOut()
        return map(found_file, self._walk()) if self._is_folder else iter([found_file(self._root)])

    def _walk(self) -> Iterator[Path]:
        waiting = [(self._root, True)]
        while waiting:
            path, is_folder = waiting.pop()
            if is_folder:
                # In reverse, because the last to wait is the next to be looked at.
                waiting.extend(reversed(self._entries(path)))
            else:
                yield path

    def _entries(self, folder: Path) -> list[tuple[Path, bool]]:
        """What to take of a folder, and whether each is a folder itself."""
        try:
            if folder.resolve(strict=True) != folder:
                # It was a folder when its parent was read, and has become a link.
                self.left_out.links += 1
                return []
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            self.left_out.unreadable.append(f"{safe_path(folder)}: {error.strerror}")
            return []
        taken = [entry for entry in ordered if self._is_taken(entry)]
        return [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in taken]

    def _is_taken(self, entry: "os.DirEntry[str]") -> bool:
        if entry.name.startswith("."):
            self.left_out.hidden += 1
            return False
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError as error:
            self.left_out.unreadable.append(f"{safe_path(Path(entry.path))}: {error.strerror}")
            return False
        if stat.S_ISLNK(mode):
            # One that leads to a file of this folder leads to what is found under its own name anyway.
            self.left_out.links += not self._leads_inside(Path(entry.path))
            return False
        if Path(entry.path) in self._own:
            self.left_out.own += 1
            return False
        taken = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        self.left_out.special += not taken
        return taken

    def _leads_inside(self, link: Path) -> bool:
        try:
            return link.resolve(strict=True).is_relative_to(self._root)
        except (OSError, RuntimeError):
            return False


def found_file(path: Path) -> Found:
    """The document that a file is; the path must be absolute and free of links."""
    # As a URI because a path may hold bytes that no text column can.
    return Found(
        name=safe_name(os.fsencode(path.name).decode("utf-8", "replace")),
        platform=PLATFORM,
        location=path.as_uri(),
        content=path,
    )


def safe_path(path: Path) -> str:
    """A path as it can be shown and stored."""
    return os.fsencode(path).decode("utf-8", "replace")
