"""Names of members, shown to people: without what deceives, and each once."""

import re
import unicodedata
from pathlib import PurePosixPath

# Controls, and the marks that reverse or hide what is written.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MOST_NAME_CHARACTERS = 200


class Names:
    """Gives every member a name that no other has, also where case does not count."""

    def __init__(self) -> None:
        # For each name taken, the last number given to another that wanted it: looking for a free one stays cheap.
        self._numbers: dict[str, int] = {}

    def give(self, name: str) -> str:
        """The name as it can be shown, with a number if it was given before."""
        shown = printable(name)
        path, key = PurePosixPath(shown), _folded(shown)
        while _folded(shown) in self._numbers:
            self._numbers[key] += 1
            shown = str(path.with_name(f"{path.stem} ({self._numbers[key]}){path.suffix}"))
        self._numbers[_folded(shown)] = 1
        return shown


def printable(name: str) -> str:
    """The name without what would deceive or break a line, and not longer than a line."""
    shown = _UNPRINTABLE.sub("_", name.replace("\\", "/")).removeprefix("./")
    return (shown[-_MOST_NAME_CHARACTERS:] or "_").strip("/") or "_"


def written_out(name: str) -> str:
    """The name with what would deceive or break a line written as its code: names that differ still do."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", name)


def is_printable(name: str) -> bool:
    """Whether the name can be shown as it is."""
    return printable(name) == name.replace("\\", "/").removeprefix("./")


def _folded(name: str) -> str:
    """What names have in common that some file systems do not tell apart."""
    return unicodedata.normalize("NFC", name).casefold()
