"""Presentations as PowerPoint wrote them from 1997 to 2003, as far as text goes, written record by record."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tests.extract.compound_files import compound_file_of
from tests.extract.old_summaries import summary

_TITLE, _BODY, _NOTES = 0, 1, 2
_FIRST_ID = 0x100


@dataclass(frozen=True, slots=True)
class Slide:
    """What a slide shows, and what its speaker has below it."""

    title: str
    text: str
    notes: str = ""


def ppt(slides: Sequence[Slide], *, title: str | None = None) -> bytes:
    """A presentation of these slides, all of them written at once."""
    noted = [number for number, slide in enumerate(slides) if slide.notes]
    objects = [
        _presentation(slides, noted),
        *(_slide(number) for number in range(len(slides))),
        *(_notes_page(number, slides[number].notes) for number in noted),
    ]
    *places, end = accumulate(map(len, objects), initial=0)
    directory = _atom(0x1772, struct.pack(f"<{1 + len(places)}I", len(places) << 20 | 1, *places))
    edit = struct.pack("<IHBB4IHH", _FIRST_ID, 0, 0, 3, 0, end, 1, len(objects), 1, 0)
    user = struct.pack("<3I2HBBH", 20, 0xE391C05F, end + len(directory), 3, 0x3F4, 3, 0, 0)
    return compound_file_of(
        {
            "PowerPoint Document": b"".join(objects) + directory + _atom(0x0FF5, edit),
            "Current User": _atom(0x0FF6, user + b"Ann" + struct.pack("<I", 8)),
            **summary(title),
        }
    )


def _presentation(slides: Sequence[Slide], noted: Sequence[int]) -> bytes:
    """The first object: it lists the others, and has the text of the slides."""
    shape = struct.pack("<6i2I2H4B", 5760, 4320, 4320, 5760, 1, 2, 0, 0, 1, 0, 0, 0, 0, 1)
    shown = [
        _listed(2 + number, number, texts=2) + _text(_TITLE, slide.title) + _text(_BODY, slide.text)
        for number, slide in enumerate(slides)
    ]
    below = [_listed(2 + len(slides) + n, number, texts=0) for n, number in enumerate(noted)]
    lists = [_container(0x0FF0, shown, instance=0)]
    lists += [_container(0x0FF0, below, instance=2)] if below else []
    return _container(0x03E8, [_atom(0x03E9, shape, version=1), *lists, _atom(0x03EA, b"")])


def _listed(place: int, number: int, *, texts: int) -> bytes:
    return _atom(0x03F3, struct.pack("<5I", place, 0, texts, _FIRST_ID + number, 0))


def _slide(number: int) -> bytes:
    """Its two shapes refer to their text in the list."""
    about = struct.pack("<I8B2IHH", 1, 0x0D, 0x0E, 0, 0, 0, 0, 0, 0, 0x8000_0000, 0, 7, 0)
    shapes = [_shape(0x0D, _atom(0x0F9E, struct.pack("<I", 0))), _shape(0x0E, _atom(0x0F9E, struct.pack("<I", 1)))]
    return _container(0x03EE, [_atom(0x03EF, about, version=2), _drawing(number, shapes), _colours()])


def _notes_page(number: int, notes: str) -> bytes:
    about = struct.pack("<IHH", _FIRST_ID + number, 7, 0)
    shapes = [_shape(0x0C, _text(_NOTES, notes))]
    return _container(0x03F0, [_atom(0x03F1, about, version=1), _drawing(number, shapes), _colours()])


def _drawing(number: int, shapes: Sequence[bytes]) -> bytes:
    group = _container(
        0xF004, [_atom(0xF009, bytes(16), version=1), _atom(0xF00A, struct.pack("<2I", 0, 5), version=2)]
    )
    count = _atom(0xF008, struct.pack("<2I", len(shapes) + 1, 0), instance=number + 1)
    return _container(0x040C, [_container(0xF002, [count, _container(0xF003, [group, *shapes])])])


def _shape(role: int, text: bytes) -> bytes:
    parts = [
        _atom(0xF00A, struct.pack("<2I", 0, 0xA00), version=2, instance=1),
        _atom(0xF010, struct.pack("<4h", 100, 100, 5000, 1000)),
        _container(0xF011, [_atom(0x0BC3, struct.pack("<IBBH", 0, role, 0, 0))]),
        _container(0xF00D, [text]),
    ]
    return _container(0xF004, parts)


def _text(role: int, text: str) -> bytes:
    """A byte for a letter where Western Europe's letters are enough, or else two."""
    narrow = max(text) < "\u0100"
    written = _atom(0x0FA8, text.encode("latin-1")) if narrow else _atom(0x0FA0, text.encode("utf-16-le"))
    return _atom(0x0F9F, struct.pack("<I", role)) + written


def _colours() -> bytes:
    return _atom(0x07F0, bytes(32), instance=1)


def _atom(kind: int, body: bytes, *, version: int = 0, instance: int = 0) -> bytes:
    return struct.pack("<2HI", instance << 4 | version, kind, len(body)) + body


def _container(kind: int, parts: Iterable[bytes], *, instance: int = 0) -> bytes:
    return _atom(kind, b"".join(parts), version=0xF, instance=instance)
