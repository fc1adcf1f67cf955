"""Members of a container on their way to becoming documents: each a numbered file in the scratch folder."""

from collections.abc import Iterator

from holdfast.archives.names import Names, is_printable
from holdfast.archives.unpacking import Unpacking
from holdfast.extract.reading import Member, Reading, Source


class MemberFiles:
    """Writes members to numbered files, never under a name of theirs."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self._reading = reading
        self._folder = source.folder / "members"
        self._folder.mkdir(exist_ok=True)
        self._names = Names()
        self._sizes: list[int] = []

    def take(self, name: str, pieces: Iterator[bytes]) -> None:
        """Write one member."""
        path = self._folder / f"{len(self._sizes):06}"
        with path.open("wb") as file:
            self._sizes.append(sum(map(file.write, pieces)))
        shown = self._names.give(name)
        if not is_printable(name):
            self._reading.warn("NAME_CHANGED", f"the name of a member cannot be shown as it is: it became {shown!r}")
        self._reading.members.append(Member(path, shown))

    def report(self, unpacking: Unpacking) -> None:
        """Warn of what was left out."""
        for omission in unpacking.omissions():
            self._reading.warn("MEMBERS_SKIPPED", omission)

    def write_list(self, heading: str) -> None:
        """Write the names of the members and their sizes, a line for each."""
        self._reading.write(f"{heading}\n\n")
        for member, size in zip(self._reading.members, self._sizes, strict=True):
            self._reading.write(f"- {member.name} ({size:,} bytes)\n")
