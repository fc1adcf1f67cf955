"""The phase stores the standard form, submits what was inside, and says why it could not."""

import io
import tracemalloc
import wave
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database
from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from holdfast.engine.pipeline import Phase, Pipeline
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.engine.worker import Worker
from holdfast.extract.members import store_members
from holdfast.extract.phase import Extract, ExtractLimits
from holdfast.extract.recordings import Recordings
from holdfast.intake.media_type import sniff_stream
from holdfast.providers.answers import Answers
from holdfast.providers.transcriber import Segment, Transcript
from holdfast.standard import Carried
from tests.engine.working import QUICK
from tests.extract.extracting import PDF
from tests.extract.samples import ENCRYPTED, pdf, zipped


class Stenographer:
    """A transcriber that has the answer ready, and counts how often it is asked."""

    name = "stenographer"
    provider = "office"

    def __init__(self) -> None:
        self.asked = 0

    async def transcribe(self, recording: Path, *, media_type: str, on_progress: Callable[[float], None]) -> Transcript:
        self.asked += 1
        with wave.open(str(recording)) as sound:
            seconds = sound.getnframes() / sound.getframerate()
        on_progress(1.0)
        segments = (
            Segment(0.0, 2.5, "We open the harbour.", "Ann", 0.9),
            Segment(2.5, 4.0, "At six.", "Ann", 0.9),
            Segment(4.5, 6.0, "Too early!", "Bob", 0.2),
        )
        return Transcript(segments, seconds, "en", Decimal("0.25"))


@dataclass
class Desk:
    """A worker with the extract phase alone, its store, and what it did."""

    database: Database
    store: ArtifactStore
    children: Children
    transcriber: Stenographer | None = field(default_factory=Stenographer)
    limits: ExtractLimits = field(default_factory=ExtractLimits)

    @property
    def extract(self) -> Extract:
        recordings = Recordings(self.transcriber, Answers(self.database))
        return Extract(self.database, self.store, self.children, recordings, sniff_stream, limits=self.limits)

    @property
    def pipeline(self) -> Pipeline:
        phase = Phase(name="extract", handler=self.extract.run, done="parsed", component="parse", concurrency=2)
        return Pipeline("documents", phases=(phase,), starts="uploaded")

    async def submit(self, data: bytes, media_type: str, name: str, **metadata: Any) -> int:
        original = self.store.put_bytes("acme", data)
        carried = Carried(original=original, media_type=media_type, name=name)
        item = Submission(
            organisation="acme",
            source_name=name,
            source_location=f"/in/{name}",
            content_hash=original.hash,
            input=carried.to_json(),
            metadata=metadata,
        )
        await Queue(self.database).register([self.pipeline])
        [taken] = await submit(self.database, "documents", [item])
        return taken.document_id

    async def work(self) -> None:
        await Worker(self.database, [self.pipeline], pace=QUICK).run(until_idle=True)

    async def job(self, document_id: int) -> Any:
        sql = "select * from holdfast.pipeline_job where document_id = $1"
        return await self.database.fetchrow(sql, document_id)

    async def error(self, document_id: int) -> dict[str, Any]:
        return dict((await self.job(document_id))["last_error"])

    async def output(self, document_id: int) -> Carried:
        sql = "select output from holdfast.pipeline_phase where job_id = $1 and outcome = 'completed'"
        return Carried.from_json(await self.database.fetchval(sql, (await self.job(document_id))["id"]))

    async def text(self, document_id: int) -> str:
        carried = await self.output(document_id)
        assert carried.text is not None
        return self.store.read("acme", carried.text).decode()

    async def documents(self) -> dict[str, Any]:
        rows = await self.database.fetch("select * from holdfast.document order by id")
        return {row["source_name"]: row for row in rows}


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with Children(limits=Limits(), at_most=2) as children:
        yield Desk(database, ArtifactStore(f"file://{tmp_path / 'store'}"), children)


def recording() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", "NONE"))
        sound.writeframes(bytes(16_000 * 6))
    return buffer.getvalue()


def letter(**attachments: bytes) -> bytes:
    message = EmailMessage()
    message["Subject"] = "The plans"
    message["From"] = "ann@example.org"
    message.set_content("Please read what I attached about the harbour.")
    for name, data in attachments.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


async def test_document_is_stored_in_standard_form_with_what_is_known_of_it(desk: Desk) -> None:
    document = await desk.submit(pdf([["The pier is long."], []], title="Pier"), PDF, "pier.pdf")

    await desk.work()

    assert "The pier is long." in await desk.text(document)
    carried = await desk.output(document)
    assert (carried.title, carried.extractor) == ("Pier", "xberg+tesseract")
    assert carried.characters == len(await desk.text(document))
    known = (await desk.documents())["pier.pdf"]["metadata"]["extracted"]
    assert (known["pages"], known["media_type"]) == (2, PDF)
    assert [warning["code"] for warning in known["warnings"]] == ["PAGES_WITHOUT_TEXT"]


