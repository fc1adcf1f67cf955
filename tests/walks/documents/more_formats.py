"""Documents in the formats that the sample library lacks, one of each, written by code."""

import bz2
import gzip
from email.message import EmailMessage
from pathlib import Path

from tests.extract.binary_workbooks import xls
from tests.extract.old_slides import Slide, ppt
from tests.extract.old_word import doc
from tests.extract.readers.archive_samples import tar_of
from tests.extract.samples import open_document, pdf
from tests.walks.documents.film import write_film

KITCHEN = "The galley stove is lit at five so that the cook can bake before the first watch."
PAINT = "Red lead goes under the waterline; the topsides get two coats of linseed paint."
ROPE = "Old hawsers are picked apart and spun into oakum for the seams."
SEED = "Barley is threshed on the loft floor after the equinox."
MILL = "The miller grinds rye on Tuesdays and wheat on Fridays."
BELLS = "The sexton oils the bells with goose fat before Lent."
BEES = "Swarms are caught in a straw skep and carried home after dusk."
RULE = "Rule {}: all {} must be greased before the first of April. The chief of {} signs in the book of the yard."
RIGGING = ("anchors", "blocks", "cleats", "davits", "engines", "fenders", "gaffs", "halyards", "irons", "jibs", "keels")
COPE = "The cope stones lie on top and keep frost out of the hearting."
COPE_SECOND = 600
TREES = ("alder", "birch", "cedar", "elder", "hazel", "juniper", "larch", "maple", "rowan", "walnut", "willow", "yew")
SILENT_SECONDS = 200
WINDOW_SECOND = SILENT_SECONDS + 6
RICH_TEXT = rb"{\rtf1\ansi The cooper at the caf\'e9 shaves the staves {\b with a drawknife}.\par}"
TABLE = "orchard\tvariety\tpicked\nnorth slope\tWinter Banana\tlate October\nold wall\tCourt Pendu\tNovember\n"
RECORDS = '{"kiln": "lower", "fired": "ash wood"}\n{"kiln": "upper", "fired": "peat turves"}\n'
SPREADSHEET = """<table:table table:name="Looms"><table:table-row>
<table:table-cell office:value-type="string"><text:p>treadle loom</text:p></table:table-cell>
<table:table-cell office:value-type="string"><text:p>woven in linsey</text:p></table:table-cell>
</table:table-row></table:table>"""
PRESSES = [["press", "owner", "barrels"], ["oak screw", "Müller", 12.0], ["stone beam", "Lefèvre", 31.0]]
FOUNDRY = [
    (1, "Bells"),
    (0, "Every bell is cast upside down."),
    (2, "The mould"),
    (0, "Jürgen Großmann mixes loam with goat hair for the mould; Stanisław pays him 3 € a day."),
]
PASTRY = [
    Slide("Bread", "Rye is baked on Mondays."),
    Slide(
        "Pastry", "Zoë Lefèvre folds butter into the dough six times.", notes="Offer the crème brûlée to the bishop."
    ),
    Slide("Ovens", "They are swept with a wet broom."),
]
SLIDE = "<draw:page><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></draw:page>"


def write_formats(folder: Path) -> None:
    """Write one document of each format into the folder."""
    for name, content in _contents().items():
        (folder / name).write_bytes(content)
    write_film(folder / "garden.mp4", silent_seconds=SILENT_SECONDS)


def _contents() -> dict[str, bytes]:
    heading = '<text:h text:outline-level="1">Painting</text:h>'
    return {
        "galley.txt": KITCHEN.encode("utf-16"),
        "chronicle.txt.gz": gzip.compress(BEES.encode(), mtime=0),
        "almanac.txt.bz2": bz2.compress(SEED.encode()),
        "boatyard.odt": open_document("text", f"{heading}<text:p>{PAINT}</text:p>"),
        "weaving.ods": open_document("spreadsheet", SPREADSHEET),
        "ropewalk.odp": open_document("presentation", SLIDE.format("Hemp and tar") + SLIDE.format(ROPE)),
        "cider.xls": xls("Cider", PRESSES),
        "foundry.doc": doc(FOUNDRY),
        "bakery.ppt": ppt(PASTRY),
        "cooperage.rtf": RICH_TEXT,
        "walls.srt": _subtitles().encode(),
        "rigging.pdf": pdf([[RULE.format(n, gear, gear)] for n, gear in enumerate(RIGGING, 1)]),
        "talks.vtt": _talks().encode(),
        "orchard.tsv": TABLE.encode(),
        "kilns.jsonl": RECORDS.encode(),
        "village.tar.gz": tar_of([("village/mill.txt", MILL.encode()), ("village/notes.pdf", _notes())], mode="w:gz"),
        "letters.mbox": b"From ada Mon Mar  2\n" + _letter().as_bytes() + b"\n",
        # Its name says something else: the content decides.
        "mislabelled.txt": pdf([["Nothing yet."], ["The tanner limes hides in the third pit."]]),
    }


def _notes() -> bytes:
    """Two pages, each of them longer than a passage; what is worth finding stands far down the second."""
    pages = [[f"Item {page}-{n}: the vestry agreed to have pew {n} mended." for n in range(45)] for page in (1, 2)]
    pages[1][30] = BELLS
    return pdf(pages)


def _subtitles() -> str:
    """Twenty minutes of talk, a sentence every five seconds, with one worth finding half-way."""
    talk = {5 * n: f"Course {n} of the wall is laid with stones from the upper field." for n in range(240)}
    talk[COPE_SECOND] = COPE
    return "\n".join(
        f"{n}\n{_clock(at)} --> {_clock(at + 4)}\n{said}\n" for n, (at, said) in enumerate(talk.items(), 1)
    )


def _talks() -> str:
    """A sentence every five minutes: so short that all of them are one passage."""
    talk = {
        300 * n: f"In talk {n} the {tree} is felled by the woodman in its own month." for n, tree in enumerate(TREES)
    }
    said = (f"{_clock(at)} --> {_clock(at + 8)}\n{text}\n" for at, text in talk.items())
    return "WEBVTT\n\n" + "\n".join(said).replace(",", ".")


def _clock(second: int) -> str:
    return f"00:{second // 60:02}:{second % 60:02},000"


def _letter() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "The ferryman's dog"
    message["From"] = "Ada <ada@example.org>"
    message["To"] = "ben@example.org"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    message.set_content("The ferryman's dog swims behind the barge and barks at herons.\n")
    return message
