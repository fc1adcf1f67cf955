"""Databases of the older kind, made for tests: every status with every state, and whatever may stand in an error."""

from itertools import product

STATUSES = (
    *("pending_upload", "uploaded", "parse_queued", "parsed", "parse_validated", "chunking", "chunks_stored"),
    *("embedding_queued", "embedding_in_progress", "embeddings_stored", "complete", "duplicate"),
    *("failed_parse", "failed_chunking", "failed_embedding"),
    *("failed_upload", None),
)
STATES = ("queued", "working", "retryable", "done", "deadletter", "lost", None)
ERRORS = (
    None,
    '{"error": "timed out after 30 s", "category": "network_timeout", "component": "parse", "retryable": true}',
    '{"error": "torn", "category": "corrupt_input", "retryable": false}',
    '{"message": "no credit left", "retryable": "no", "retry_count": 2, "failed_at": "2025-11-03T10:00:00+01:00"}',
    '{"error": 17, "category": "weather", "component": null, "extra": {"deep": [1, 2]}}',
    '{"error": "nul \\u0000 and half \\ud800 a pair", "number": 1e999}',
    '"just a text"',
    "[]",
    "null",
    "17",
    "{}",
)
COMBINATIONS = list(product(STATUSES, STATES, ERRORS))

# As small as what it is for allows: an enum, a check and a trigger that would refuse our words.
TABLE = """
create type public.old_state as enum ('queued', 'working', 'retryable', 'done', 'deadletter', 'lost');
create table public.documents (
    id bigint primary key,
    tenant_id text,
    file_name text,
    source_url text,
    content_hash text,
    status text check (status not in ('parsing', 'publishing')),
    state public.old_state,
    last_error json,
    retry_count integer,
    metadata jsonb,
    created_at timestamptz default '2025-11-03 10:00:00+01',
    updated_at timestamptz default '2025-11-04 10:00:00+01'
);
create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'read only'; end $$;
"""
GUARD = (
    "create trigger refuse before update or delete on public.documents for each row execute function public.refuse()"
)

# Some contents come twice, some rows name no organisation, no name or no place.
FILL = """
insert into public.documents (
    id, tenant_id, file_name, source_url, content_hash, status, state, last_error, retry_count, metadata)
select n, case when n % 7 > 0 then 'org-' || n % 7 end, case when n % 5 > 0 then 'report ' || n || '.pdf' end,
       case when n % 11 > 0 then 'https://old.example/' || n end, case when n % 3 = 0 then 'hash-' || n / 12 end,
       ($1::text[])[c], ($2::text[])[c]::public.old_state, ($3::text[])[c]::json, nullif(n % 6, 5),
       (case n % 4 when 0 then null when 1 then '{"team": "sales"}' when 2 then '["odd"]' else '{}' end)::jsonb
from (select n, 1 + n % cardinality($1::text[]) as c from generate_series(0, $4::bigint - 1) n) numbered
"""
EVERY_ROW = "select md5(string_agg(md5(t::text), '' order by id)) from public.documents t"


def used_up(row: int) -> bool:
    """Whether that row was retried three times or more and its error does not say that it cannot pass."""
    error = COMBINATIONS[row % len(COMBINATIONS)][2] or ""
    return row % 6 in (3, 4) and '"retryable": false' not in error and '"retryable": "no"' not in error


def filling(rows: int) -> tuple[str, list[str | None], list[str | None], list[str | None], int]:
    """The statement that fills the table, with its arguments."""
    statuses, states, errors = (list(column) for column in zip(*COMBINATIONS, strict=True))
    return FILL, statuses, states, errors, rows
