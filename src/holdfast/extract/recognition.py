"""Reads pictures in a process of its own: tesseract takes minutes over some, and only its death ends that."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast import json_codec
from holdfast.engine.classify import Failure, classify, restore
from holdfast.errors import CorruptInput

_PROGRAM = (
    "import json, sys; request = json.loads(sys.argv[1]); sys.path[:] = request['search_path'];"
    "from holdfast.extract.recognition import main; main(request)"
)


@dataclass(frozen=True, slots=True)
class RecognisedPage:
    """What was read in the picture of a page, and how sure of it, from 0 to 1."""

    number: int
    text: str
    confidence: float | None


class TooSlow(Exception):
    """The pictures were not read in time."""


def recognise_pages(
    path: Path,
    media_type: str,
    *,
    pages: Sequence[int] | None,
    languages: Sequence[str],
    tessdata: Path,
    seconds: float,
) -> list[RecognisedPage]:
    """Read these pages, or all, within so many seconds, or raise TooSlow with nothing left running."""
    request = {
        "search_path": sys.path,
        "path": str(path),
        "media_type": media_type,
        "pages": None if pages is None else list(pages),
        "languages": list(languages),
        "tessdata": str(tessdata),
    }
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(request)]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise TooSlow(f"more than {seconds:g} s") from error
    return _answer(ended)


def main(request: Mapping[str, Any]) -> None:
    """Answer on standard output, and end without the interpreter's farewell, in which xberg is known to crash."""
    answer: dict[str, object] = {}
    try:
        answer["pages"] = [asdict(page) for page in _recognise(request)]
    except Exception as error:
        answer["failure"] = classify(error).to_json()
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


def _recognise(request: Mapping[str, Any]) -> list[RecognisedPage]:
    from holdfast.extract.conversion import recognise

    wanted = request["pages"]
    document = recognise(
        Path(request["path"]),
        request["media_type"],
        pages=wanted,
        languages=request["languages"],
        tessdata=Path(request["tessdata"]),
    )
    return [
        RecognisedPage(page.page_number, page.content, page.ocr_confidence.score if page.ocr_confidence else None)
        for page in document.pages or []
        if wanted is None or page.page_number in wanted
    ]


def _answer(ended: "subprocess.CompletedProcess[bytes]") -> list[RecognisedPage]:
    if ended.returncode != 0:
        text = f"the picture broke its reader, which ended with {ended.returncode}: save it in another format"
        raise CorruptInput(text, error_code="CRASHED")
    answer = json_codec.loads(ended.stdout)
    if "failure" in answer:
        raise restore(Failure.from_json(answer["failure"]))
    return [RecognisedPage(**page) for page in answer["pages"]]
