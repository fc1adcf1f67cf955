"""A bad file ends in a permanent category within its limits, leaves nothing outside, and its neighbour is read."""

import pytest

from holdfast.engine.classify import classify
from holdfast.engine.isolated_children import Children
from holdfast.errors import Category, PhaseError
from tests.extract.bad_files import HARMLESS, REFUSED, WORDS, BadFile, diagonal_sheet, sheet_of, vast_sheet
from tests.extract.conftest import Extracting
from tests.extract.extracting import DOCX, PDF, XLSX, extract_in
from tests.extract.samples import docx, pdf, word_paragraph

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERMANENT = {
    Category.CORRUPT_INPUT,
    Category.ENCRYPTED,
    Category.UNSUPPORTED_FORMAT,
    Category.TOO_LARGE,
    Category.UNSAFE_ARCHIVE,
    Category.EMPTY_TEXT,
}


@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED.keys())
async def test_bad_file_is_refused_for_good_and_its_neighbour_is_read(children: Children, bad: BadFile) -> None:
    media_type, write = bad
    async with children.child(key="acme") as child:
        with pytest.raises(PhaseError) as refused:
            await extract_in(child, write(), media_type)
        left = {path.name.partition(".")[0] for path in child.folder.iterdir()}
    assert classify(refused.value).category in PERMANENT
    assert left <= {"input", "text", "spans"}

    async with children.child(key="acme") as child:
        neighbour = await extract_in(child, pdf([["The neighbour is well."]]), PDF)
    assert "The neighbour is well." in neighbour.text


@pytest.mark.parametrize("odd", HARMLESS.values(), ids=HARMLESS.keys())
async def test_odd_file_is_read_for_its_words_alone(extracted: Extracting, odd: BadFile) -> None:
    media_type, write = odd

    document = await extracted(write(), media_type)

    assert document.text.strip() == WORDS


async def test_sheet_that_claims_all_cells_is_read_for_those_it_has(extracted: Extracting) -> None:
    document = await extracted(vast_sheet(), XLSX)

    assert len(document.text) < 200


@pytest.mark.parametrize("last", ["Z200000", "XFD1000", "ALL4000", "A1048576"])
async def test_cells_far_apart_are_read_without_the_emptiness_between_them(extracted: Extracting, last: str) -> None:
    document = await extracted(sheet_of({"A1": "first", last: "last"}), XLSX)

    assert [cell for cell in ("first", "last") if cell in document.text] == ["first", "last"]
    assert len(document.text) < 200
    assert document.warnings == {}


async def test_rows_far_apart_keep_their_order_and_their_neighbours(extracted: Extracting) -> None:
    cells = {"B2": "buoy", "D2": "lit", "F2": None, "B700000": "pier", "D700000": "dark"}

    document = await extracted(sheet_of(cells), XLSX)

    assert "| buoy | lit |\n| --- | --- |\n| pier | dark |" in document.text


async def test_cells_along_a_diagonal_are_too_large_and_told_why(extracted: Extracting) -> None:
    with pytest.raises(PhaseError, match=r"3,000 cells over 3,000 rows and 3,000 columns") as refused:
        await extracted(diagonal_sheet(3000), XLSX)

    assert refused.value.category is Category.TOO_LARGE


async def test_encrypted_file_is_called_encrypted(extracted: Extracting) -> None:
    media_type, write = REFUSED["encrypted PDF"]

    with pytest.raises(PhaseError, match="password") as refused:
        await extracted(write(), media_type)

    assert refused.value.category is Category.ENCRYPTED


@pytest.mark.parametrize(
    "bomb",
    [*(name for name in REFUSED if "bomb" in name and "small" not in name), "entities in a spreadsheet"],
)
async def test_what_unfolds_without_end_is_called_a_bomb_in_every_format(extracted: Extracting, bomb: str) -> None:
    media_type, write = REFUSED[bomb]

    with pytest.raises(PhaseError, match="unfolds far beyond its size, as a bomb does") as refused:
        await extracted(write(), media_type)

    assert (refused.value.category, refused.value.error_code) == (Category.UNSAFE_ARCHIVE, "BOMB")


async def test_text_beyond_the_limit_is_too_large(extracted: Extracting) -> None:
    with pytest.raises(PhaseError, match="20 are allowed") as refused:
        await extracted(docx(word_paragraph("Far more than twenty characters.")), DOCX, most_characters=20)

    assert refused.value.category is Category.TOO_LARGE


async def test_document_that_takes_all_memory_is_told_what_to_do_in_plain_words(extracted: Extracting) -> None:
    with pytest.raises(PhaseError) as refused:
        await extracted(docx(word_paragraph("x") * 900_000), DOCX)

    assert refused.value.error_code == "MEMORY_LIMIT"
    assert str(refused.value) == (
        "it took more memory than there is for one document: split the file into smaller ones"
    )


async def test_nul_in_a_document_is_dropped(extracted: Extracting) -> None:
    document = await extracted(rb"{\rtf1\ansi before\'00after \u0 ?done.\par}", "application/rtf")

    assert "\0" not in document.text


async def test_no_scratch_is_left_behind(children: Children) -> None:
    async with children.child(key="acme") as child:
        scratch = child.folder.parent

    assert list(scratch.iterdir()) == []
