"""Tells Office documents that need a password, which all look alike from outside."""

from typing import BinaryIO

from holdfast.errors import EncryptedInput
from holdfast.extract.ole_streams import OleStreams
from holdfast.extract.reading import Source

# The name of the part that holds an encrypted Office document, as its container spells it.
_ENCRYPTED_PART = "EncryptedPackage".encode("utf-16-le")
_WINDOW_BYTES = 1 << 20
# How old documents begin: with the bit of Word that says so, with the word of PowerPoint that says so.
_OLD_WORD, _ENCRYPTED_BIT = (b"\xec\xa5", b"\xdc\xa5"), 1
_ENCRYPTED_TOKEN = b"\xdf\xc4\xd1\xf3"


def refuse_encrypted(source: Source) -> None:
    """Raise EncryptedInput for a container of the old kind that is encrypted, or is around one encrypted part."""
    with source.path.open("rb") as file:
        if file.read(4) == b"\xd0\xcf\x11\xe0" and (_has_encrypted_part(file) or _is_old_and_encrypted(file)):
            raise needs_password(source.name)


def needs_password(name: str) -> EncryptedInput:
    """The refusal, with what to do about it. No colon: what follows "password:" is redacted before it is stored."""
    return EncryptedInput(f"{name} needs a password, save it without one and submit it again", error_code="ENCRYPTED")


def _has_encrypted_part(file: BinaryIO) -> bool:
    before = b""
    while data := file.read(_WINDOW_BYTES):
        if _ENCRYPTED_PART in before + data:
            return True
        before = data[-len(_ENCRYPTED_PART) :]
    return False


def _is_old_and_encrypted(file: BinaryIO) -> bool:
    streams = OleStreams(file)
    word, powerpoint = streams.beginning_of("WordDocument"), streams.beginning_of("Current User")
    if word.startswith(_OLD_WORD) and word[11:12]:
        return bool(word[11] & _ENCRYPTED_BIT)
    return powerpoint[12:16] == _ENCRYPTED_TOKEN
