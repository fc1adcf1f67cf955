"""What documents of the old Office say of themselves."""

import struct

_KIND = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
_ENCODING, _TITLE = 1, 2


def summary(title: str | None) -> dict[str, bytes]:
    """The stream with this title, in Windows' encoding as Office had it; none where there is no title."""
    if title is None:
        return {}
    text = title.encode("cp1252") + b"\0"
    encoding = struct.pack("<2I", 2, 1252)
    named = struct.pack("<2I", 30, len(text)) + text + bytes(-len(text) % 4)
    head = struct.pack("<6I", 24 + len(encoding) + len(named), 2, _ENCODING, 24, _TITLE, 24 + len(encoding))
    begin = struct.pack("<2HI16xI", 0xFFFE, 0, 0x20006, 1) + _KIND + struct.pack("<I", 48)
    return {"\x05SummaryInformation": begin + head + encoding + named}
