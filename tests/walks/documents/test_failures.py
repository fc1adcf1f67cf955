"""Each phase fails for one document among 200: the others complete, and a retry resumes at the failed phase only."""

import shutil
import wave
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from holdfast.app import App
from holdfast.engine.selection import Selection
from holdfast.testing import Call, Reply, refusal
from tests.walks.documents.ground import COMPLETED_ONCE, LONG, PHASES, Ground, attempts, jobs, take_in, work
from tests.walks.documents.providers import Providers, phase_of

pytestmark = [pytest.mark.asyncio(loop_scope="module"), LONG]

NEIGHBOURS = 199
CATEGORIES = {
    "store": "storage_unavailable",
    "extract": "network_timeout",
    "validate": "unsupported_format",
    "chunk": "network_timeout",
    "embed": "unknown",
    "graph_extract": "network_timeout",
    "graph_add": "unknown",
    "publish": "unknown",
}
GERMAN = (
    "Der Hafenmeister sagt, dass die Fähre heute nicht fährt, weil der Wind zu stark ist und die Wellen über die Mole "
    "schlagen. Wer auf die Insel will, muss bis morgen warten und sich im Büro eine neue Karte holen."
)
# What may pass by itself is tried again after a minute: so long the first run may well take.
BROKEN = """
create function public.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'this row cannot be written';
end $$;
create function public.wait_for_a_person() returns trigger language plpgsql as $$
begin
    new.ready_at := new.ready_at + interval '1 day';
    return new;
end $$;
create trigger patient before update on holdfast.pipeline_job for each row
when (new.state = 'failed' and new.ready_at is not null) execute function public.wait_for_a_person();
create trigger broken before insert on holdfast.entity_mention for each row
when (new.generation_id = {graph_add}) execute function public.refuse();
create trigger broken before update on holdfast.document for each row
when (new.id = {publish} and new.searchable_at is not null) execute function public.refuse();
"""
MENDED = """
drop trigger patient on holdfast.pipeline_job;
drop trigger broken on holdfast.entity_mention;
drop trigger broken on holdfast.document;
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where all documents stood after the first run and after the mending, by name."""

    app: App
    providers: Providers
    failed: dict[str, dict[str, object]]
    mended: dict[str, dict[str, object]]


def unlucky(phase: str) -> str:
    """The document that fails in this phase."""
    return f"fails-in-{phase}.{'wav' if phase == 'extract' else 'txt'}"


class Misfortune:
    """What makes a phase fail for one document: a lost object, a provider that refuses, a row that is not written."""

    def __init__(self, ground: Ground, app: App, providers: Providers) -> None:
        self._ground = ground
        self._app = app
        self._providers = providers
        self._away = ground.folder / "away"
        self._lost: Path | None = None

    async def begin(self) -> None:
        found = await jobs(self._app)
        self._lost = await self._object_of(found[unlucky("store")]["document_id"])
        shutil.move(self._lost, self._away)
        self._providers.refuses = refuse
        generation, document = found[unlucky("graph_add")]["id"], found[unlucky("publish")]["document_id"]
        await self._app.database.execute(BROKEN.format(graph_add=generation, publish=document))

    async def end(self) -> None:
        assert self._lost is not None
        shutil.move(self._away, self._lost)
        self._providers.refuses = lambda call: None
        await self._app.database.execute(MENDED)

    async def _object_of(self, document_id: int) -> Path:
        digest = await self._app.database.fetchval(
            "select hash from holdfast.artifact_use where document_id = $1 and kind = 'original'", document_id
        )
        return next(path for path in self._ground.store.rglob("*") if digest in path.name)


def refuse(call: Call) -> Reply | None:
    """Refuse what asks about an unlucky document in its unlucky phase."""
    phase = phase_of(call)
    if phase == "extract":
        return refusal(503, "unavailable", "try later")
    if f"Misfortune of {phase}." not in call.body.decode():
        return None
    return (
        refusal(400, "odd_input", "cannot embed this") if phase == "embed" else refusal(503, "unavailable", "try later")
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(common_ground: Ground) -> AsyncIterator[Standing]:
    """All documents carried with the misfortune, then mended and retried."""
    _write_library(common_ground.library)
    async with Providers() as providers:
        providers.entities = ["Misfortune", "note"]
        async with common_ground.opened(**providers.settings, languages=("en",)) as app:
            await take_in(app, common_ground.library)
            misfortune = Misfortune(common_ground, app, providers)
            await misfortune.begin()
            await work(app)
            failed = await jobs(app)
            await misfortune.end()
        async with common_ground.opened(**providers.settings, languages=("en", "de")) as app:
            await app.control("an operator").retry(Selection(state="failed"))
            await work(app)
            yield Standing(app, providers, failed, await jobs(app))


@pytest.mark.parametrize("phase", PHASES)
async def test_document_stands_at_the_phase_that_failed(standing: Standing, phase: str) -> None:
    job = standing.failed[unlucky(phase)]

    assert (job["state"], job["phase"]) == ("failed", phase)
    assert job["last_error"]["category"] == CATEGORIES[phase]


async def test_all_neighbours_complete_although_others_fail(standing: Standing) -> None:
    neighbours = [job for name, job in standing.failed.items() if name.startswith("note-")]

    assert Counter(job["status"] for job in neighbours) == {"complete": NEIGHBOURS}


async def test_neighbours_run_each_phase_once(standing: Standing) -> None:
    rows = await standing.app.database.fetch(
        "select a.phase, a.outcome, count(*) from holdfast.pipeline_phase a"
        " join holdfast.pipeline_job j on j.id = a.job_id"
        " join holdfast.document d on d.id = j.document_id where d.source_name like 'note-%' group by 1, 2"
    )

    assert {(row["phase"], row["outcome"]): row["count"] for row in rows} == {
        (phase, "completed"): NEIGHBOURS for phase in PHASES
    }


@pytest.mark.parametrize("phase", PHASES)
async def test_retry_after_mending_resumes_at_the_failed_phase_only(standing: Standing, phase: str) -> None:
    job = standing.mended[unlucky(phase)]

    assert (job["state"], job["status"]) == ("done", "complete")
    assert await attempts(standing.app, unlucky(phase)) == COMPLETED_ONCE + Counter({(phase, "failed"): 1})


async def test_paid_calls_are_made_again_only_where_they_were_refused(standing: Standing) -> None:
    repeated = Counter(phase for (phase, _), count in standing.providers.count().items() if count > 1)

    # A batch that was refused because of one text is asked for again text by text: those are calls of their own.
    assert repeated == {"extract": 1, "chunk": 1, "graph_extract": 1, "embed": 1}


async def test_doctor_finds_nothing(standing: Standing) -> None:
    assert await standing.app.examine() == []


def _write_library(folder: Path) -> None:
    for n in range(NEIGHBOURS):
        text = f"This note is about berth {n}. The rope of berth {n} was spliced by hand and is {n + 3} metres long."
        (folder / f"note-{n:03}.txt").write_text(text)
    for phase in PHASES:
        text = f"Misfortune of {phase}. This is what the clerk wrote about it in the book of the harbour."
        (folder / unlucky(phase)).write_text(GERMAN if phase == "validate" else text)
    with wave.open(str(folder / unlucky("extract")), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000))
