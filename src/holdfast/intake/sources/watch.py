"""Watches folders for files that are new or changed."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from holdfast.errors import NotFound
from holdfast.intake.found import Found
from holdfast.intake.sources.files import Files

Stamp: TypeAlias = tuple[int, int]
"""When a file was changed last, in nanoseconds, and its size."""


class Quiet:
    """Says which files changed and then stayed as they are for a while: one still being written must not be read."""

    def __init__(self, quiet_seconds: float) -> None:
        self._quiet_seconds = quiet_seconds
        self._reported: dict[Path, Stamp] = {}
        self._since: dict[Path, tuple[Stamp, float]] = {}

    def settled(self, seen: Mapping[Path, Stamp], *, at_seconds: float) -> list[Path]:
        """Those that are as they were `quiet_seconds` ago and were not reported like that, each once."""
        settled = []
        for path, stamp in seen.items():
            if self._reported.get(path) == stamp:
                continue
            first_stamp, since = self._since.get(path, (None, at_seconds))
            if first_stamp != stamp:
                since = at_seconds
            self._since[path] = (stamp, since)
            if at_seconds - since >= self._quiet_seconds:
                self._reported[path] = stamp
                settled.append(path)
        self._forget(seen)
        return settled

    def _forget(self, seen: Mapping[Path, Stamp]) -> None:
        self._reported = {path: stamp for path, stamp in self._reported.items() if path in seen}
        self._since = {path: kept for path, kept in self._since.items() if self._reported.get(path) != seen.get(path)}


async def changes(
    paths: Sequence[Path], *, own: Sequence[Path] = (), every_seconds: float = 1.0, quiet_seconds: float = 1.0
) -> AsyncIterator[list[Found]]:
    """Yield what is there, then whatever appears or changes, until cancelled; each time all that settled together.

    By looking again and again, which works on every file system and misses nothing that stays. A file that goes is
    no change: its document remains. A folder that is away, as network drives are now and then, is looked for again,
    and what it holds when it is back is yielded again.
    """
    quiet = Quiet(quiet_seconds)
    while True:
        found = await asyncio.to_thread(_look, paths, own)
        stamps = {path: stamp for path, (_, stamp) in found.items()}
        settled = quiet.settled(stamps, at_seconds=time.monotonic())
        if settled:
            yield [found[path][0] for path in settled]
        await asyncio.sleep(every_seconds)


def _look(paths: Sequence[Path], own: Sequence[Path]) -> dict[Path, tuple[Found, Stamp]]:
    found: dict[Path, tuple[Found, Stamp]] = {}
    for path in paths:
        for item in _files(path, own):
            if isinstance(item.content, Path):
                try:
                    status = item.content.stat()
                except OSError:
                    continue
                found[item.content] = (item, (status.st_mtime_ns, status.st_size))
    return found


def _files(path: Path, own: Sequence[Path]) -> Iterable[Found]:
    try:
        return Files(path, own=own)
    except NotFound:
        return ()
