"""One whole file of every format, long enough that its half says something, each written by code."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import av
from PIL import Image, ImageDraw, ImageFont

from tests.extract.extracting import DOCX, OPEN_DOCUMENT, PDF, PPTX, XLSX
from tests.extract.samples import docx, epub, open_document, pdf, pdf_of_images, pptx, word_paragraph, xlsx, zipped

WholeFile: TypeAlias = tuple[str, Callable[[], bytes]]

PARAGRAPHS = [f"Rule {n} of the harbour speaks of boats, of piers and of the tide at {n} o'clock." for n in range(120)]
SPEECH = Path(__file__).parents[1] / "providers" / "speech.wav"
WIDTH, HEIGHT = 900, 600


def tagged(start: str, end: str) -> str:
    return "".join(f"{start}{paragraph}{end}" for paragraph in PARAGRAPHS)


def message() -> bytes:
    letter = EmailMessage()
    letter["Subject"], letter["From"] = "Rules", "harbour@example.org"
    letter.set_content("\n".join(PARAGRAPHS))
    letter.add_attachment("\n".join(PARAGRAPHS).encode(), maintype="text", subtype="plain", filename="rules.txt")
    return letter.as_bytes()


def tar(*, members: int = len(PARAGRAPHS)) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for number, paragraph in enumerate(PARAGRAPHS[:members]):
            member = tarfile.TarInfo(f"{number}.txt")
            member.size = len(paragraph)
            archive.addfile(member, io.BytesIO(paragraph.encode()))
    return written.getvalue()


def picture() -> Image.Image:
    drawn = Image.new("L", (WIDTH, HEIGHT), 255)
    pen, font = ImageDraw.Draw(drawn), ImageFont.load_default(size=32)
    for line in range(11):
        pen.text((40, 30 + 50 * line), f"Line {line} of the harbour rules.", font=font, fill=0)
    return drawn


def saved(kind: str) -> bytes:
    written = io.BytesIO()
    picture().save(written, kind)
    return written.getvalue()


def encoded(target: Path, codec: str, *, rate: int = 24_000, **options: str) -> bytes:
    """The same speech in another format, by way of a file: some formats are written from both ends."""
    with av.open(str(SPEECH)) as speech, av.open(str(target), "w", options=options) as written:
        stream = written.add_stream(codec, rate=rate)
        resampler = av.AudioResampler(format=stream.codec_context.format, layout="mono", rate=rate)
        for frame in [*speech.decode(audio=0), None]:
            if frame is not None:
                frame.pts = None
            for piece in resampler.resample(frame):
                written.mux(stream.encode(piece))
        written.mux(stream.encode(None))
    return target.read_bytes()


# What ends with a mark, or is packed: half of it is refused, or read with a warning.
TELLING: Mapping[str, WholeFile] = MappingProxyType(
    {
        "PDF": (PDF, lambda: pdf([[paragraph] for paragraph in PARAGRAPHS])),
        "scan": (PDF, lambda: pdf_of_images([picture().tobytes()] * 2, width=WIDTH, height=HEIGHT)),
        "DOCX": (DOCX, lambda: docx("".join(map(word_paragraph, PARAGRAPHS)))),
        "PPTX": (PPTX, lambda: pptx([("Rule", paragraph, None) for paragraph in PARAGRAPHS])),
        "XLSX": (XLSX, lambda: xlsx({"Rules": [[paragraph] for paragraph in PARAGRAPHS]})),
        "ODT": (f"{OPEN_DOCUMENT}.text", lambda: open_document("text", tagged("<text:p>", "</text:p>"))),
        "EPUB": ("application/epub+zip", lambda: epub([("Rule", text) for text in PARAGRAPHS], title="Rules")),
        "RTF": ("application/rtf", lambda: f"{{\\rtf1\\ansi {tagged('', chr(92) + 'par ')}}}".encode()),
        "HTML": ("text/html", lambda: f"<html><body>{tagged('<p>', '</p>')}</body></html>".encode()),
        "XML": ("application/xml", lambda: f"<rules>{tagged('<rule>', '</rule>')}</rules>".encode()),
        "CSV": ("text/csv", lambda: f"rule\n{tagged(chr(34), chr(34) + chr(10))}".encode()),
        "JSON": ("application/json", lambda: json.dumps(PARAGRAPHS).encode()),
        "JSON Lines": ("application/x-ndjson", lambda: "\n".join(map(json.dumps, PARAGRAPHS)).encode()),
        "e-mail": ("message/rfc822", message),
        "zip": ("application/zip", lambda: zipped({f"{n}.txt": text for n, text in enumerate(PARAGRAPHS)})),
        "tar": ("application/x-tar", tar),
        "tar.gz": ("application/gzip", lambda: gzip.compress(tar())),
        "tar.bz2": ("application/x-bzip2", lambda: bz2.compress(tar())),
        "tar.xz": ("application/x-xz", lambda: lzma.compress(tar())),
        "PNG": ("image/png", lambda: saved("PNG")),
        "JPEG": ("image/jpeg", lambda: saved("JPEG")),
        "TIFF": ("image/tiff", lambda: saved("TIFF")),
    }
)
