"""Word and PowerPoint of 1997 to 2003: their text, where it stands, and what they call themselves."""

import pytest

from holdfast.errors import CorruptInput
from tests.extract.conftest import Extracting
from tests.extract.old_slides import Slide, ppt
from tests.extract.old_word import doc

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORD, POWERPOINT = "application/msword", "application/vnd.ms-powerpoint"


async def test_word_document_keeps_headings_and_every_letter(extracted: Extracting) -> None:
    document = await extracted(
        doc(
            [
                (1, "Die Gießerei"),
                (0, "Für die größte Glocke fließt Bronze."),
                (2, "Le cœur"),
                (0, "Son œuvre coûte 3 € en été, à Łódź."),
            ]
        ),
        WORD,
    )

    assert document.text == (
        "# Die Gießerei\n\nFür die größte Glocke fließt Bronze.\n\n## Le cœur\n\nSon œuvre coûte 3 € en été, à Łódź.\n"
    )
    assert document.place("größte Glocke").heading == ("Die Gießerei",)
    assert document.place("Łódź").heading == ("Die Gießerei", "Le cœur")


async def test_slides_know_their_number_and_keep_every_letter(extracted: Extracting) -> None:
    slides = [Slide("Köhlerei", "Holz wird verkohlt.\rDie Glut heißt Meiler."), Slide("Le cœur", "En été, à Łódź, 3 €")]

    document = await extracted(ppt(slides), POWERPOINT)

    assert document.place("Die Glut heißt Meiler.").slides == (1,)
    assert document.place("En été, à Łódź, 3 €").slides == (2,)
    assert document.place("En été").heading == ("Le cœur",)
    assert document.summary["facts"] == {"slides": 2}


async def test_speaker_notes_are_those_of_their_slide(extracted: Extracting) -> None:
    slides = [
        Slide("One", "Rope."),
        Slide("Two", "Tar.", notes="Greet the mayor.\rThen the duke."),
        Slide("Three", "Oakum.\r[^1]:\rOld hemp."),
        Slide("Four", "Pitch.", notes="Greet the mayor again."),
        Slide("Five", "Oil."),
    ]

    document = await extracted(ppt(slides), POWERPOINT)

    assert document.place("Speaker notes: Greet the mayor.\nThen the duke.").slides == (2,)
    assert document.place("Oakum.\n\n[^1]:\n\nOld hemp.").slides == (3,)
    assert document.place("Speaker notes: Greet the mayor again.").slides == (4,)
    assert document.text.endswith("## Five\n\nOil.\n\n")


async def test_slides_that_cannot_be_read_are_told(extracted: Extracting) -> None:
    document = await extracted(_without_end_of_slide(ppt([Slide("One", "Rope."), Slide("Two", "Tar.")])), POWERPOINT)

    assert document.text == "## One\n\nRope.\n\n"
    assert "truncated record" in document.warnings["PARTS_SKIPPED"]


async def test_presentation_of_which_nothing_can_be_read_is_damaged_not_empty(extracted: Extracting) -> None:
    with pytest.raises(CorruptInput, match=r"rope\.ppt cannot be read.*truncated record"):
        await extracted(_without_end_of_slide(ppt([Slide("One", "Rope.")])), POWERPOINT, name="rope.ppt")


async def test_endnotes_that_cannot_be_read_are_told(extracted: Extracting) -> None:
    document = bytearray(doc([(0, "Bronze."), (0, "Tin.")]))
    lengths = document.index(b"\xec\xa5") + 64
    document[lengths + 8 * 4] = 5

    assert "endnote" in (await extracted(bytes(document), WORD)).warnings["PARTS_SKIPPED"]


@pytest.mark.parametrize(
    ("document", "media_type"),
    [
        (doc([(1, "Gießen"), (0, "Bronze.")], title="Über das Gießen"), WORD),
        (ppt([Slide("Gießen", "Bronze.")], title="Über das Gießen"), POWERPOINT),
        (doc([(1, "Gießen"), (0, "Bronze.")], title=""), WORD),
    ],
    ids=["Word", "PowerPoint", "empty"],
)
async def test_title_that_is_empty_or_lost_letters_gives_way_to_the_first_heading(
    extracted: Extracting, document: bytes, media_type: str
) -> None:
    assert (await extracted(document, media_type)).summary["title"] == "Gießen"


async def test_title_whose_letters_are_kept_is_the_title(extracted: Extracting) -> None:
    document = await extracted(doc([(1, "Bells"), (0, "Bronze.")], title="On casting"), WORD)

    assert document.summary["title"] == "On casting"


def _without_end_of_slide(presentation: bytes) -> bytes:
    """The last slide says that it is longer than the file."""
    before, slide, after = presentation.rpartition(b"\x0f\x00\xee\x03")
    return before + slide + b"\xff\xff\xff\x7f" + after[4:]
