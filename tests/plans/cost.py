"""What a statement costs: the pages it touches and the large tables it reads from end to end.

EXPLAIN counts the pages of everything that a function does; the statistics of the running transaction tell which
tables were scanned, also by plans inside functions, which no EXPLAIN shows.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from tests.million import FILLED_TABLES

# After five calls the server may settle for one plan for all values.
CALLS_UNTIL_PLANS_ARE_CACHED = 10

ROWS_READ = """
select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
from pg_stat_xact_user_tables where schemaname = 'holdfast'
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """`share` is the pages touched as part of all pages that the large tables have."""

    share: float
    scanned: frozenset[str]


async def cost_of(connection: asyncpg.Connection, statement: str, *, first: Sequence[str] = ()) -> Cost:
    """Measure one call. Whatever it, or what runs first, writes is rolled back."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        # Test processes share the database: what one prepares must not wait for another's locks, nor it for theirs.
        await connection.execute("select pg_advisory_xact_lock(1)")
        for preparation in first:
            await connection.execute(preparation)
        before = await _scans(connection)
        (plan,) = json.loads(
            await connection.fetchval(f"explain (analyze, buffers, format json) {statement}", timeout=60)
        )
        after = await _scans(connection)
        scanned = frozenset(table for table in FILLED_TABLES if after[table] > before[table])
        return Cost(_touched(plan) / max(1, await _stored_pages(connection)), scanned)
    finally:
        await transaction.rollback()


async def rows_read(connection: asyncpg.Connection, statement: str) -> int:
    """How many rows of the schema's tables it reads, by scan or by index; what it writes is rolled back.

    Unlike pages, rows do not depend on what a table held before, nor on what the session reads of the catalogue.
    """
    transaction = connection.transaction()
    await transaction.start()
    try:
        before = await connection.fetchval(ROWS_READ)
        await connection.fetch(statement)
        return int(await connection.fetchval(ROWS_READ) - before)
    finally:
        await transaction.rollback()


async def keep_from_the_planner(connection: asyncpg.Connection, tables: Sequence[str]) -> None:
    """Empty them, know nothing about them, and let nobody find out: plans then stay as they were made early."""
    for table in tables:
        await connection.execute(f"alter table holdfast.{table} set (autovacuum_enabled = off)")
        await connection.execute(f"truncate holdfast.{table} cascade")


async def warm_up(connection: asyncpg.Connection, statement: str, *, first: Sequence[str] = ()) -> None:
    """Call it until its plans are cached in this session."""
    for _ in range(CALLS_UNTIL_PLANS_ARE_CACHED):
        await cost_of(connection, statement, first=first)


def _touched(plan: dict[str, Any]) -> int:
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


async def _scans(connection: asyncpg.Connection) -> dict[str, int]:
    rows = await connection.fetch(
        "select relname, seq_scan from pg_stat_xact_user_tables where schemaname = 'holdfast'"
    )
    return {row["relname"]: row["seq_scan"] for row in rows}


async def _stored_pages(connection: asyncpg.Connection) -> int:
    return await connection.fetchval(
        """
        select sum(pg_relation_size(table_name::regclass))::bigint / current_setting('block_size')::integer
        from unnest($1::text[]) table_name
        """,
        [f"holdfast.{table}" for table in FILLED_TABLES],
    )
