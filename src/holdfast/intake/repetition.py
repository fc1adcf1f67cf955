"""What came in before under an idempotency key."""

from dataclasses import dataclass

from holdfast.db.connection import Database
from holdfast.intake.found import Found


@dataclass(frozen=True, slots=True)
class Earlier:
    """A document that came in under a key, and what was answered then."""

    document_id: int
    job_id: int
    result: str
    source_location: str | None
    content_hash: str | None

    def is_of(self, found: Found, content_hash: str | None) -> bool:
        """Whether this is what comes now: the same link, or a file with the same content."""
        if found.content is None:
            return self.source_location == found.location
        return self.content_hash == content_hash


async def submission_under(database: Database, organisation: str, key: str) -> Earlier | None:
    """What an organisation sent under this key; None when it is new."""
    row = await database.fetchrow(
        "select document_id, job_id, result, source_location, content_hash from holdfast.submission_under($1, $2)",
        organisation,
        key,
    )
    return Earlier(*row) if row else None
