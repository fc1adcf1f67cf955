"""Proves the invariants on a live database, and mends what can be mended at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from holdfast.db.connection import Connection, Database
from holdfast.engine.invariants import CHECKS, Check, Subject
from holdfast.engine.journal import Journal, Waiting
from holdfast.engine.patience import ask_once

Id: TypeAlias = int | str

IDS_SHOWN = 20
JOURNAL = "i22_journal_is_recorded"
BATCH = 100
CHECK_SECONDS = 3600.0  # millions of rows may be read; a lost connection is noticed by the next, short, statement

# Money first, because ending an attempt settles its reservation; then what is still claimed, because a job must have
# come back before it can be moved on; then the rest.
REPAIRS: Mapping[str, tuple[str, ...]] = {
    "i10_equals_ledger": ("i10_equals_ledger",),
    "i04_working_has_worker": ("i04_working_has_worker",),
    "i19_no_dead_worker": ("i19_no_dead_worker",),
    "i06_no_stray_reservation": ("i06_no_stray_reservation",),
    "i02_not_open_again": ("end_wait", "i02_not_open_again"),
    "i11_total_cost": ("i11_total_cost",),
    "i11_job_counters": ("i11_job_counters",),
    "i11_document_failures": ("i11_document_failures",),
    "i12_permanent_is_not_due": ("i12_permanent_is_not_due",),
    "i20_waits_for_something": ("i20_waits_for_something",),
    "i20_answer_moves_on": ("i20_answer_moves_on",),
}

_REPAIRS = Path(__file__).parent / "repairs"
_OFFENDING = "with moment (at) as (select $1::timestamptz), offending (id) as (\n{check}\n)\n"
_COUNT = _OFFENDING + "select count(*) as count, (array_agg(id order by id))[:{shown}] as ids from offending"
_ALL = _OFFENDING + "select id from offending order by id"


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant that does not hold. `ids` are the first of `count` jobs, documents and so on."""

    check: str
    invariant: str
    title: str
    subject: Subject
    count: int
    ids: tuple[Id, ...]
    explanation: str
    mend: str
    repairable: bool


@dataclass(frozen=True, slots=True)
class Repair:
    """What was mended: the finding's check and every id."""

    check: str
    invariant: str
    title: str
    subject: Subject
    ids: tuple[Id, ...]


def journal_findings(waiting: Waiting | None) -> list[Finding]:
    """What lies paid for on this disk, as the doctor tells it: one finding for all, or none."""
    if waiting is None:
        return []
    return [
        Finding(
            check=JOURNAL,
            invariant="I22",
            title="a paid result of a dead worker is on this disk and not recorded",
            subject="job",
            count=waiting.count,
            ids=waiting.jobs[:IDS_SHOWN],
            explanation=f"They are in {waiting.place}, and would be paid for again: start a worker with this "
            "HOLDFAST_HOME first, before anything takes these jobs back.",
            mend="Start a worker with this HOLDFAST_HOME: it records them first.",
            repairable=True,
        )
    ]


async def record_journal(journal: Journal, database: Database) -> list[Repair]:
    """Record what dead workers left on this disk: first of all, for other repairs take such jobs back."""
    recorded = await journal.replay(database, patience=ask_once)
    jobs = sorted({subject.job for subject in recorded if subject.job is not None})
    return [Repair(JOURNAL, "I22", "paid results on this disk are recorded", "job", tuple(jobs))] if jobs else []


async def examine(database: Database) -> list[Finding]:
    """Run every check on one read-only snapshot; nothing found means that the invariants hold. Locks nothing.

    Reads whole tables: on millions of jobs it takes a while, and vacuum waits for it that long.
    """
    async with database.transaction() as connection:
        moment = await _take_snapshot(connection)
        found = [await _count(connection, check, moment) for check in CHECKS]
    return [finding for finding in found if finding is not None]


async def repair(database: Database, *, actor: str = "doctor") -> list[Repair]:
    """Mend what can be mended without a person's judgement; safe at any time, by any number of callers.

    Each batch is a short transaction that locks its rows, decides again, and writes the audit log. Rows locked by
    others and jobs that a live worker holds are left as they are: repeat to reach them.
    """
    by_name = {check.name: check for check in CHECKS}
    repairs: list[Repair] = []
    for name in REPAIRS:
        check = by_name[name]
        mended = await mend(database, check, await _offending(database, check), actor=actor)
        if mended:
            repairs.append(Repair(name, check.invariant, check.title, check.subject, tuple(mended)))
    return repairs


async def mend(database: Database, check: Check, ids: Sequence[Id], *, actor: str) -> list[Id]:
    """Mend those of the rows that still break the check, and say which; the others do not change."""
    mended: list[Id] = []
    for start in range(0, len(ids), BATCH):
        mended += await _mend_batch(database, check, ids[start : start + BATCH], actor=actor)
    return mended


async def _take_snapshot(connection: Connection) -> datetime:
    """Fix what the transaction sees and the time that goes with it: a later clock must not judge older rows."""
    await connection.execute("set transaction isolation level repeatable read, read only")
    await connection.execute("set local work_mem = '64MB'")
    moment: datetime = await connection.fetchval("select holdfast.clock()")
    return moment


async def _count(connection: Connection, check: Check, moment: datetime) -> Finding | None:
    sql = _COUNT.format(check=check.sql, shown=IDS_SHOWN)
    row = await connection.fetchrow(sql, moment, timeout=CHECK_SECONDS)
    if row is None or not row["count"]:
        return None
    return Finding(
        check.name,
        check.invariant,
        check.title,
        check.subject,
        row["count"],
        tuple(row["ids"]),
        check.explanation,
        check.mend,
        check.name in REPAIRS,
    )


async def _offending(database: Database, check: Check) -> list[Id]:
    async with database.transaction() as connection:
        moment = await _take_snapshot(connection)
        rows = await connection.fetch(_ALL.format(check=check.sql), moment, timeout=CHECK_SECONDS)
    return [row["id"] for row in rows]


async def _mend_batch(database: Database, check: Check, batch: Sequence[Id], *, actor: str) -> list[Id]:
    """Lock, then look again: only a statement begun under the lock sees all that was committed before it."""
    mended: list[Id] = []
    async with database.transaction() as connection:
        await connection.execute("set transaction isolation level read committed")
        locked = [row["id"] for row in await connection.fetch(_repair_sql(f"lock_{check.subject}"), batch)]
        for statement in REPAIRS[check.name]:
            mended = [row["id"] for row in await connection.fetch(_repair_sql(statement), locked, actor)]
    return mended


def _repair_sql(name: str) -> str:
    return (_REPAIRS / f"{name}.sql").read_text()
