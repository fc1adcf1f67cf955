"""Office formats keep their structure: headings, tables, slides with their notes, chapters."""

import pytest

from holdfast.errors import EncryptedInput, UnsupportedFormat
from tests.extract.bad_files import part_of, replace_part
from tests.extract.compound_files import compound_file, compound_file_of_little
from tests.extract.conftest import Extracting
from tests.extract.extracting import DOCX, OPEN_DOCUMENT, PPTX
from tests.extract.samples import (
    ENCRYPTED,
    ODF,
    WORD,
    docx,
    epub,
    open_document,
    pptx,
    relations,
    word_paragraph,
    word_table,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_word_document_keeps_headings_and_tables(extracted: Extracting) -> None:
    body = (
        word_paragraph("Harbour rules", style="Heading1")
        + word_paragraph("Mooring", style="Heading2")
        + word_paragraph("Boats moor at the northern pier.")
        + word_table([["pier", "depth"], ["north", "4 m"]])
    )

    document = await extracted(docx(body, title="Rules of 1931"), DOCX)

    assert document.place("northern pier").heading == ("Harbour rules", "Mooring")
    assert "| pier | depth |\n| --- | --- |\n| north | 4 m |" in document.text
    assert document.summary["title"] == "Rules of 1931"


async def test_footnotes_of_a_word_document_are_kept(extracted: Extracting) -> None:
    body = '<w:p><w:r><w:t>The pier is old.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    note = f'<w:footnote w:id="2">{word_paragraph("Built in 1871.")}</w:footnote>'
    more = {
        "word/footnotes.xml": f'<w:footnotes xmlns:w="{WORD}">{note}</w:footnotes>',
        "word/_rels/document.xml.rels": relations(("footnotes", "footnotes.xml")),
    }

    document = await extracted(docx(body, more=more), DOCX)

    assert "Built in 1871." in document.text


async def test_title_is_the_first_heading_if_the_document_names_none(extracted: Extracting) -> None:
    document = await extracted(docx(word_paragraph("Tide tables", style="Heading1") + word_paragraph("High.")), DOCX)

    assert document.summary["title"] == "Tide tables"


async def test_slides_know_their_number_and_keep_their_notes(extracted: Extracting) -> None:
    slides = [("Opening", "We sell rope.", "Greet the mayor first."), ("Prices", "Rope costs 3.\nTar costs 5.", None)]

    document = await extracted(pptx(slides), PPTX)

    assert document.place("We sell rope").slides == (1,)
    assert document.place("Greet the mayor first").slides == (1,)
    assert document.place("Tar costs 5").slides == (2,)
    assert document.place("Tar costs 5").heading == ("Prices",)
    assert document.summary["facts"] == {"slides": 2}


async def test_underlined_text_of_a_slide_is_text(extracted: Extracting) -> None:
    slides = pptx([("Opening", "We sell rope.", None)])
    underlined = part_of(slides, "ppt/slides/slide1.xml").replace(
        "<a:t>We sell rope.", '<a:t>We sell </a:t></a:r><a:r><a:rPr u="sng"/><a:t>rope.'
    )

    document = await extracted(replace_part(slides, "ppt/slides/slide1.xml", underlined), PPTX)

    assert "We sell rope.\n" in document.text


async def test_drawing_that_packs_very_well_is_no_bomb(extracted: Extracting) -> None:
    document = await extracted(
        pptx([("Opening", "We sell rope.", None)], more={"ppt/media/image1.emf": bytes(30_000_000)}), PPTX
    )

    assert "We sell rope." in document.text


async def test_long_table_of_a_word_document_is_read_whole(extracted: Extracting) -> None:
    rows = [["buoy", "red", "lit", "north", f"number {number}"] for number in range(25_000)]

    document = await extracted(docx(word_table(rows)), DOCX)

    assert "| north | number 24999 |" in document.text


async def test_chapters_of_a_book_are_headings(extracted: Extracting) -> None:
    chapters = [("The storm", "Rain fell on the quay."), ("The calm", "Gulls sat on the quay.")]

    document = await extracted(epub(chapters, title="Two days"), "application/epub+zip")

    assert document.place("Gulls sat").heading == ("The calm",)
    assert document.summary["title"] == "Two days"


async def test_open_document_text_keeps_headings(extracted: Extracting) -> None:
    body = '<text:h text:outline-level="1">Knots</text:h><text:p>The bowline holds.</text:p>'

    document = await extracted(open_document("text", body), f"{OPEN_DOCUMENT}.text")

    assert document.place("bowline").heading == ("Knots",)


async def test_open_document_slides_know_their_number(extracted: Extracting) -> None:
    page = "<draw:page><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></draw:page>"
    body = page.format("-----") + page.format("Splice the rope.")

    document = await extracted(open_document("presentation", body), f"{OPEN_DOCUMENT}.presentation")

    assert document.place("Splice the rope").slides == (2,)


async def test_notes_of_open_document_slides_do_not_stand_for_the_slides(extracted: Extracting) -> None:
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    note = f'<p:notes xmlns:p="{ODF}:presentation:1.0">{box.format("Show the knife.")}</p:notes>'
    pages = [box.format("Cut the rope.") + note, box.format("Splice the rope.")]

    document = await extracted(
        open_document("presentation", "".join(f"<draw:page>{page}</draw:page>" for page in pages)),
        f"{OPEN_DOCUMENT}.presentation",
    )

    assert document.place("Cut the rope").slides == document.place("Show the knife").slides == (1,)
    assert document.place("Splice the rope").slides == (2,)


async def test_rich_text_is_read(extracted: Extracting) -> None:
    document = await extracted(rb"{\rtf1\ansi The caf\'e9 {\b opens} at six.\par}", "application/rtf")

    assert "The café **opens** at six." in document.text


async def test_office_document_with_a_password_says_so(extracted: Extracting) -> None:
    with pytest.raises(EncryptedInput, match="password"):
        await extracted(ENCRYPTED, "application/x-encrypted-office", name="plan.docx")


@pytest.mark.parametrize("version", [b"\xec\xa5", b"\xdc\xa5"])
async def test_old_word_document_with_a_password_says_so(extracted: Extracting, version: bytes) -> None:
    document = compound_file(
        "WordDocument", version + bytes(8) + (0x1300).to_bytes(2, "little") + bytes(range(256)) * 20
    )

    with pytest.raises(EncryptedInput, match=r"plan\.doc needs a password"):
        await extracted(document, "application/msword", name="plan.doc")


async def test_old_presentation_with_a_password_says_so(extracted: Extracting) -> None:
    user = bytes.fromhex("0000f60f1e00000014000000dfc4d1f3") + bytes(14)

    with pytest.raises(EncryptedInput, match=r"plan\.ppt needs a password"):
        await extracted(
            compound_file_of_little("Current User", user, at=9), "application/vnd.ms-powerpoint", name="plan.ppt"
        )


async def test_format_without_a_reader_says_what_to_do(extracted: Extracting) -> None:
    with pytest.raises(UnsupportedFormat, match=r"x\.7z is application/x-7z-compressed.*\.zip"):
        await extracted(b"7z\xbc\xaf", "application/x-7z-compressed", name="x.7z")


async def test_elements_of_xml_become_headings_without_their_attributes(extracted: Extracting) -> None:
    written = (
        b'<?xml version="1.0"?><book id="b7"><!-- draft --><chapter name="hemp"><p>Hemp is spun.</p></chapter></book>'
    )

    document = await extracted(written, "application/xml")

    assert document.place("Hemp is spun.").heading == ("book", "chapter", "p")
    assert not [word for word in ("b7", "hemp", "draft") if word in document.text]
