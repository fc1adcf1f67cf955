"""Mixed files of every kind that needs no transcriber: generated, and the same in every run."""

import csv
import io
import json
import textwrap
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from bench.prose import Prose
from tests.extract.samples import docx, pdf, pptx, word_paragraph, word_table, xlsx

LINES_PER_PAGE = 44
LINE_CHARACTERS = 90


def write_notes(folder: Path, count: int) -> None:
    """So many files of a few pages, every kind as often as any other."""
    _write(folder, count, NOTES)


def write_reports(folder: Path, count: int) -> None:
    """So many files, ten times as long, and scanned pages among them, as often as any other kind."""
    _write(folder, count, REPORTS, length=10)


def _write(folder: Path, count: int, makers: Mapping[str, Callable[[Prose], bytes | str]], *, length: int = 1) -> None:
    folder.mkdir(parents=True)
    kinds = list(makers.items())
    for number in range(count):
        extension, make = kinds[number % len(kinds)]
        made = make(Prose(number, length))
        path = folder / f"document-{number:04}.{extension}"
        path.write_bytes(made if isinstance(made, bytes) else made.encode())


def _pdf(prose: Prose) -> bytes:
    lines: list[str] = []
    wanted = prose.parts(1, 10) * LINES_PER_PAGE
    while len(lines) < wanted:
        lines += [*textwrap.wrap(prose.paragraph(), LINE_CHARACTERS), ""]
    pages = [lines[start : start + LINES_PER_PAGE] for start in range(0, wanted, LINES_PER_PAGE)]
    return pdf(pages, title=prose.heading())


def _docx(prose: Prose) -> bytes:
    body = ""
    for _ in range(prose.parts(2, 8)):
        body += word_paragraph(prose.heading(), style="Heading1")
        body += "".join(word_paragraph(text) for text in prose.paragraphs(2, 5))
    return docx(body + word_table([[*map(str, row)] for row in _rows(prose, 8)]), title=prose.heading())


def _pptx(prose: Prose) -> bytes:
    return pptx(
        [
            (prose.heading(), "\n".join(prose.sentence() for _ in range(4)), prose.paragraph())
            for _ in range(prose.parts(3, 15))
        ]
    )


def _xlsx(prose: Prose) -> bytes:
    return xlsx({f"Sheet {number}": _rows(prose, prose.parts(20, 120)) for number in range(1, prose.between(2, 4))})


def _html(prose: Prose) -> str:
    parts = [
        f"<h2>{escape(prose.heading())}</h2>" + "".join(f"<p>{escape(text)}</p>" for text in prose.paragraphs(2, 6))
        for _ in range(prose.parts(2, 8))
    ]
    return f"<!doctype html><html><head><title>{prose.heading()}</title></head><body>{''.join(parts)}</body></html>"


def _markdown(prose: Prose) -> str:
    parts = [f"## {prose.heading()}\n\n" + "\n\n".join(prose.paragraphs(2, 6)) for _ in range(prose.parts(2, 8))]
    return f"# {prose.heading()}\n\n" + "\n\n".join(parts) + "\n"


def _text(prose: Prose) -> str:
    return "\n\n".join(prose.paragraph() for _ in range(prose.parts(5, 40))) + "\n"


def _csv(prose: Prose) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(_rows(prose, prose.parts(30, 200)))
    return written.getvalue()


def _json(prose: Prose) -> str:
    records = [
        {"id": number, "title": prose.heading(), "notes": [prose.sentence(), prose.sentence()]}
        for number in range(prose.parts(10, 60))
    ]
    return json.dumps({"records": records}, indent=1)


def _email(prose: Prose) -> str:
    head = f"From: watch@harbour.example\r\nTo: office@harbour.example\r\nSubject: {prose.heading()}\r\n"
    dated = "Date: Mon, 02 Mar 2026 08:15:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    return head + dated + "\r\n\r\n".join(prose.paragraph() for _ in range(prose.parts(2, 12)))


def _subtitles(prose: Prose) -> str:
    cues = []
    for number in range(prose.parts(30, 200)):
        minutes, second = divmod(4 * number, 60)
        minute = f"{minutes // 60:02}:{minutes % 60:02}"
        times = f"{minute}:{second:02},000 --> {minute}:{second + 3:02},500"
        cues.append(f"{number + 1}\n{times}\n{prose.sentence()}\n")
    return "\n".join(cues)


def _scan(prose: Prose) -> bytes:
    """One short letter, whatever the length."""
    page = Image.new("L", (1240, 1754), 255)
    lines = [line for _ in range(2) for line in [*textwrap.wrap(prose.paragraph(), 80), ""]]
    ImageDraw.Draw(page).multiline_text((100, 100), "\n".join(lines), fill=0, font=ImageFont.load_default(26))
    written = io.BytesIO()
    page.save(written, "png")
    return written.getvalue()


def _rows(prose: Prose, count: int) -> list[list[str | int]]:
    rows: list[list[str | int]] = [["number", "what", "amount", "remark"]]
    return rows + [[n, prose.heading(), prose.between(1, 9999), prose.sentence()] for n in range(1, count)]


NOTES: dict[str, Callable[[Prose], bytes | str]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "html": _html,
    "md": _markdown,
    "txt": _text,
    "csv": _csv,
    "json": _json,
    "eml": _email,
    "srt": _subtitles,
}
REPORTS = {**NOTES, "png": _scan}
