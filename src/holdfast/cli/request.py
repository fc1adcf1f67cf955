"""What `holdfast ingest` is asked to take in."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.engine.attempt import Json
from holdfast.errors import InvalidInput
from holdfast.intake.found import Found
from holdfast.intake.sources.files import Files, LeftOut
from holdfast.intake.sources.links import is_link, linked
from holdfast.intake.sources.stdin import piped

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to take in, and how far to carry it."""

    sources: tuple[str, ...]
    organisation: str | None
    pipeline: str
    name: str | None
    metadata: Mapping[str, Json]
    priority: int
    watch: bool
    wait: bool

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is touched."""
        for source in self.sources:
            if is_link(source):
                linked(source)
            elif source != STDIN and not Path(source).exists():
                raise InvalidInput(f"there is no file or folder {source}: correct the path")
        if self.name is not None and STDIN not in self.sources:
            raise InvalidInput("--name is what standard input is called: add - as a source, or leave it out")
        if STDIN in self.sources and not self.name:
            raise InvalidInput("standard input has no name of its own: give it one, as in --name report.pdf")
        if self.watch and not self.folders:
            raise InvalidInput("--watch needs a folder to watch: name one")
        if self.watch and not self.wait:
            raise InvalidInput("--watch stays and --no-wait leaves: choose one")

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders among the sources."""
        return tuple(Path(source) for source in self.sources if not is_link(source) and Path(source).is_dir())

    def found(self, left_out: list[LeftOut], *, own: Sequence[Path]) -> Iterator[Found]:
        """Everything the sources hold now, in order; what of them is passed over, as our `own` folders, is noted."""
        for source in self.sources:
            if is_link(source):
                yield linked(source)
            elif source == STDIN:
                yield piped(sys.stdin.buffer, name=self.name or "")
            else:
                files = Files(Path(source), own=own)
                yield from files
                left_out.append(files.left_out)