async def test_what_was_stored_is_recorded_as_used_by_the_document(desk: Desk) -> None:
    document = await desk.submit(pdf([["The pier is long."]]), PDF, "pier.pdf")

    await desk.work()

    uses = await desk.database.fetch(
        "select kind, hash from holdfast.artifact_use where document_id = $1 order by kind", document
    )
    carried = await desk.output(document)
    assert carried.text is not None
    assert carried.spans is not None
    assert {row["kind"]: row["hash"] for row in uses} == {"text": carried.text.hash, "spans": carried.spans.hash}


async def test_attachments_become_documents_that_are_extracted_too(desk: Desk) -> None:
    mail = letter(plan_pdf=pdf([["Dredge the basin in May."]]))
    parent = await desk.submit(mail, "message/rfc822", "plans.eml", project="basin")

    await desk.work()

    child = (await desk.documents())["plan_pdf"]
    assert child["parent_id"] == parent
    assert child["source_location"] == "/in/plans.eml!/plan_pdf"
    assert child["metadata"]["project"] == "basin"
    assert "Dredge the basin in May." in await desk.text(child["id"])


async def test_members_with_one_name_have_locations_of_their_own(desk: Desk) -> None:
    inner = EmailMessage()
    inner.set_content("Two files follow.")
    for data in (b"The first note.", b"The second note."):
        inner.add_attachment(data, maintype="text", subtype="plain", filename="../note.txt")
    await desk.submit(inner.as_bytes(), "message/rfc822", "notes.eml")

    await desk.work()

    locations = {row["source_location"] for row in (await desk.documents()).values()}
    assert locations == {"/in/notes.eml", "/in/notes.eml!/note.txt", "/in/notes.eml!/note (2).txt"}


async def test_member_that_is_known_already_is_a_duplicate(desk: Desk) -> None:
    known = pdf([["Known since spring."]])
    first = await desk.submit(known, PDF, "known.pdf")
    await desk.submit(zipped({"copy.pdf": known, "new.txt": "New words."}), "application/zip", "both.zip")

    await desk.work()

    documents = await desk.documents()
    assert documents["copy.pdf"]["duplicate_of"] == first
    assert "New words." in await desk.text(documents["new.txt"]["id"])


async def test_extracting_again_adds_no_second_children(desk: Desk) -> None:
    await desk.submit(zipped({"a.txt": "One note.", "b.txt": "Another note."}), "application/zip", "notes.zip")
    await desk.database.execute("select holdfast.register_worker('w', 'here', 1, '[]')")
    [attempt] = await Queue(desk.database).claim("w", [Lane("documents", "extract", 1)])

    for _ in range(2):
        done = await desk.extract.run(attempt)
        assert done.save is not None
        async with desk.database.transaction() as connection:
            await done.save(connection)

    assert await desk.database.fetchval("select count(*) from holdfast.document") == 3


async def test_archives_nested_too_deeply_are_unsafe(desk: Desk) -> None:
    data = zipped({"heart.txt": "The innermost words."})
    for level in range(7):
        data = zipped({f"level{level}.zip": data})
    await desk.submit(data, "application/zip", "russian.zip")

    await desk.work()

    documents = await desk.documents()
    deepest = list(documents.values())[-1]
    error = await desk.error(deepest["id"])
    assert (error["category"], error["error_code"]) == ("unsafe_archive", "NESTED_TOO_DEEPLY")
    assert len(documents) == 6


async def test_file_beyond_the_limit_is_too_large_and_names_both_sizes(desk: Desk) -> None:
    desk.limits = ExtractLimits(file_bytes=1000)
    document = await desk.submit(b"x" * 1001, "text/plain", "long.txt")

    await desk.work()

    error = await desk.error(document)
    assert error["category"] == "too_large"
    assert "1,001 bytes" in error["error"]
    assert "1,000" in error["error"]


async def test_text_beyond_the_limit_is_too_large(desk: Desk) -> None:
    desk.limits = ExtractLimits(characters=100)
    document = await desk.submit(b"harbour " * 100, "text/plain", "long.txt")

    await desk.work()

    assert (await desk.error(document))["error_code"] == "TEXT_LIMIT"


