"""Names that came from outside, made fit to be stored, shown and used."""

import re
import unicodedata

UNNAMED = "unnamed"

_MOST_BYTES = 200
_LONGEST_EXTENSION = 16
_SEPARATORS = re.compile(r"[/\\]")
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
# Control, format (right-to-left overrides among them) and unassigned characters, surrogates, line and paragraph breaks.
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def safe_name(name: str) -> str:
    """A file name of at most 200 bytes, without path, control and direction characters, that no system reserves.

    The extension survives where there is one. The same name always gives the same answer.
    """
    visible = "".join(char for char in _decoded(name) if unicodedata.category(char) not in _INVISIBLE)
    last = _SEPARATORS.split(visible.rstrip("/\\"))[-1]
    plain = _FORBIDDEN.sub("_", last).strip(" .")
    if not plain:
        return UNNAMED
    return _cut(f"_{plain}" if _RESERVED.fullmatch(plain) else plain)


def extension_of(name: str) -> str:
    """What follows the last dot, with it and in lower case; nothing if there is no such thing."""
    stem, dot, extension = name.rpartition(".")
    return f".{extension.lower()}" if dot and stem and len(extension) < _LONGEST_EXTENSION else ""


def _decoded(name: str) -> str:
    """Composed, with replacement characters for bytes of a file name that are no UTF-8."""
    readable = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return unicodedata.normalize("NFC", readable)


def _cut(name: str) -> str:
    if len(name.encode()) <= _MOST_BYTES:
        return name
    extension = name[len(name) - len(extension_of(name)) :]
    room = _MOST_BYTES - len(extension.encode())
    return name[: len(name) - len(extension)].encode()[:room].decode("utf-8", "ignore").rstrip(" .") + extension
