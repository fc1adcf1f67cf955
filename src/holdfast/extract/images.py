"""Reads pictures by OCR."""

from holdfast.errors import OPERATOR_MENDS, EmptyText
from holdfast.extract import ocr
from holdfast.extract.reading import Progress, Reading, Source


def read_image(source: Source, reading: Reading, progress: Progress) -> None:
    """Write what is legible in the picture, by page if it has several."""
    if not ocr.is_available():
        raise EmptyText(
            f"{source.name} is a picture: {ocr.HINT}", error_code="OCR_NOT_INSTALLED", details=OPERATOR_MENDS
        )
    reading.extractor = "xberg+tesseract"
    for number, text in ocr.read_picture(source, reading).items():
        with reading.span("page", number):
            reading.write(f"{text.strip()}\n\n")
    if reading.is_blank:
        raise EmptyText(f"no legible text in the picture {source.name}", error_code="NO_TEXT_IN_PICTURE")
