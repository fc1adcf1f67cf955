"""What the database holds, in the model's words, and the invariants as plain queries."""

from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.engine.model import Model
from tests.engine.model_records import Scope

Row = dict[str, Any]
Snapshot = dict[str, dict[Any, Any]]

JOBS = """
select j.id, j.document_id, j.phase, j.status, j.state, j.run, j.token, j.worker_id, j.started_at, j.progress,
       j.ready_at, j.retry_count, j.crash_count, j.total_cost_usd, j.audit_id,
       case when j.hold_id is not null then array[h.provider, h.organisation, h.pipeline, h.phase, h.budget] end as hold
from holdfast.pipeline_job j
left join holdfast.hold h on h.id = j.hold_id
"""
DOCUMENTS = """
select id, failure_state, failure_count, failures, cool_down_until, metadata from holdfast.document
"""
ATTEMPTS = """
select job_id, token, outcome, cost_usd, (error #>> '{details,cost_is_known}')::boolean as known,
       (error #>> '{details,resumed_as}')::bigint as resumed_as
from holdfast.pipeline_phase
"""
HOLDS = """
select id, provider, organisation, pipeline, phase, budget, nullif(until, 'infinity') as until,
       released_at is not null as released
from holdfast.hold where drained_at is null
"""
DAYS = "select day, limit_usd, reserved_usd, spent_usd, overrun_usd, refusals from holdfast.budget_day"
ENTRIES = """
select job_id, token, day, reserved_usd, spent_usd, overrun_usd, settled_at is null as open from holdfast.budget_entry
"""

# Each query returns what breaks its invariant.
INVARIANTS = {
    "I1 every job stands in one known state and has its document": """
        select j.id from holdfast.pipeline_job j left join holdfast.document d on d.id = j.document_id
        where d.id is null or j.organisation <> d.organisation
           or j.state not in ('queued', 'working', 'failed', 'held', 'done', 'deadletter', 'cancelled')""",
    "I2 a phase completes at most once in a run": """
        select job_id, run, phase from holdfast.pipeline_phase where outcome = 'completed'
        group by 1, 2, 3 having count(*) > 1""",
    "I3 a phase opens only after the one before it completed": """
        select a.job_id, a.phase from holdfast.attempt a
        join holdfast.phase p on p.pipeline = a.pipeline and p.name = a.phase
        join holdfast.phase b on b.pipeline = p.pipeline and b.position = p.position - 1
        where not exists (select from holdfast.pipeline_phase c where c.job_id = a.job_id and c.phase = b.name
                          and c.outcome = 'completed' and c.token < a.token)""",
    "I4 working means token, worker and start": """
        select id from holdfast.pipeline_job
        where (state = 'working') <> (worker_id is not null and started_at is not null and token > 0)""",
    "I5 one attempt per token, none beyond the job's": """
        select a.job_id, a.token from holdfast.attempt a join holdfast.pipeline_job j on j.id = a.job_id
        group by a.job_id, a.token, j.token having count(*) > 1 or a.token > j.token""",
    "I5 every token became an attempt": """
        select j.id from holdfast.pipeline_job j left join holdfast.attempt a on a.job_id = j.id
        group by j.id having count(a.job_id) <> j.token""",
    "I9 no more retries and crashes than allowed": """
        select j.id from holdfast.pipeline_job j
        join holdfast.phase p on p.pipeline = j.pipeline and p.name = j.phase
        where j.crash_count > 3 or (j.crash_count = 3 and j.state <> 'deadletter')
           or j.retry_count > (select max(r.max_retries) from holdfast.policy_rule r where r.policy = p.policy)""",
    "I10 the budget is kept": """
        select day from holdfast.budget_day
        where reserved_usd < 0 or spent_usd < 0 or reserved_usd + spent_usd > limit_usd""",
    "I10 the budget equals its ledger": """
        select d.day from holdfast.budget_day d left join holdfast.budget_entry e using (budget_id, day)
        group by d.budget_id, d.day, d.reserved_usd, d.spent_usd, d.overrun_usd
        having d.reserved_usd <> coalesce(sum(e.reserved_usd), 0) or d.spent_usd <> coalesce(sum(e.spent_usd), 0)
            or d.overrun_usd <> coalesce(sum(e.overrun_usd), 0)""",
    "I10 only a working attempt has money set aside": """
        select e.job_id from holdfast.budget_entry e join holdfast.pipeline_job j on j.id = e.job_id
        where e.reserved_usd > 0 and (j.state <> 'working' or j.token <> e.token)""",
    "I11 a job's cost is the sum of its attempts'": """
        select j.id from holdfast.pipeline_job j left join holdfast.pipeline_phase a on a.job_id = j.id
        group by j.id having j.total_cost_usd <> coalesce(sum(a.cost_usd), 0)""",
    "I11 a document's failures are the sum of its categories'": """
        select d.id from holdfast.document d
        where d.failure_count <> (select coalesce(sum(value::integer), 0) from jsonb_each_text(d.failures))""",
    "I12 what will not be retried has no successor but by an operator, or because it was not lost at all": """
        select a.job_id, a.token from holdfast.pipeline_phase a
        join holdfast.attempt b on b.job_id = a.job_id and b.token = a.token + 1
        where a.error ->> 'retryable' = 'false' and (a.error -> 'details' ? 'resumed_as') is not true
          and not exists (select from holdfast.audit_log l where l.job_id = a.job_id
                          and l.action in ('retry', 'reset') and (l.before ->> 'token')::bigint = a.token)""",
    "I12 no retry before its time but by an operator": """
        select a.job_id, a.token from holdfast.pipeline_phase a
        join holdfast.attempt b on b.job_id = a.job_id and b.token = a.token + 1
        where a.outcome in ('failed', 'timeout') and b.started_at < (a.error ->> 'retry_at')::timestamptz
          and not exists (select from holdfast.audit_log l where l.job_id = a.job_id
                          and l.action in ('retry', 'reset') and (l.before ->> 'token')::bigint = a.token)""",
}

