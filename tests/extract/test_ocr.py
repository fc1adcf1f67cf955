"""Pictures of text are read where the extra is installed, and what was hard to read is said."""

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from holdfast.engine.isolated_children import Children
from holdfast.errors import EmptyText, UnsupportedFormat
from holdfast.extract.recognition import TooSlow, recognise_pages
from tests.extract.conftest import Extracting
from tests.extract.extracting import PDF, extract_in
from tests.extract.samples import pdf_of_images
from tests.extract.without_ocr import extract_without_ocr

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIDTH, HEIGHT = 1275, 1650
LINES = ["The harbour master counted", "forty seven copper kettles", "on the northern pier."]


def scan(lines: list[str]) -> Image.Image:
    """A page as a scanner sees it."""
    page = Image.new("L", (WIDTH, HEIGHT), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((120, 150 + 60 * number), line, fill=0, font=ImageFont.load_default(32))
    return page


def noise() -> Image.Image:
    """A page with a patch of snow, which looks like letters to whoever wants to see some."""
    page = scan([])
    page.paste(Image.effect_noise((240, 240), 200).resize((480, 480)), (300, 300))
    return page


def as_png(page: Image.Image) -> bytes:
    buffer = io.BytesIO()
    page.save(buffer, "PNG")
    return buffer.getvalue()


async def test_picture_is_read(extracted: Extracting) -> None:
    document = await extracted(as_png(scan(LINES)), "image/png")

    assert "forty seven copper kettles" in document.text
    assert document.summary["extractor"] == "xberg+tesseract"


async def test_scanned_page_is_read_under_its_number_and_progress_reported(extracted: Extracting) -> None:
    pages = [scan(["A first page about weather."]), scan(LINES)]
    fractions: list[float] = []

    document = await extracted(
        pdf_of_images([page.tobytes() for page in pages], width=WIDTH, height=HEIGHT),
        PDF,
        on_progress=fractions.append,
    )

    assert document.place("copper kettles").pages == (2,)
    assert fractions
    assert fractions == sorted(fractions)


async def test_noise_is_left_out_and_said(extracted: Extracting) -> None:
    pages = [scan(LINES).tobytes(), noise().tobytes()]

    document = await extracted(pdf_of_images(pages, width=WIDTH, height=HEIGHT), PDF)

    assert document.text.strip().endswith("on the northern pier.")
    assert "page 2" in document.warnings["ILLEGIBLE"]


async def test_picture_without_text_is_empty_text(extracted: Extracting) -> None:
    with pytest.raises(EmptyText, match="no legible text"):
        await extracted(as_png(scan([])), "image/png")


async def test_language_without_data_is_named(extracted: Extracting) -> None:
    with pytest.raises(UnsupportedFormat, match="tlh: choose among deu, eng"):
        await extracted(as_png(scan(LINES)), "image/png", languages=["tlh"])


async def test_picture_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    picture = tmp_path / "scan.png"
    picture.write_bytes(as_png(scan(LINES)))

    with pytest.raises(TooSlow):
        recognise_pages(picture, "image/png", pages=None, languages=["eng"], tessdata=tmp_path, seconds=0.01)


@pytest.mark.parametrize("kind", ["picture", "scanned PDF"])
async def test_without_the_extra_pictures_are_empty_text_that_names_it(children: Children, kind: str) -> None:
    page = scan(LINES)
    scanned = pdf_of_images([page.tobytes()], width=WIDTH, height=HEIGHT)
    data, media_type = (as_png(page), "image/png") if kind == "picture" else (scanned, PDF)

    async with children.child(key="without the extra") as child:
        with pytest.raises(EmptyText, match=r"holdfast\[ocr\]"):
            await extract_in(child, data, media_type, function=extract_without_ocr)
