"""A store, an intake and what the database knows afterwards."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import FETCHING
from holdfast.engine.queue import Queue
from holdfast.intake.found import Found
from holdfast.intake.intake import Intake, Taken

MOST_BYTES = 1 << 20
NAMES = (
    "select id, source_name, source_location, content_hash, duplicate_of, metadata from holdfast.document order by id"
)


async def untouched(attempt: Attempt) -> Done:
    return Done()


DOCUMENTS = Pipeline(
    "documents",
    starts="uploaded",
    phases=(
        Phase(name="store", handler=untouched, done="stored", policy=FETCHING),
        Phase(name="rest", handler=untouched, done="complete"),
    ),
)


def store_in(folder: Path) -> ArtifactStore:
    (folder / "store").mkdir(exist_ok=True)
    return ArtifactStore((folder / "store").as_uri())


async def intake_for(database: Database, store: ArtifactStore, most_bytes: int = MOST_BYTES) -> Intake:
    await Queue(database).register([DOCUMENTS])
    return Intake(database, store, most_bytes=most_bytes)


async def take_in(intake: Intake, found: Iterable[Found], organisation: str = "acme", **order: Any) -> list[Taken]:
    return [taken async for taken in intake.take_in(found, organisation=organisation, **order)]


def write(folder: Path, **contents: str) -> Path:
    """Text files in a folder, by their stems."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.txt").write_text(content)
    return folder


def results(taken: Iterable[Taken]) -> list[tuple[str, str]]:
    return [(item.found.name, str(item.result)) for item in taken]


async def documents(database: Database) -> list[dict[str, Any]]:
    return [dict(row) for row in await database.fetch(NAMES)]
