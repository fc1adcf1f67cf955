"""A worker dies in each phase of one document in turn: others finish it, and nothing is paid twice but what was cut."""

import asyncio
import wave
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from io import BytesIO

import pytest
import pytest_asyncio

from holdfast.app import App
from holdfast.intake.sources.links import linked
from tests.intake.web import Web, respond, web
from tests.walks.conftest import ATTENTIVE
from tests.walks.documents.gate import Gate
from tests.walks.documents.ground import LONG, ORGANISATION, PHASES, Ground, attempts, jobs, take_in, until
from tests.walks.documents.providers import Providers
from tests.walks.documents.worker_process import WorkerProcess
from tests.walks.losing import lose

pytestmark = [pytest.mark.asyncio(loop_scope="module"), LONG]

NAME = "round.wav"
# Enough talk for several calls of every kind: more than 128 passages, which the embedder takes at once.
TALK = [
    f"On round {n} the watchman tries lock {n * 7}, notes the height of the water at staff {n % 12}, and looks for "
    f"drift wood at pile {n * 3} before he rings the small bell beside the door of shed {n % 5} and goes on."
    for n in range(180)
]
CAUGHT_SECONDS = 100.0
PAYING = ("extract", "chunk", "embed", "graph_extract")


@dataclass(frozen=True, slots=True)
class Walk:
    """What a finished walk left behind."""

    app: App
    providers: Providers
    site: Web


