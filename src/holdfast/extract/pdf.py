"""Reads PDF, page by page: the text layer, and by OCR the pages that have none."""

import re

from xberg import ExtractedDocument

from holdfast.errors import OPERATOR_MENDS, EmptyText
from holdfast.extract import ocr
from holdfast.extract.conversion import convert
from holdfast.extract.reading import Progress, Reading, Source

_SUSPECT = re.compile(r"Page\(s\) \[([\d, ]+)\] do not read as any real")


def read_pdf(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every page under its number; pages without text are named in a warning."""
    document = convert(source.path, source.media_type)
    reading.extractor = "xberg"
    reading.title = document.metadata.title
    texts = {page.page_number: page.content for page in document.pages or []}
    reading.facts["pages"] = len(texts)
    missing = [number for number, text in texts.items() if not text.strip()]
    if missing and ocr.is_available():
        texts |= ocr.read_pages(source, missing, reading=reading, progress=progress)
        reading.extractor = "xberg+tesseract"
    for number, text in sorted(texts.items()):
        with reading.span("page", number):
            reading.write(f"{text.strip()}\n\n" if text.strip() else "")
    _warn(reading, document, [number for number, text in texts.items() if not text.strip()])
    if reading.is_blank:
        raise EmptyText(
            f"{source.name} has no text on its {len(texts)} {'page' if len(texts) == 1 else 'pages'}: {_advice()}",
            error_code="NO_TEXT_LAYER",
            details={} if ocr.is_available() else OPERATOR_MENDS,
        )


def _warn(reading: Reading, document: ExtractedDocument, blank: list[int]) -> None:
    if blank:
        reading.warn("PAGES_WITHOUT_TEXT", f"no text on {ocr.name_pages(blank)}: {_advice()}")
    for warning in document.processing_warnings:
        found = _SUSPECT.search(warning.message)
        if found:
            pages = [int(number) for number in found[1].split(",")]
            reading.warn("SUSPECT_TEXT", f"the text of {ocr.name_pages(pages)} does not read as a known language")


def _advice() -> str:
    return "blank or illegible pictures" if ocr.is_available() else f"blank or pictures; {ocr.HINT}"
