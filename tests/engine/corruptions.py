"""One corruption for each way in which an invariant can be broken, and nothing else with it."""

from dataclasses import dataclass

from holdfast.db.connection import Database
from tests.engine.lively_history import History


@dataclass(frozen=True, slots=True)
class Corruption:
    """Statements that break one check and nothing else, run with triggers and foreign keys asleep."""

    check: str
    sql: str


ATTEMPT = """
insert into holdfast.pipeline_phase (job_id, document_id, organisation, pipeline, phase, run, token, outcome, attempt,
                                     worker_id, started_at, ended_at, error)
select id, document_id, organisation, pipeline, phase, {run}, {token}, 'cancelled', 1, 'w', now(), now(),
       jsonb_build_object()
from holdfast.pipeline_job where id = {job}
"""
CORRUPTIONS = [
    Corruption(
        "i01_document_has_job",
        "insert into holdfast.document (organisation, source_name, created_at) values ('o', 'lost', now())",
    ),
    Corruption("i01_known_place", "update holdfast.pipeline_job set status = 'nowhere' where id = {jobs[waiting]}"),
    Corruption("i01_known_place", "update holdfast.pipeline_job set phase = 'nothing' where id = {jobs[waiting]}"),
    Corruption(
        "i01_known_place",
        """alter table holdfast.pipeline_job drop constraint pipeline_job_state_check;
           update holdfast.pipeline_job set state = 'asleep' where id = {jobs[waiting]}""",
    ),
    Corruption(
        "i01_one_live_job",
        """drop index holdfast.pipeline_job_live;
           insert into holdfast.pipeline_job
               (document_id, organisation, pipeline, phase, status, state, vtime, submitted_at, queued_at)
           select document_id, organisation, pipeline, phase, status, state, vtime, submitted_at, queued_at
           from holdfast.pipeline_job where id = {jobs[waiting]}""",
    ),
    Corruption(
        "i02_one_completion",
        """drop index holdfast.pipeline_phase_completed;
           update holdfast.pipeline_phase set outcome = 'completed', error = null, category = null
           where job_id = {jobs[released]} and token = 1""",
    ),
    Corruption(
        "i02_not_open_again",
        "update holdfast.pipeline_job set phase = 'extract' where id = {jobs[moved]}",
    ),
    Corruption(
        "i02_not_open_again",
        """update holdfast.pipeline_job set state = 'held', finished_at = null, ready_at = 'infinity'
           where id = {jobs[done]}""",
    ),
    Corruption("i03_in_order", "update holdfast.pipeline_job set phase = 'embed' where id = {jobs[moved]}"),
    Corruption("i03_in_order", "update holdfast.pipeline_job set phase = 'enrich' where id = {jobs[waiting]}"),
    Corruption(
        "i03_in_order",
        """update holdfast.pipeline_phase set outcome = 'released', error = '{{}}'
           where job_id = {jobs[done]} and phase = 'enrich'""",
    ),
    Corruption(
        "i03_done_after_last_phase",
        """update holdfast.pipeline_job set state = 'done', finished_at = holdfast.clock()
           where id = {jobs[moved]}""",
    ),
    Corruption(
        "i04_working_has_worker",
        """alter table holdfast.pipeline_job drop constraint working_has_worker_and_start;
           update holdfast.pipeline_job set worker_id = 'ghost' where id = {jobs[waiting]}""",
    ),
    Corruption(
        "i04_working_has_worker",
        """alter table holdfast.pipeline_job drop constraint working_has_worker_and_start;
           update holdfast.pipeline_job set worker_id = null where id = {jobs[paid]}""",
    ),
    Corruption(
        "i05_one_attempt_per_token",
        "delete from holdfast.pipeline_phase where job_id = {jobs[released]} and token = 1",
    ),
    Corruption(
        "i05_one_attempt_per_token",
        "alter table holdfast.pipeline_phase drop constraint pipeline_phase_job_id_token_key;"
        + ATTEMPT.format(job="{jobs[released]}", run=1, token=3),
    ),
    Corruption("i06_only_handed_out_tokens", ATTEMPT.format(job="{jobs[moved]}", run=1, token=99)),
    Corruption("i06_only_handed_out_tokens", ATTEMPT.format(job="{jobs[paid]}", run=1, token=2)),
    Corruption(
        "i06_only_handed_out_tokens",
        "update holdfast.budget_entry set token = 99 where job_id = {jobs[done]}",
    ),
    Corruption(
        "i06_no_stray_reservation",
        """update holdfast.budget_entry set settled_at = null, reserved_usd = spent_usd, spent_usd = 0
           where job_id = {jobs[done]};
           update holdfast.budget_day set reserved_usd = reserved_usd + 0.002, spent_usd = spent_usd - 0.002""",
    ),
    Corruption("i07_attempts_are_guarded", "alter table holdfast.pipeline_phase disable trigger refuse_change"),
    Corruption("i07_attempts_are_guarded", "drop trigger refuse_delete on holdfast.pipeline_phase"),
    Corruption("i07_attempts_are_guarded", "alter table holdfast.audit_log disable trigger user"),
    Corruption("i08_moves_are_guarded", "alter table holdfast.pipeline_job disable trigger refuse_illegal_move"),
    Corruption(
        "i08_final_stays",
        "update holdfast.pipeline_job set state = 'queued', finished_at = null where id = {jobs[cancelled]}",
    ),
    Corruption(
        "i08_final_stays",
        "update holdfast.pipeline_job set state = 'queued', finished_at = null where id = {jobs[dead]}",
    ),
    Corruption("i08_final_stays", "update holdfast.pipeline_job set finished_at = null where id = {jobs[done]}"),
    Corruption("i08_final_stays", "update holdfast.pipeline_job set run = 2 where id = {jobs[waiting]}"),
    Corruption(
        "i09_patience",
        """update holdfast.pipeline_phase set error = error || '{{"retry_count": 1}}'
           where job_id = {jobs[retrying]} and token = 2""",
    ),
    Corruption(
        "i10_within_limit",
        """alter table holdfast.budget_day drop constraint budget_is_never_passed;
           update holdfast.budget_day set limit_usd = 0""",
    ),
    Corruption("i10_equals_ledger", "update holdfast.budget_day set spent_usd = spent_usd + 1"),
    Corruption("i10_equals_ledger", "update holdfast.budget_day set reserved_usd = 0"),
    Corruption("i11_total_cost", "update holdfast.pipeline_job set total_cost_usd = 1 where id = {jobs[done]}"),
    Corruption("i11_job_counters", "update holdfast.pipeline_job set retry_count = 0 where id = {jobs[retrying]}"),
    Corruption("i11_job_counters", "update holdfast.pipeline_job set crash_count = 1 where id = {jobs[waiting]}"),
    Corruption(
        "i11_document_failures",
        "update holdfast.document set failure_count = 7 where id = {documents[failing]}",
    ),
    Corruption(
        "i11_document_failures",
        "update holdfast.document set failure_state = 'success' where id = {documents[failing]}",
    ),
    Corruption(
        "i12_no_automatic_successor",
        """update holdfast.pipeline_job
           set state = 'working', token = token + 1, worker_id = 'worker-1', started_at = holdfast.clock()
           where id = {jobs[permanent]}""",
    ),
    Corruption(
        "i12_not_before_its_time",
        "update holdfast.pipeline_job set state = 'queued', ready_at = null where id = {jobs[retrying]}",
    ),
    Corruption(
        "i12_not_before_its_time",
        """update holdfast.pipeline_job set state = 'working', token = token + 1, worker_id = 'worker-1',
               started_at = holdfast.clock(), ready_at = null
           where id = {jobs[failing]}""",
    ),
    Corruption(
        "i12_permanent_is_not_due",
        "update holdfast.pipeline_job set ready_at = holdfast.clock() where id = {jobs[permanent]}",
    ),
    Corruption(
        "i14_one_per_key",
        """drop index holdfast.document_idempotency;
           update holdfast.document set organisation = 'parent', idempotency_key = 'key-parent'
           where id = {documents[child]}""",
    ),
    Corruption(
        "i17_child_of_same_organisation",
        "update holdfast.document set parent_id = {documents[parent]} where id = {documents[waiting]}",
    ),
    Corruption(
        "i17_job_of_same_organisation",
        "update holdfast.pipeline_job set organisation = 'other' where id = {jobs[waiting]}",
    ),
    Corruption("i19_no_dead_worker", "delete from holdfast.worker"),
    Corruption("i19_no_dead_worker", "update holdfast.worker set seen_at = seen_at - interval '40 seconds'"),
    Corruption("i20_waits_for_something", "update holdfast.pipeline_job set hold_id = null where id = {jobs[held]}"),
    Corruption("i20_waits_for_something", "update holdfast.hold set drained_at = holdfast.clock()"),
    Corruption(
        "i20_waits_for_something",
        "update holdfast.pipeline_job set ready_at = null where id = {jobs[retrying]}",
    ),
    Corruption(
        "i20_answer_moves_on",
        """insert into holdfast.awaited_answer
               (provider, reference, job_id, token, run, phase, asked_at, deadline, outcome, answered_at)
           select 'parser', 'order-1', id, token, run, phase, now(), '2100-01-01', 'completed', now()
           from holdfast.pipeline_job where id = {jobs[held]};
           update holdfast.pipeline_job set hold_id = null, ready_at = '2100-01-01' where id = {jobs[held]}""",
    ),
    Corruption(
        "i26_published_is_whole",
        """update holdfast.pipeline_phase set output = '{{"chunks": 2}}' where job_id = {jobs[done]};
           update holdfast.document set searchable_at = now(), generation_id = {jobs[done]}
           where id = {documents[done]}""",
    ),
    Corruption(
        "i26_copies_answer",
        "update holdfast.document set searchable_at = now() where id = {documents[child]}",
    ),
]


async def corrupt(database: Database, corruption: Corruption, history: History) -> None:
    async with database.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(corruption.sql.format(jobs=history.jobs, documents=history.documents))
