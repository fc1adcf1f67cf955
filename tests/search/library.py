"""Documents with passages, written as the phases before embedding would have left them."""

from dataclasses import dataclass
from typing import Any

from holdfast.db.connection import Database

INSERT_DOCUMENT = """
insert into holdfast.document
    (organisation, source_name, source_platform, source_location, metadata, created_at, searchable_at)
values ($1, $2, $3, $4, $5, holdfast.clock(), case when $6 then holdfast.clock() end)
returning id
"""
ANSWER = "update holdfast.document set generation_id = id where generation_id is null and searchable_at is not null"
PUT_PASSAGE = """
insert into holdfast.chunk (generation_id, ordinal, organisation, id, start_at, end_at, text, context, place, text_hash,
                            configuration, words)
select coalesce($8::bigint, holdfast.generation_of(d.id), d.id), $2::integer, d.organisation,
       substr(md5(concat(d.id, ' ', $2::integer)), 1, 24), 0, length($3::text), $3,
       $4::text, $5, holdfast.hash_of_embedded($4, $3), $6::text::regconfig,
       setweight(to_tsvector($6::text::regconfig, $7), 'A') || setweight(to_tsvector($6::text::regconfig, $3), 'B')
       || setweight(to_tsvector($6::text::regconfig, $4), 'C')
from holdfast.document d
where d.id = $1
on conflict (generation_id, ordinal) do update
set text = excluded.text, text_hash = excluded.text_hash, words = excluded.words
"""


@dataclass(frozen=True, slots=True)
class Library:
    """The shelves of a test."""

    database: Database

    async def add(
        self,
        *passages: str,
        organisation: str = "acme",
        name: str = "notes.md",
        platform: str = "upload",
        location: str | None = None,
        metadata: dict[str, Any] | None = None,
        searchable: bool = True,
        **facts: Any,
    ) -> int:
        """A document with these passages; says its id."""
        document_id: int = await self.database.fetchval(
            INSERT_DOCUMENT, organisation, name, platform, location, metadata or {}, searchable
        )
        await self.database.execute(ANSWER)
        for ordinal, text in enumerate(passages):
            await self.put(document_id, ordinal, text, **facts)
        return document_id

    async def put(
        self,
        document_id: int,
        ordinal: int,
        text: str,
        *,
        context: str = "",
        heading: str = "",
        place: dict[str, Any] | None = None,
        configuration: str = "english",
        generation_id: int | None = None,
    ) -> None:
        """Write a passage, or another text in its place."""
        await self.database.execute(
            PUT_PASSAGE, document_id, ordinal, text, context, place or {}, configuration, heading, generation_id
        )
