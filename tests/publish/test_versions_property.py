"""Random histories of a few locations, judged by a small model: each answers with its newest finished content."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from holdfast.db.connection import Database
from tests.publish.library import Library, open_library

LOCATIONS = ["a.txt", "b.txt", "c.txt"]
CONTENTS = ["apples", "pears", "plums", "figs", "dates", "limes"]
STEPS = 40


@dataclass(slots=True)
class Run:
    """One time that content goes through the pipeline: copies of it wait for the same run."""

    document: int
    content: str
    finished: bool = False


@dataclass(slots=True)
class Model:
    """Every version that each location ever had, oldest first, and the one run of each content."""

    versions: dict[str, list[Run]] = field(default_factory=lambda: {location: [] for location in LOCATIONS})
    runs: dict[str, Run] = field(default_factory=dict)

    def answers(self) -> list[tuple[str, str]]:
        """Content and location of each newest finished version."""
        newest = (
            (next((run for run in reversed(self.versions[place]) if run.finished), None), place) for place in LOCATIONS
        )
        return sorted((run.content, place) for run, place in newest if run is not None)


async def take_in(library: Library, model: Model, chance: random.Random) -> None:
    location, content = chance.choice(LOCATIONS), chance.choice(CONTENTS)
    run = model.runs.get(content)
    document = await library.take_in(content, location)
    assert (await library.document(document))["duplicate_of"] == (run.document if run else None)
    model.versions[location].append(model.runs.setdefault(content, Run(document, content)))


async def finish(library: Library, model: Model, chance: random.Random) -> None:
    open_runs = {run.document: run for history in model.versions.values() for run in history if not run.finished}
    if open_runs:
        run = open_runs[chance.choice(sorted(open_runs))]
        await library.finish(run.document)
        run.finished = True


@pytest.mark.parametrize("seed", range(12))
async def test_any_history_leaves_each_location_with_its_newest_finished_content(database: Database, seed: int) -> None:
    library, model, chance = await open_library(database), Model(), random.Random(seed)
    for step in range(STEPS):
        await chance.choices([take_in, finish], [5, 4])[0](library, model, chance)
        assert await library.answers() == model.answers(), f"step {step}"


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
