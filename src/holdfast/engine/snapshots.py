"""Finds who keeps old row versions from being cleaned up: a queue updates its rows all the time and slows with them."""

from datetime import timedelta

import asyncpg

from holdfast.db.connection import Database
from holdfast.db.sessions import Session

OLD = timedelta(minutes=5)
# Where nobody says when it began: as much as a busy queue writes in some minutes.
MANY_TRANSACTIONS = 100_000
NAMED_AT_MOST = 3

EFFECT = "row versions cannot be cleaned up since, and the queue slows down"
HIDDEN = 'this login may not see since when: grant pg_read_all_stats to "{role}"'

# Process, application, user, snapshot and transaction are shown of every session, the rest only to who may see it. A
# vacuum is in nobody's way.
SESSIONS = """
select a.pid, nullif(a.application_name, '') as application, a.usename as user, a.state, a.xact_start as since,
       s.transactions, current_user as role
from pg_stat_activity a
cross join lateral (select greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions) s
where a.pid <> pg_backend_pid() and (a.datname = current_database() or a.datid is null)
  and a.backend_type is distinct from 'autovacuum worker'
  and case when a.xact_start is null then s.transactions >= $2
           else s.transactions is not null and a.xact_start < holdfast.clock() - $1::interval end
order by s.transactions desc, a.pid
limit $3
"""
PREPARED = """
select gid as name, owner, prepared as since, age(transaction) as transactions
from pg_prepared_xacts
where database = current_database() and prepared < holdfast.clock() - $1::interval
order by transactions desc
limit $2
"""
SLOTS = """
select slot_name as name, active, age(xmin) as transactions
from pg_replication_slots
where age(xmin) >= $1
order by transactions desc
limit $2
"""


async def old_snapshots(
    database: Database, *, older_than: timedelta = OLD, after_transactions: int = MANY_TRANSACTIONS
) -> list[str]:
    """Who keeps the oldest snapshots, each with what to do about it; nobody, if none is that old. Locks nothing."""
    async with database.transaction() as connection:
        sessions = await connection.fetch(SESSIONS, older_than, after_transactions, NAMED_AT_MOST)
        prepared = await connection.fetch(PREPARED, older_than, NAMED_AT_MOST)
        slots = await connection.fetch(SLOTS, after_transactions, NAMED_AT_MOST)
    found = [
        *((row["transactions"], _session(row)) for row in sessions),
        *((row["transactions"], _prepared(row)) for row in prepared),
        *((row["transactions"], _slot(row)) for row in slots),
    ]
    found.sort(key=lambda one: -one[0])
    return [warning for _, warning in found[:NAMED_AT_MOST]]


def _session(row: asyncpg.Record) -> str:
    session = Session(row["pid"], row["application"], row["user"], row["state"], row["since"])
    hidden = "" if session.since else f"; {HIDDEN.format(role=row['role'])}"
    return (
        f"{session} keeps a snapshot of {row['transactions']:,} transactions ago: {EFFECT}{hidden}; let it finish, or "
        f"end it with: {session.remedy}"
    )


def _prepared(row: asyncpg.Record) -> str:
    name = row["name"]
    return (
        f'prepared transaction {name} (user "{row["owner"]}", since {row["since"]:%Y-%m-%d %H:%M:%S %Z}) keeps what '
        f"was there {row['transactions']:,} transactions ago: {EFFECT}; end it with: commit prepared '{name}', or "
        f"rollback prepared '{name}'"
    )


def _slot(row: asyncpg.Record) -> str:
    return (
        f"replication slot {row['name']} ({'active' if row['active'] else 'not in use'}) keeps what was there "
        f"{row['transactions']:,} transactions ago: {EFFECT}; let its standby catch up, or remove it with: "
        f"select pg_drop_replication_slot('{row['name']}')"
    )
