"""What stands at a location already."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.db.connection import Database
from holdfast.intake.found import Found

Location: TypeAlias = tuple[str, str]
"""A platform and a location on it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest version at a location and the state of the job that carries its content."""

    document_id: int
    content_hash: str | None
    size: int | None
    job_id: int | None
    state: str | None
    retried: bool | None

    def holds(self, content_hash: str) -> bool:
        """Whether this content need not be taken in again: it is done, on its way or failed, but not called off."""
        return self.content_hash == content_hash and self.state not in (None, "cancelled")

    @property
    def has_failed(self) -> bool:
        """Whether its job came to an end that someone will want to mend."""
        return self.state in ("failed", "deadletter")

    @property
    def is_under_way(self) -> bool:
        """Whether its job goes on without anyone's help."""
        return self.state in ("queued", "working", "held") or bool(self.retried)

    @property
    def is_awaited(self) -> bool:
        """Whether it was not fetched yet and a job still means to."""
        return self.content_hash is None and self.state in ("queued", "working", "held", "failed")


async def current_documents(
    database: Database, found: Iterable[Found], *, organisation: str, pipeline: str
) -> Mapping[Location, Standing]:
    """What stands where these documents were found: one query per platform, however many they are."""
    locations: dict[str, list[str]] = defaultdict(list)
    for item in found:
        if item.location is not None:
            locations[item.platform].append(item.location)
    standing: dict[Location, Standing] = {}
    for platform, names in locations.items():
        rows = await database.fetch(
            "select location, document_id, content_hash, size, job_id, state, retried"
            " from holdfast.current_documents($1, $2, $3, $4)",
            organisation,
            platform,
            pipeline,
            names,
        )
        standing |= {(platform, location): Standing(*fields) for location, *fields in rows}
    return standing
