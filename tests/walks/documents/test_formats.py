"""From file to found passage: every format is taken in, carried through all phases, and found at its place."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from holdfast.app import App
from tests.walks.documents.ground import LONG, ORGANISATION, Ground, jobs, take_in, work
from tests.walks.documents.more_formats import COPE_SECOND, WINDOW_SECOND, write_formats

pytestmark = [pytest.mark.asyncio(loop_scope="module"), LONG]

MINUTES_OF_A_PASSAGE = 3
SAMPLES = Path(__file__).parents[3] / "examples" / "library"


@dataclass(frozen=True, slots=True)
class Passage:
    """A question, and the passage that must answer it: whose it is, words of it, and where it stands.

    `second` is a moment that the passage must be about, where a recording is too long, or heard too differently by
    other processors, for exact words about its cut.
    """

    question: str
    source: str
    words: str
    place: dict[str, Any] = field(default_factory=dict)
    second: int | None = None


HANDBOOK = "Kelp Point Harbour Handbook"
PASSAGES = {
    "pdf": Passage(
        "Where is the yellow boom for a diesel leak?",
        "harbour-handbook.pdf",
        "yellow boom",
        {"pages": [4], "heading": [HANDBOOK, "Fuel and spills"]},
    ),
    "docx": Passage(
        "When must a pressure cell be replaced after calibration?",
        "tide-gauge-manual.docx",
        "half a percent",
        {"heading": ["Calibration"]},
    ),
    "pptx": Passage(
        "How many sandbags are in the net loft?",
        "storm-season-briefing.pptx",
        "900 sandbags",
        {"slides": [3], "heading": ["Sandbags"]},
    ),
    "xlsx": Passage(
        "What does a yearly berth in the north basin cost?",
        "mooring-fees.xlsx",
        "1450",
        {"sheets": ["Yearly berths"], "heading": ["Yearly berths"]},
    ),
    "html": Passage(
        "Are dogs allowed on the beach when terns are nesting?",
        "visitor-guide.html",
        "terns are nesting",
        {"heading": ["Visitor guide", "Water and waste"]},
    ),
    "markdown": Passage(
        "What does the messenger line pull after it?",
        "glossary.md",
        "heavy hawser",
        {"heading": ["Harbour glossary", "Gear"]},
    ),
    "text in Windows' encoding": Passage("penalty for eel traps out of season", "notices.txt", "fine is €250"),
    "csv": Passage("crane 2 wire rope WR-22", "maintenance-log.csv", "part: WR-22"),
    "json": Passage("wind gust alarm above", "sensor-limits.json", "24.5"),
    "subtitles in VTT": Passage(
        "Who ordered the guard for the winch?",
        "safety-meeting.vtt",
        "first week of December",
        {"seconds": [12.5, 34.0], "speakers": ["Harbour master", "Duty engineer"]},
    ),
    "recording": Passage("new rubber belt for the compressor", "night-watch.wav", "belt", second=5),
    "video": Passage("close the window before rain", "garden.mp4", "window", second=WINDOW_SECOND),
    "picture": Passage("diving permit at the ferry ramp", "diving-permit.png", "slack waters", {"pages": [1]}),
    "epub": Passage("ferry to Gull Island landing craft", "history.epub", "1952", {"heading": ["The ferry"]}),
    "e-mail": Passage(
        "ramp B came down by itself in front of a van",
        "near-miss.eml",
        "40 centimetres",
        {"heading": ["Near miss at ferry ramp B"]},
    ),
    "attachment of an e-mail": Passage("limit switch newton metres", "inspection-ramp-b.txt", "12 newton metres"),
    "member of a zip": Passage(
        "course of the leading lights", "lights/leading-lights.md", "074 degrees", {"heading": ["Leading lights"]}
    ),
    "text in UTF-16": Passage("when is the galley stove lit", "galley.txt", "lit at five"),
    "gzip": Passage("how are swarms of bees caught", "chronicle.txt", "straw skep"),
    "bzip2": Passage("where is barley threshed", "almanac.txt", "loft floor"),
    "odt": Passage("which paint goes under the waterline", "boatyard.odt", "Red lead", {"heading": ["Painting"]}),
    "ods": Passage("treadle loom linsey", "weaving.ods", "linsey", {"sheets": ["Looms"], "heading": ["Looms"]}),
    "odp": Passage("what is made of old hawsers", "ropewalk.odp", "oakum", {"slides": [2]}),
    "xls": Passage(
        "how many barrels from the stone beam press",
        "cider.xls",
        "Lefèvre",
        {"sheets": ["Cider"], "heading": ["Cider"]},
    ),
    "doc": Passage("who mixes loam with goat hair", "foundry.doc", "Großmann", {"heading": ["Bells", "The mould"]}),
    "ppt": Passage(
        "who folds butter into the dough", "bakery.ppt", "Zoë Lefèvre", {"slides": [2], "heading": ["Pastry"]}
    ),
    "speaker notes of a ppt": Passage(
        "what is offered to the bishop", "bakery.ppt", "crème brûlée", {"slides": [2], "heading": ["Pastry"]}
    ),
    "rtf": Passage("how does the cooper shave staves", "cooperage.rtf", "drawknife"),
    "subtitles in SRT": Passage(
        "what keeps frost out of a dry stone wall", "walls.srt", "cope stones", second=COPE_SECOND
    ),
    "tsv": Passage("when is Court Pendu picked", "orchard.tsv", "variety: Court Pendu; picked: November"),
    "lines of JSON": Passage("kiln fired with peat turves", "kilns.jsonl", "peat turves"),
    "member of a tar.gz": Passage("when does the miller grind rye", "village/mill.txt", "Tuesdays"),
    "pdf in a tar.gz": Passage("goose fat for the bells", "village/notes.pdf", "sexton", {"pages": [2]}),
    "message of a mailbox": Passage(
        "dog that swims behind the barge", "message 00001.eml", "herons", {"heading": ["The ferryman's dog"]}
    ),
    "pdf under a false name": Passage("in which pit are hides limed", "mislabelled.txt", "third pit", {"pages": [2]}),
    "page among short ones": Passage("who signs for halyards", "rigging.pdf", "Rule 8", {"pages": [8]}),
    "minute among short ones": Passage("who fells the maple", "talks.vtt", "talk 7", {"seconds": [2100.0, 2108.0]}),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(common_ground: Ground) -> AsyncIterator[App]:
    """Everything taken in and carried by one worker."""
    shutil.copytree(SAMPLES, common_ground.library, dirs_exist_ok=True)
    write_formats(common_ground.library)
    async with common_ground.opened() as app:
        await take_in(app, common_ground.library)
        await work(app)
        yield app


@pytest.mark.parametrize("passage", PASSAGES.values(), ids=PASSAGES.keys())
async def test_passage_is_found_at_its_place(app: App, passage: Passage) -> None:
    found = await app.search.find(passage.question, organisation=ORGANISATION, limit=3)

    first = found.hits[0]
    assert (first.source_name, found.mode) == (passage.source, "fused")
    assert passage.words in first.text
    if passage.second is None:
        assert first.place.to_json() == passage.place
    else:
        assert first.place.seconds is not None
        start, end = first.place.seconds
        assert start <= passage.second < end < start + MINUTES_OF_A_PASSAGE * 60


async def test_every_file_is_complete_but_the_one_that_needs_a_password(app: App) -> None:
    standing = await jobs(app)

    sealed = standing.pop("sealed-contract.pdf")
    assert (sealed["state"], sealed["last_error"]["category"]) == ("failed", "encrypted")
    assert sealed["last_error"]["retryable"] is False
    assert {job["status"] for job in standing.values()} == {"complete"}


async def test_doctor_finds_nothing(app: App) -> None:
    assert await app.examine(deep=True) == []
