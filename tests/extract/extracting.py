"""Runs the isolated side of extraction as the phase does, and shows what it left."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.engine.isolated_children import Child
from holdfast.engine.isolation import IsolatedFunction
from holdfast.extract.child import extract
from holdfast.standard import Place, Span, Spans

OPEN_XML = "application/vnd.openxmlformats-officedocument"
DOCX = f"{OPEN_XML}.wordprocessingml.document"
PPTX = f"{OPEN_XML}.presentationml.presentation"
XLSX = f"{OPEN_XML}.spreadsheetml.sheet"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class Extracted:
    """The standard form that a child left, and its summary."""

    text: str
    spans: Spans
    summary: dict[str, Any]

    @property
    def warnings(self) -> dict[str, str]:
        """Messages by code."""
        return {warning["code"]: warning["message"] for warning in self.summary["warnings"]}

    def place(self, words: str) -> Place:
        """Where these words came from."""
        start = self.text.index(words)
        return self.spans.place(start, start + len(words))


async def extract_in(
    child: Child,
    data: bytes,
    media_type: str,
    *,
    name: str = "sample",
    most_characters: int = 1 << 30,
    charsets: Sequence[str] = (),
    languages: Sequence[str] = ("eng",),
    on_progress: Callable[[float], None] | None = None,
    function: IsolatedFunction = extract,
) -> Extracted:
    """Extract this file in the leased child."""
    path = child.folder / "input"
    path.write_bytes(data)
    payload = {
        "path": str(path),
        "folder": str(child.folder),
        "name": name,
        "media_type": media_type,
        "charsets": list(charsets),
        "most_characters": most_characters,
        "languages": list(languages),
        "most_scanned_pages": 20,
    }
    summary = await child.run(function, payload, on_progress=on_progress)
    assert isinstance(summary, dict)
    return Extracted((child.folder / "text.md").read_text(), read_spans(child.folder / "spans.json"), summary)


def read_spans(path: Path) -> Spans:
    """The spans of a file of rows."""
    return Spans(Span.from_json(row) for row in json.loads(path.read_text()))
