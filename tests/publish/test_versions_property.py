"""Random histories of a few locations, judged by a small model: each location's newest finished content, once."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from holdfast.db.connection import Database
from tests.publish.library import Library, open_library

LOCATIONS = ["a.txt", "b.txt", "c.txt"]
CONTENTS = ["apples", "pears", "plums"]
STEPS = 40


@dataclass(slots=True)
class Run:
    """One time that content goes through the pipeline: copies of it wait for the same run."""

    document: int
    content: str
    finished: bool = False


@dataclass(slots=True)
class Model:
    """Every version that each location ever had, oldest first."""

    versions: dict[str, list[Run]] = field(default_factory=lambda: {location: [] for location in LOCATIONS})

    def wanted(self, location: str) -> list[Run]:
        """The newest finished version, and whatever came after it."""
        history = self.versions[location]
        finished = [n for n, run in enumerate(history) if run.finished]
        return history[finished[-1] :] if finished else history

    def alive(self, content: str) -> Run | None:
        """The run that new copies of the content join: one that some location still wants."""
        runs = (run for location in LOCATIONS for run in self.wanted(location) if run.content == content)
        return next(runs, None)

    def answers(self) -> dict[str, set[str]]:
        """Each content that answers, and the locations of which one may be shown for it."""
        found: dict[str, set[str]] = {}
        for location in LOCATIONS:
            current = self.wanted(location)[:1]
            if current and current[0].finished:
                found.setdefault(current[0].content, set()).add(location)
        return found


async def take_in(library: Library, model: Model, chance: random.Random) -> None:
    location, content = chance.choice(LOCATIONS), chance.choice(CONTENTS)
    run = model.alive(content)
    document = await library.take_in(content, location)
    row = await library.document(document)
    assert (row["duplicate_of"] is not None) == (run is not None), "a run is joined while it is wanted, and only then"
    model.versions[location].append(run or Run(document, content))


async def finish(library: Library, model: Model, chance: random.Random) -> None:
    open_runs = {run.document: run for history in model.versions.values() for run in history if not run.finished}
    if open_runs:
        run = open_runs[chance.choice(sorted(open_runs))]
        await library.finish(run.document)
        run.finished = True


@pytest.mark.parametrize("seed", range(12))
async def test_any_history_leaves_each_locations_newest_finished_content_once(database: Database, seed: int) -> None:
    library, model, chance = await open_library(database), Model(), random.Random(seed)
    for step in range(STEPS):
        await chance.choices([take_in, finish], [5, 4])[0](library, model, chance)
        found = await library.answers()
        expected = model.answers()
        assert sorted(content for content, _ in found) == sorted(expected), f"step {step}"
        assert all(location in expected[content] for content, location in found), f"step {step}"


async def test_histories_of_many_at_once_end_in_the_same_place(database: Database) -> None:
    """The order is anyone's; in the end every location's newest version is finished, so only that may answer."""
    library, chance = await open_library(database), random.Random(7)
    newest = {}
    documents = []
    for n in range(60):
        location, content = chance.choice(LOCATIONS), chance.choice(CONTENTS) if n < 40 else f"new {n}"
        documents.append(await library.take_in(content, location))
        newest[location] = content
    claimed = await library.scenario.claim("publish", 1000)
    library.claimed |= {attempt.document.id: attempt for attempt in claimed}
    chance.shuffle(claimed)
    await asyncio.gather(*(library.finish(attempt.document.id) for attempt in claimed))
    assert await library.answers() == sorted((content, location) for location, content in newest.items())
