"""Finds out which encoding a file of text has, from its bytes and from what is declared about them."""

import codecs
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from holdfast.extract.readers.charsets import codec_of

_HEAD_BYTES = 64 << 10
_SAMPLE_BYTES = 256 << 10
_WINDOW_BYTES = 1 << 20
# Kept before the first byte that is not ASCII: the letters around it say what it is.
_CONTEXT_BYTES = 1 << 10

# Byte order marks; UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_NOT_ASCII_RUN = re.compile(rb"[\x80-\xff]+")
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_REPLACEMENT = "\ufffd"
_JAPANESE_ESCAPE = re.compile(rb"\x1b\$[@B]")

# What mail and documents of the last decades really used; a longer list only invites wrong guesses.
_LEGACY = [
    *(
        "cp1252",
        "cp1250",
        "iso8859_2",
        "cp1251",
        "koi8_r",
        "cp866",
        "iso8859_5",
        "cp1253",
        "cp1254",
        "cp1255",
        "cp1256",
    ),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
# Apostrophe, quotation marks, dashes, ellipsis and euro, which the encodings of Windows have in the same places.
_MARKS_OF_WINDOWS = "\u2019\u2018\u201c\u201d\u201e\u2013\u2014\u2026\u20ac"
_CENTRAL_EUROPEAN = "ąćčďéęěíłńňóôöőřśšťúůűüýźżžáäßŚŠŁŻŽŹČĆŘÁÉÍÓÖŐÚÜŰÝ§"
# The usual letters of encodings for the Latin alphabet. Each byte is a letter in all of them.
_LATIN_LETTERS = {
    "cp1252": "àáâãäåæçèéêëìíîïñòóôõöøùúûüÿœßÀÁÂÄÅÆÇÈÉÊËÎÏÑÓÔÖØÙÚÜŒ«»°§©" + _MARKS_OF_WINDOWS,
    "cp1250": _CENTRAL_EUROPEAN + _MARKS_OF_WINDOWS,
    "iso8859_2": _CENTRAL_EUROPEAN,
    "cp1254": "çğıöşüâîûÇĞİÖŞÜ§©" + _MARKS_OF_WINDOWS,
}
# With at least this share of ASCII among its letters, a text of single bytes is in the Latin alphabet.
_LATIN_SHARE = 0.6
_ODD_SHARE = 0.05
_NUL_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file is to be decoded. `mark_bytes` are to be passed over; `is_guess` asks for a warning.

    `mistaken` are charsets that were declared and do not fit, which asks for another.
    """

    name: str
    mark_bytes: int = 0
    is_guess: bool = False
    mistaken: tuple[str, ...] = ()


def detect_encoding(path: Path, declared: Sequence[str] = ()) -> Encoding:
    """Return the most likely encoding of a text. Reads ahead to the first byte that tells, in little memory.

    What is unmistakable in the content goes before what is declared: a mark, zero bytes, valid UTF-8.
    """
    head, sample = _read_evidence(path)
    if certain := _detect_unicode(head):
        return certain
    if sample and _broken_share(sample, "utf-8") == 0:
        return Encoding("utf-8", mistaken=tuple(charset for charset in declared if codec_of(charset) != "utf-8"))
    return _believe(declared, head, sample)


def detect_page_encoding(path: Path, declared: Sequence[str]) -> Encoding:
    """Return the same for a page, where only marks and zero bytes go before what is declared, as in browsers."""
    head, sample = _read_evidence(path)
    return _detect_unicode(head) or _believe(declared, head, sample)


def _read_evidence(path: Path) -> tuple[bytes, bytes]:
    """Return how the file begins, and a stretch around its first byte that is not ASCII."""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES), _read_telling_sample(file)


def _detect_unicode(head: bytes) -> Encoding | None:
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return Encoding(name, len(mark))
    wide = _detect_wide(head) if b"\0" in head else None
    return Encoding(wide) if wide else None


def _believe(declared: Sequence[str], head: bytes, sample: bytes) -> Encoding:
    """Return the first declared encoding that fits, else UTF-8 if that does, else a guess."""
    mistaken: list[str] = []
    for charset in dict.fromkeys(declared):
        codec = codec_of(charset)
        if codec is not None and _fits(codec, head, sample):
            return Encoding(codec, mistaken=tuple(mistaken))
        mistaken.append(charset)
    if not sample:
        name = "iso2022_jp" if _JAPANESE_ESCAPE.search(head) else "utf-8"
        return Encoding(name, mistaken=tuple(mistaken))
    # Accidents rarely form good UTF-8: if most of it is, the rest is damage.
    if _broken_share(sample, "utf-8") < 0.5:
        return Encoding("utf-8", mistaken=tuple(mistaken))
    return Encoding(_guess_legacy(sample), is_guess=True, mistaken=tuple(mistaken))


def _fits(codec: str, head: bytes, sample: bytes) -> bool:
    if codec.startswith(("utf-16", "utf-32")):
        # Nearly any bytes decode as these, but only in these do zero bytes stand.
        return b"\0" in head and _reads_well(head[: len(head) & ~3], codec)
    return _broken_share(sample or head, codec) <= _ODD_SHARE


def _read_telling_sample(file: BinaryIO) -> bytes:
    """Return a stretch around the first byte that is not ASCII, or nothing if there is none."""
    file.seek(0)
    while window := file.read(_WINDOW_BYTES):
        if not window.isascii() and (found := _NOT_ASCII.search(window)):
            file.seek(max(0, file.tell() - len(window) + found.start() - _CONTEXT_BYTES))
            return file.read(_SAMPLE_BYTES)
    return b""


def _detect_wide(head: bytes) -> str | None:
    """Return which UTF-32 or UTF-16 without a mark this is, by where its zero bytes stand."""
    for name in ("utf-32-le", "utf-32-be"):
        if len(head) >= 8 and _reads_well(head[: len(head) & ~3], name):
            return name
    zeros = head[::2].count(0), head[1::2].count(0)
    name, most, least = ("utf-16-be", *zeros) if zeros[0] > zeros[1] else ("utf-16-le", zeros[1], zeros[0])
    if most < _NUL_SHARE * len(head) or least > most / 10:
        return None
    # ASCII with a few zero bytes would pass for Chinese; in the true thing, the upper bytes of ASCII are no letters.
    upper = head[name == "utf-16-le" :: 2]
    if head.isascii() and len(_ASCII_LETTER.findall(upper)) > most / 10:
        return None
    return name if _reads_well(head[: len(head) & ~1], name) else None


def _reads_well(data: bytes, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)("strict")
    try:
        text = decoder.decode(data)[:10_000]
    except UnicodeDecodeError:
        return False
    odd = sum(_is_odd(character) for character in text)
    return bool(text) and odd <= _ODD_SHARE * len(text)


def _is_odd(character: str) -> bool:
    return character not in "\t\n\r\f" and unicodedata.category(character) in ("Cc", "Cn", "Co")


def _broken_share(sample: bytes, codec: str) -> float:
    """Return how much of the sample's special characters cannot be decoded."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    # Only a long sample may end within a character; a shorter one ends where the file does.
    text = decoder.decode(sample, final=len(sample) < _HEAD_BYTES)
    special = sum(character > "\x7f" for character in text)
    # Those that the file itself holds are good: somebody else failed to decode what stood there.
    own = _REPLACEMENT.encode(codec, "ignore")
    broken = text.count(_REPLACEMENT) - (sample.count(own) if own else 0)
    return broken / max(1, special)


def _guess_legacy(sample: bytes) -> str:
    # Imported when needed: most files are UTF-8.
    from charset_normalizer import from_bytes

    if _JAPANESE_ESCAPE.search(sample):
        return "iso2022_jp"
    if _is_latin(sample):
        return _guess_latin(sample)
    best = from_bytes(sample, cp_isolation=_LEGACY, cp_exclusion=["utf_8"]).best()
    return best.encoding if best else _guess_latin(sample)


def _is_latin(sample: bytes) -> bool:
    """Whether the special bytes stand alone among letters of ASCII, as accented letters do."""
    runs = _NOT_ASCII_RUN.findall(sample)
    letters = len(_ASCII_LETTER.findall(sample))
    stand_alone = sum(len(run) == 1 for run in runs)
    return stand_alone >= len(runs) / 2 and letters >= _LATIN_SHARE * (letters + sum(map(len, runs)))


def _guess_latin(sample: bytes) -> str:
    """Return the encoding in which most of the special bytes are usual letters; the first of equals."""
    special = b"".join(_NOT_ASCII.findall(sample))

    def usual_letters(name: str) -> int:
        usual = set(_LATIN_LETTERS[name])
        return sum(character in usual for character in special.decode(name, "replace"))

    return max(_LATIN_LETTERS, key=usual_letters)
