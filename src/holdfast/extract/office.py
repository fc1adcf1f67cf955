"""Reads what word processors and presentation programs write, and electronic books."""

import json
import re
from typing import TypeAlias

from xberg import ExtractedDocument

from holdfast.errors import CorruptInput
from holdfast.extract.bombs import refuse_bomb
from holdfast.extract.conversion import convert
from holdfast.extract.encryption import refuse_encrypted
from holdfast.extract.reading import Progress, Reading, Source

# Slides of these stand between rules; a rule that is text comes with a backslash. If there are pages too, they are
# those of the speaker notes alone.
_RULED = ("application/vnd.oasis.opendocument.presentation", "application/vnd.ms-powerpoint")
_SLIDE_RULE = re.compile(r"^-----\n", re.MULTILINE)
# Speaker notes of old presentations stand behind all slides, numbered from one.
_FIRST_NOTE = re.compile(r"^\[\^1\]:\n    ", re.MULTILINE)
# Markdown has no sign for underlined text: it comes between tags, and those come as if they were text.
_UNDERLINE = re.compile(r"\\</?u\\>")
# Readers that tell of text they leave out, and how. Others tell of much that is no text.
_TELLING_READERS, _LOSS = ("doc", "ppt"), "not extracted"

# Its text, and the speaker's notes.
Slide: TypeAlias = tuple[str, str]


def read_document(source: Source, reading: Reading, progress: Progress) -> None:
    """Write the text with its headings, lists and tables. A document that flows has no pages of its own."""
    document = _convert(source, reading)
    reading.write(document.content)


def read_slides(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every slide under its number, its speaker notes below it."""
    document = _convert(source, reading)
    slides = _ruled_slides(document) if source.media_type in _RULED else _paged_slides(document)
    slides = slides or [(document.content, "")]
    reading.facts["slides"] = len(slides)
    for number, (marked, notes) in enumerate(slides, start=1):
        text = _UNDERLINE.sub("", marked).strip()
        with reading.span("slide", number):
            reading.write(f"{text}\n\n" if text else "")
            reading.write(f"Speaker notes: {notes.strip()}\n\n" if notes.strip() else "")


def _paged_slides(document: ExtractedDocument) -> list[Slide]:
    return [(page.content, page.speaker_notes or "") for page in document.pages or []]


def _ruled_slides(document: ExtractedDocument) -> list[Slide]:
    notes = _notes_by_slide(document)
    text = _FIRST_NOTE.split(document.content)[0] if notes else document.content
    return [(slide, notes.get(number, "")) for number, slide in enumerate(_SLIDE_RULE.split(text)[1:], start=1)]


def _notes_by_slide(document: ExtractedDocument) -> dict[int, str]:
    """Only the structure says whose they are: there they come behind their slide."""
    number, notes = 0, dict[int, str]()
    for node in document.document.nodes if document.document else []:
        if node.content.node_type == "slide":
            number += 1
        elif node.content.node_type == "footnote":
            notes[number] = f"{notes.get(number, '')}\n{json.loads(str(node.content))['text']}"
    return notes


def _convert(source: Source, reading: Reading) -> ExtractedDocument:
    refuse_encrypted(source)
    refuse_bomb(source)
    document = convert(source.path, source.media_type)
    _tell_losses(document, source, reading)
    reading.extractor = "xberg"
    reading.title = _legible(document.metadata.title)
    reading.language = document.metadata.language
    return document


def _tell_losses(document: ExtractedDocument, source: Source, reading: Reading) -> None:
    """Warn of text that was left out of an old document; raise CorruptInput where nothing else is left."""
    for warning in document.processing_warnings:
        if warning.source in _TELLING_READERS and _LOSS in warning.message:
            if not document.content:
                raise CorruptInput(
                    f"{source.name} cannot be read, save it again in a newer format: {warning.message}",
                    error_code="DAMAGED",
                )
            reading.warn("PARTS_SKIPPED", warning.message)


def _legible(title: str | None) -> str | None:
    """None if letters of it are lost: of old documents only the English ones arrive."""
    return title if title and "\ufffd" not in title else None
