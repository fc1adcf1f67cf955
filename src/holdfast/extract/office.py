"""Reads what word processors, presentation programs and spreadsheets write, and electronic books."""

import re

from xberg import ExtractedDocument

from holdfast.errors import EncryptedInput
from holdfast.extract.conversion import convert
from holdfast.extract.reading import Progress, Reading, Source

# The name of the part that holds an encrypted Office document, as its container spells it.
_ENCRYPTED_PART = "EncryptedPackage".encode("utf-16-le")
_WINDOW_BYTES = 1 << 20
# Slides of OpenDocument stand between rules; a rule that is text comes with a backslash.
_SLIDE_RULE = re.compile(r"^-----\n", re.MULTILINE)


def read_document(source: Source, reading: Reading, progress: Progress) -> None:
    """Write the text with its headings, lists and tables. A document that flows has no pages of its own."""
    document = _convert(source, reading)
    reading.write(document.content)


def read_slides(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every slide under its number, its speaker notes below it."""
    document = _convert(source, reading)
    slides = [(page.content, page.speaker_notes) for page in document.pages or []]
    if not slides:
        slides = [(text, None) for text in _SLIDE_RULE.split(document.content)[1:]] or [(document.content, None)]
    reading.facts["slides"] = len(slides)
    for number, (text, notes) in enumerate(slides, start=1):
        with reading.span("slide", number):
            reading.write(f"{text.strip()}\n\n" if text.strip() else "")
            reading.write(f"Speaker notes: {notes.strip()}\n\n" if notes and notes.strip() else "")


def read_sheets(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every sheet as a table under its name."""
    document = _convert(source, reading)
    sheets = document.pages or []
    reading.facts["sheets"] = len(sheets)
    for number, sheet in enumerate(sheets, start=1):
        name = sheet.sheet_name or f"Sheet {number}"
        if sheet.content.strip():
            with reading.span("sheet", name):
                reading.write(f"## {' '.join(name.split())}\n\n{sheet.content.strip()}\n\n")


def _convert(source: Source, reading: Reading) -> ExtractedDocument:
    _refuse_encrypted(source)
    document = convert(source.path, source.media_type)
    reading.extractor = "xberg"
    reading.title = document.metadata.title
    reading.language = document.metadata.language
    return document


def _refuse_encrypted(source: Source) -> None:
    """An Office document with a password is a container of the old kind around one encrypted part."""
    before = b""
    with source.path.open("rb") as file:
        if file.read(4) != b"\xd0\xcf\x11\xe0":
            return
        while data := file.read(_WINDOW_BYTES):
            if _ENCRYPTED_PART in before + data:
                raise EncryptedInput(
                    f"{source.name} needs a password: save it without one and submit it again", error_code="ENCRYPTED"
                )
            before = data[-len(_ENCRYPTED_PART) :]