async def test_bad_document_leaves_its_neighbours_alone(desk: Desk) -> None:
    bad = await desk.submit(b"%PDF-1.7\n", PDF, "bad.pdf")
    good = [await desk.submit(pdf([[f"Good page {n}."]]), PDF, f"good{n}.pdf") for n in range(5)]

    await desk.work()

    assert (await desk.error(bad))["category"] == "corrupt_input"
    assert ["Good page" in await desk.text(document) for document in good] == [True] * 5


async def test_unknown_format_is_unsupported_and_names_its_type(desk: Desk) -> None:
    document = await desk.submit(b"\x00\x01\x02", "application/octet-stream", "thing.bin")

    await desk.work()

    error = await desk.error(document)
    assert error["category"] == "unsupported_format"
    assert "thing.bin is application/octet-stream" in error["error"]


async def test_advice_about_a_password_is_stored_whole(desk: Desk) -> None:
    document = await desk.submit(ENCRYPTED, "application/x-encrypted-office", "plan.docx")

    await desk.work()

    error = await desk.error(document)
    assert error["category"] == "encrypted"
    assert error["error"] == "plan.docx needs a password, save it without one and submit it again"


async def test_original_that_is_gone_fails_as_storage(desk: Desk) -> None:
    document = await desk.submit(b"Some words.", "text/plain", "gone.txt")
    desk.store = ArtifactStore("file:///nonexistent-holdfast-store")

    await desk.work()

    assert (await desk.error(document))["category"] in ("storage_unavailable", "source_gone")


async def test_recording_becomes_text_with_times_speakers_and_cost(desk: Desk) -> None:
    document = await desk.submit(recording(), "audio/x-wav", "meeting.wav")

    await desk.work()

    text = await desk.text(document)
    assert "We open the harbour. At six." in text
    carried = await desk.output(document)
    assert carried.spans is not None
    rows = desk.store.read("acme", carried.spans).decode()
    assert '"time", [4.5, 6.0]' in rows
    assert '"speaker", "Bob"' in rows
    assert (await desk.job(document))["total_cost_usd"] == Decimal("0.25")
    [warning] = carried.warnings
    assert (warning.code, warning.message) == ("LOW_CONFIDENCE", "1 passage, 2 s in all, hard to understand")


async def test_half_a_recording_is_told_to_its_owner(desk: Desk) -> None:
    whole = recording()
    document = await desk.submit(whole[: len(whole) // 2], "audio/x-wav", "meeting.wav")

    await desk.work()

    assert "CUT_OFF" in [warning.code for warning in (await desk.output(document)).warnings]


async def test_recording_is_paid_once_however_often_it_is_extracted(desk: Desk) -> None:
    await desk.submit(recording(), "audio/x-wav", "meeting.wav")
    await desk.database.execute("select holdfast.register_worker('w', 'here', 1, '[]')")
    [attempt] = await Queue(desk.database).claim("w", [Lane("documents", "extract", 1)])

    first, second = await desk.extract.run(attempt), await desk.extract.run(attempt)

    assert desk.transcriber is not None
    assert desk.transcriber.asked == 1
    assert first.output == second.output
    assert (first.cost_usd, second.cost_usd) == (Decimal("0.25"), Decimal(0))


async def test_recording_without_a_transcriber_names_the_extra_and_the_setting(desk: Desk) -> None:
    desk.transcriber = None
    document = await desk.submit(recording(), "audio/x-wav", "meeting.wav")

    await desk.work()

    error = await desk.error(document)
    assert error["category"] == "unsupported_format"
    assert "holdfast[audio]" in error["error"]
    assert "HOLDFAST_TRANSCRIBER" in error["error"]


async def test_worker_holds_no_large_part_of_a_large_document(desk: Desk) -> None:
    line = b"The tide table of the harbour goes on and on.\n"
    document = await desk.submit(line * (40_000_000 // len(line)), "text/plain", "tides.txt")
    tracemalloc.start()
    try:
        await desk.work()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (await desk.output(document)).characters > 39_000_000
    assert peak < 20_000_000


async def test_names_of_members_are_made_harmless_and_distinct(database: Database, tmp_path: Path) -> None:
    given = ["../../etc/passwd", "a\\b.txt", "a/b.txt", "tar.gz\u202e", "\n", ""]
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "1").write_bytes(b"data")

    stored = await store_members(
        Upload(database, ArtifactStore(f"file://{tmp_path / 'store'}"), "acme"),
        sniff_stream,
        folder=tmp_path / "scratch",
        members=[{"path": str(tmp_path / "scratch" / "1"), "name": name} for name in given],
        most_bytes=100,
    )

    names = [member.name for member in stored]
    assert names == ["etc/passwd", "a/b.txt", "a/b (2).txt", "tar.gz", "unnamed", "unnamed (2)"]
