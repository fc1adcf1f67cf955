"""Whether a failure is the file's own fault: a retry, which takes the same bytes again, would fail the same way."""

from collections.abc import Mapping
from typing import Any

from holdfast.errors import OPERATOR_MENDS, Category

FAULTS_OF_THE_FILE = frozenset(
    {
        Category.CORRUPT_INPUT,
        Category.ENCRYPTED,
        Category.UNSUPPORTED_FORMAT,
        Category.TOO_LARGE,
        Category.UNSAFE_ARCHIVE,
        Category.EMPTY_TEXT,
    }
)


def is_fault_of_the_file(error: Mapping[str, Any] | None) -> bool:
    """What holdfast.overview_next() decides too: no setting and nothing to install would help."""
    error = error or {}
    details = error.get("details") or {}
    return error.get("category") in FAULTS_OF_THE_FILE and not OPERATOR_MENDS.items() <= details.items()
