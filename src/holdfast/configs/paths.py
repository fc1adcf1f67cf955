"""Paths of files in an archive. They are data: settings are found by them, and two runs are compared by them."""

from pathlib import PurePosixPath

from holdfast.archives.names import written_out
from holdfast.errors import TooLarge

# Together with the name of a stanza as long as an index can hold, and longer than honest paths are.
MOST_PATH_BYTES = 1_000
MOST_FILE_NAME_BYTES = 255

_SHOWN_CHARACTERS = 100


class Paths:
    """Gives every file the path that it has in its archive, whatever order they come in.

    Only one that is there twice, to the letter, gets a number. What cannot be shown is written as its code.
    """

    def __init__(self) -> None:
        # For each path taken, the last number given to another that wanted it: looking for a free one stays cheap.
        self._numbers: dict[str, int] = {}

    def give(self, name: str) -> str:
        """The path of the member that is named so. Raises TooLarge if it is too long to be kept."""
        wanted = given = written_out(name.removeprefix("./"))
        path = PurePosixPath(wanted)
        _check(path)
        while given in self._numbers:
            self._numbers[wanted] += 1
            given = str(path.with_name(f"{path.stem} ({self._numbers[wanted]}){path.suffix}"))
        self._numbers[given] = 1
        return given


def _check(path: PurePosixPath) -> None:
    for what, text, most in (("path", str(path), MOST_PATH_BYTES), ("name", path.name, MOST_FILE_NAME_BYTES)):
        if len(text.encode()) > most:
            raise TooLarge(
                f"the file {text[:_SHOWN_CHARACTERS]!r}… has a {what} of more than {most:,} bytes, which is the limit: "
                f"shorten it, or pack the files from further inside",
                error_code="PATH_TOO_LONG",
            )