class Procession:
    """Workers that follow each other, each killed in the next phase."""

    def __init__(self, ground: Ground, app: App, providers: Providers, site: Web, gate: Gate) -> None:
        self._ground = ground
        self._app = app
        self._providers = providers
        self._site = site
        self._gate = gate
        self._workers: list[WorkerProcess] = []

    async def walk(self) -> None:
        """Kill a worker in each phase. The next one is ready by then, so that it takes over at once."""
        ends = await self._set_trap(PHASES[0])
        await self.start()
        for following in (*PHASES[1:], None):
            await self._until(ends)
            await self.start()
            await self._workers[-2].kill()
            await self._gate.open()
            ends = self._is_done if following is None else await self._set_trap(following)
            await lose(self._app.database, pid=self._workers[-2].pid)
        await self._until(ends)

    async def _until(self, question: Callable[[], Awaitable[bool]]) -> None:
        """Wait for it, unless something failed that was not meant to."""

        async def answer() -> bool:
            error = await self._app.database.fetchval("select last_error from holdfast.pipeline_job")
            assert error is None or error["category"] == "worker_lost", error
            return await question()

        await until(answer, CAUGHT_SECONDS)

    async def start(self) -> None:
        settings = {"database_url": self._ground.dsn, "home": self._ground.folder / "home", **ATTENTIVE}
        settings |= {"storage_url": self._ground.store.as_uri(), "chunk_tokens": 50, "chunk_overlap_tokens": 0}
        settings |= {"allowed_hosts": "127.0.0.1", **self._providers.settings}
        worker = WorkerProcess(settings, self._ground.folder / "worker.log")
        await worker.start()
        self._workers.append(worker)

    async def end(self) -> None:
        for worker in self._workers:
            await worker.kill()

    async def _set_trap(self, phase: str) -> Callable[[], Awaitable[bool]]:
        """Have the worker that comes to this phase wait in it; what comes back tells whether one does."""
        match phase:
            case "store":
                return self._site_is_asked
            case "extract":
                return self._held(phase, after=0)
            case "chunk" | "graph_extract":
                return self._held(phase, after=5)
            case "embed":
                return self._held(phase, after=1)
            case "graph_add":
                await self._gate.close_table("holdfast.entity")
            case _:
                await self._gate.close_before_end_of(phase)
        return self._gate.is_waited_at

    def _held(self, phase: str, *, after: int) -> Callable[[], Awaitable[bool]]:
        """One call after the other is made, so who makes this one remembers all answers that came before."""
        came = self._providers.hold(phase, after=after)

        async def is_caught() -> bool:
            return came.is_set()

        return is_caught

    async def _site_is_asked(self) -> bool:
        return bool(self._site.requests)

    async def _is_done(self) -> bool:
        return bool(await self._app.database.fetchval("select state = 'done' from holdfast.pipeline_job"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def walk(common_ground: Ground) -> AsyncIterator[Walk]:
    """One document, a link to a recording, and a worker killed in each of its phases."""
    gate = await Gate.build(common_ground.dsn)
    async with web() as site, Providers() as providers:
        providers.segments = TALK
        providers.entities = ["watchman", "small bell"]
        site.answers["/round.wav"] = _silent_once(respond(_recording(), Content_Type="audio/wav"))
        async with common_ground.opened(**providers.settings) as app:
            await take_in(app, [linked(site.url("/round.wav"))])
            procession = Procession(common_ground, app, providers, site, gate)
            try:
                await procession.walk()
                yield Walk(app, providers, site)
            finally:
                await procession.end()
                await gate.tear_down()


@pytest.mark.parametrize("phase", PHASES)
async def test_phase_of_killed_worker_is_lost_once_and_completed_once(walk: Walk, phase: str) -> None:
    seen = await attempts(walk.app, NAME)

    assert seen[phase, "lost"] == 1
    assert seen[phase, "completed"] == 1


async def test_nothing_else_was_attempted(walk: Walk) -> None:
    seen = await attempts(walk.app, NAME)

    assert sum(seen.values()) == 2 * len(PHASES)


@pytest.mark.parametrize("phase", PAYING)
async def test_only_the_call_that_was_cut_is_made_again(walk: Walk, phase: str) -> None:
    calls = {asked: count for (of_phase, asked), count in walk.providers.count().items() if of_phase == phase}

    assert sorted(calls.values(), reverse=True) == [2, *[1] * (len(calls) - 1)]


async def test_link_is_followed_again_only_because_it_was_cut(walk: Walk) -> None:
    assert len(walk.site.requests) == 2


async def test_knowledge_is_whole_and_single(walk: Walk) -> None:
    document = (await jobs(walk.app))[NAME]["document_id"]
    counts = await walk.app.database.fetchrow(
        "select count(*) as chunks, max(ordinal) + 1 as last,"
        " (select count(*) from holdfast.embedding) as vectors"
        " from holdfast.chunk where generation_id = holdfast.generation_of($1)",
        document,
    )

    assert counts is not None
    assert counts["chunks"] == counts["last"] == counts["vectors"] > 128


async def test_passage_is_found_with_its_time(walk: Walk) -> None:
    found = await walk.app.search.find('"lock 700"', organisation=ORGANISATION)

    first = found.hits[0]
    assert first.place.seconds is not None
    assert first.place.seconds[0] <= 500 < first.place.seconds[1]


async def test_every_paid_answer_is_in_the_total_whoever_was_killed_after_it(walk: Walk) -> None:
    job = await walk.app.overview.job((await jobs(walk.app))[NAME]["id"])
    remembered = [one for one in job["attempts"] if one["phase"] in ("extract", "chunk", "graph_extract")]
    lost = {one["phase"]: one for one in remembered if one["outcome"] == "lost"}
    kept = await walk.app.database.fetchval("select sum(cost_usd) from holdfast.paid_answer")

    assert sum(one["cost_usd"] for one in remembered) == kept
    assert [lost[phase]["cost_usd"] > 0 for phase in ("extract", "chunk", "graph_extract")] == [False, True, True]
    assert all(one["error"]["details"] == {"cost_is_known": False} for one in lost.values())
    assert job["total_cost_usd"] == sum(one["cost_usd"] for one in job["attempts"])


async def test_crashes_of_workers_are_not_charged_to_the_document(walk: Walk) -> None:
    job = await walk.app.database.fetchrow("select retry_count, crash_count, last_error from holdfast.pipeline_job")

    assert job is not None
    assert (job["retry_count"], job["crash_count"], job["last_error"]) == (0, 0, None)


async def test_doctor_finds_nothing_after_the_walk(walk: Walk) -> None:
    assert await walk.app.examine(deep=True) == []


def _silent_once(answer: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Never answers the first time."""
    asked = Counter[str]()

    async def serve(writer: asyncio.StreamWriter) -> None:
        asked["times"] += 1
        if asked["times"] == 1:
            await asyncio.Event().wait()
        writer.write(answer)
        await writer.drain()

    return serve


def _recording() -> bytes:
    """A second of silence: the stand-in hears what it was told to."""
    written = BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000))
    return written.getvalue()