BROKEN = " union all ".join(
    f"select '{name.replace(chr(39), chr(39) * 2)}' as invariant, to_jsonb(broken) as found from ({sql}) broken"
    for name, sql in INVARIANTS.items()
)


class Observer:
    """Reads the database in between the verbs and remembers what must never change back."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        self._before: dict[int, Row] = {}

    def rows(self, sql: str) -> list[Row]:
        """Every row, by column name."""
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(sql.encode()).fetchall()

    def check(self, model: Model) -> None:
        """Compare with the model, then look for broken invariants."""
        expected, found = predicted(model), self._snapshot()
        for kind, records in expected.items():
            assert found[kind].keys() == records.keys(), f"{kind}: {found[kind].keys() ^ records.keys()}"
            for key, record in records.items():
                assert found[kind][key] == record, f"{kind} {key}: found {found[kind][key]}, expected {record}"
        broken = self.rows(BROKEN)
        assert not broken, f"{broken}"
        self._check_history()

    def _snapshot(self) -> Snapshot:
        return {
            "job": {row["id"]: _job(row) for row in self.rows(JOBS)},
            "document": {row.pop("id"): row for row in self.rows(DOCUMENTS)},
            "attempt": {(row.pop("job_id"), row.pop("token")): tuple(row.values()) for row in self.rows(ATTEMPTS)},
            "hold": {_scope(row): (row["until"], row["released"]) for row in self.rows(HOLDS)},
            "day": {row.pop("day"): tuple(row.values()) for row in self.rows(DAYS)},
            "entry": {(row.pop("job_id"), row.pop("token")): tuple(row.values()) for row in self.rows(ENTRIES)},
        }

    def _check_history(self) -> None:
        """I5: tokens only grow. I8: a final state stays, unless a new audit row says who reopened it."""
        rows = {row["id"]: row for row in self.rows(JOBS)}
        for job, before in self._before.items():
            now = rows[job]
            assert now["token"] >= before["token"], f"I5: the token of job {job} went back"
            reopened = now["state"] != before["state"] and now["audit_id"] != before["audit_id"]
            stays = now["state"] == before["state"] or before["state"] not in ("done", "deadletter", "cancelled")
            assert stays or (reopened and before["state"] != "done"), f"I8: job {job} left {before['state']}"
        self._before = rows


def predicted(model: Model) -> Snapshot:
    """The model in the snapshot's shape."""
    return {
        "job": {
            j.id: (
                *(j.document, j.phase, j.status, j.state, j.run, j.token, j.worker, j.started_at, j.progress),
                *(j.ready_at, j.hold, j.retry_count, j.crash_count, j.cost),
            )
            for j in model.jobs.values()
        },
        "document": {
            d.id: {
                "failure_state": d.failure_state,
                "failure_count": sum(d.failures.values()),
                "failures": d.failures,
                "cool_down_until": d.cool_down_until,
                "metadata": d.metadata,
            }
            for d in model.documents.values()
        },
        "attempt": {
            handle: (attempt.outcome, attempt.cost, attempt.known, attempt.resumed_as)
            for handle, attempt in model.attempts.items()
        },
        "hold": {scope: (hold.until, hold.released) for scope, hold in model.holds.items()},
        "day": {
            when.date(): (day.limit, day.reserved, day.spent, day.overrun, day.refusals)
            for when, day in model.money.days.items()
        },
        "entry": {
            handle: (entry.day.date(), entry.reserved, entry.spent, entry.overrun, entry.open)
            for handle, entry in model.money.entries.items()
        },
    }


def _job(row: Row) -> tuple[object, ...]:
    hold = None if row["hold"] is None else Scope(*row["hold"])
    return (
        *(row["document_id"], row["phase"], row["status"], row["state"], row["run"], row["token"]),
        *(row["worker_id"], row["started_at"], row["progress"], row["ready_at"], hold),
        *(row["retry_count"], row["crash_count"], row["total_cost_usd"]),
    )


def _scope(row: Row) -> Scope:
    return Scope(row["provider"], row["organisation"], row["pipeline"], row["phase"], row["budget"])
