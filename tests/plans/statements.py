"""Everything that must stay cheap, however much is stored: the verbs of the hot path and every question."""

from dataclasses import dataclass

SMALL_SHARE = 0.02
CLAIM = """select * from holdfast.claim('planner', '[{"pipeline": "history", "phase": "extract", "limit": 10}]')"""
ENDINGS = """(
    select jsonb_agg(jsonb_build_object('job_id', id, 'token', token, 'category', 'network_timeout', 'error', 'reset'))
    from holdfast.pipeline_job where state = 'working'
)"""

# The fingerprint of all failures that wait for an operator there.
ONE_CAUSE = "f0380d0cf1362c9d3dba0d18e3e9826b"
LISTEN = """
select holdfast.add_webhook(
    null, 'https://example.org', array['job.done', 'job.failed', 'job.deadletter'], 'whsec_', 'test')
"""
ASK = f"""
select * from holdfast.await_answers((
    select jsonb_agg(e || jsonb_build_object('provider', 'parser', 'reference', e ->> 'job_id', 'within_seconds', 60))
    from jsonb_array_elements({ENDINGS}) e
))
"""
TELL = "select holdfast.answer(provider, reference, reference, 'completed', '{}') from holdfast.awaited_answer"


@dataclass(frozen=True, slots=True)
class Statement:
    """`first` runs before it, unmeasured; `share` is how much of what is stored it may touch."""

    name: str
    sql: str
    first: tuple[str, ...] = ()
    share: float = SMALL_SHARE


def _question(name: str, arguments: str = "", *, share: float = SMALL_SHARE) -> Statement:
    return Statement(f"{name}({arguments})", f"select * from holdfast.{name}({arguments})", share=share)


def _page(narrowed: str, *, share: float = SMALL_SHARE) -> Statement:
    return Statement(f"page of {narrowed}", f"select * from holdfast.overview_jobs('{narrowed}', 50)", share=share)


def _matching(narrowed: str) -> Statement:
    return Statement(f"matching {narrowed}", f"select * from holdfast.matching_jobs('{narrowed}', 500)")


VERBS = (
    Statement("claim", CLAIM),
    Statement("settle", f"select * from holdfast.settle({ENDINGS})", first=(CLAIM,)),
    Statement("settle while someone listens", f"select * from holdfast.settle({ENDINGS})", first=(LISTEN, CLAIM)),
    Statement("fail while someone listens", f"select * from holdfast.fail({ENDINGS})", first=(LISTEN, CLAIM)),
    Statement("check_alerts", "select * from holdfast.check_alerts()"),
    Statement("fail", f"select * from holdfast.fail({ENDINGS})", first=(CLAIM,)),
    Statement("give back", f"select * from holdfast.give_back({ENDINGS})", first=(CLAIM,)),
    Statement("await answers", ASK, first=(CLAIM,)),
    Statement("answer", TELL, first=(CLAIM, ASK)),
    Statement("claim what was answered", CLAIM, first=(CLAIM, ASK, TELL)),
    Statement("heartbeat", f"select * from holdfast.heartbeat('planner', {ENDINGS})", first=(CLAIM,)),
    Statement(
        "sweep after a death",
        "select * from holdfast.sweep()",
        first=(CLAIM, "update holdfast.worker set lost_at = now()"),
    ),
    Statement(
        "check_timeouts",
        "select * from holdfast.check_timeouts()",
        first=(CLAIM, "update holdfast.phase set limit_seconds = 0.000001"),
    ),
    Statement(
        "promote due retries",
        "select holdfast.promote()",
        first=(
            """
            update holdfast.pipeline_job set ready_at = now() - interval '1 minute'
            where id in (select id from holdfast.pipeline_job where state = 'failed' limit 20)
            """,
        ),
    ),
    Statement(
        "promote after a hold",
        "select holdfast.promote()",
        first=(
            "select holdfast.place_hold(null, 'org-1', null, null, null, now() + interval '1 hour', 'test', 'test')",
            CLAIM,
            "update holdfast.hold set until = now() - interval '1 minute'",
        ),
    ),
    Statement("front", "select holdfast.front('history')"),
    Statement("entry", "select holdfast.entry_vtime('history', 0)"),
    Statement("wake parents", "select holdfast.wake_parents()"),
    Statement("submit", """select * from holdfast.submit('history', '[{"organisation": "org-1"}]')"""),
    Statement(
        "submit the same content",
        """select * from holdfast.submit('history', '[{"organisation": "org-7", "content_hash": "filled-7"}]')""",
    ),
    Statement("submit a document again", """select * from holdfast.submit('history', '[{"document_id": 7}]')"""),
    Statement(
        "submit under a known key",
        """select * from holdfast.submit('history', '[{"organisation": "org-0", "idempotency_key": "known"}]')""",
        first=("update holdfast.document set idempotency_key = 'known' where id = 500000",),
    ),
    Statement(
        "cancel", 'select * from holdfast.cancel(array(select holdfast.matching_jobs(\'{"state": "failed"}\', 9)))'
    ),
    Statement(
        "retry", 'select * from holdfast.retry(array(select holdfast.matching_jobs(\'{"state": "failed"}\', 9)))'
    ),
    # Of each job that may be tried its document is looked at: whether it was replaced.
    Statement("try first", "select holdfast.try_first('{}')", share=0.2),
    Statement(
        "advance a trial",
        "select holdfast.advance_trials()",
        first=(
            "select holdfast.try_first('{\"ids\": [10, 410, 810, 1210, 1610, 2010, 2410]}')",
            "update holdfast.trial set state = 'passed'",
        ),
    ),
    Statement("next of a trial", "select * from holdfast.trial_jobs('{}', 500000, 500)", share=0.2),
    Statement("requeue stuck", "select holdfast.requeue_stuck(0)", first=(CLAIM,)),
    _matching('{"state": "failed"}'),
    _matching('{"state": "deadletter"}'),
    _matching('{"state": "held"}'),
    _matching('{"state": "failed", "component": "enrich"}'),
    _matching('{"state": "failed", "retryable": "true"}'),
    _matching('{"state": "failed", "fingerprint": "nothing"}'),
    _matching('{"state": "failed", "text": "nowhere"}'),
    _matching('{"state": "failed", "metadata": {"batch": 7}}'),
    _matching(f'{{"state": "deadletter", "fingerprint": "{ONE_CAUSE}"}}'),
)

QUESTIONS = (
    _question("overview_health"),
    _question("overview_queues"),
    _question("overview_backlog"),
    _question("overview_stuck", "10"),
    _question("overview_recent_failures", "20"),
    _question("overview_throughput", "24"),
    _question("overview_outcomes", "24"),
    _question("overview_durations", "24"),
    _question("overview_costs", "1"),
    _question("overview_failure_rate_by_platform", "1"),
    _question("overview_retries", "1"),
    _question("overview_recovery_by_category", "1"),
    _question("overview_errors_by", "'fingerprint', 7"),
    _question("overview_top_failing", "20, 7"),
    _question("overview_repeat_offenders", "2, 30"),
    # Counts the jobs that stand still for what failed of late.
    _question("overview_failure_groups", "7, 100", share=0.2),
    _question("overview_costs_by_day", "1"),
    _question("overview_saved", "1"),
    _question("overview_flow", "900, 30"),
    _question("overview_database"),
    Statement(
        "overview_position",
        'select holdfast.overview_position(id) from holdfast.overview_jobs(\'{"state": "queued"}\', 1) id',
    ),
    _question("overview_budgets"),
    _question("overview_budget_refusals", "7"),
    _question("overview_holds"),
    _question("overview_trials", "50"),
    _question("overview_workers"),
    _question("overview_pipelines"),
    _question("overview_policies"),
    _question("overview_audit", "50"),
    _question("overview_audit", "50, 7"),
    _question("overview_incidents", "50"),
    _question("overview_document", "7"),
    _question("submission_under", "'acme', 'order-7'"),
    _question("overview_cards", "array[7, 77, 777]"),
    _question("overview_attempts", "array[7, 77, 777]"),
    _question("jobs_of", "7"),
    _question("retries_of", "7"),
    _page("{}"),
    _page('{"state": "done"}'),
    _page('{"state": "queued"}'),
    _page('{"state": "working"}'),
    _page('{"state": "held"}'),
    _page('{"state": "cancelled"}'),
    _page('{"state": ["failed", "deadletter"]}', share=0.1),
    _page('{"status": "complete"}', share=0.1),
    _page('{"status": "duplicate"}', share=0.1),
    _page('{"pipeline": "history", "phase": "extract"}'),
    _page('{"component": "enrich"}', share=0.1),
    _page('{"category": "network_timeout"}', share=0.1),
    _page('{"organisation": "org-7"}'),
    _page('{"organisation": "nobody"}'),
    _page('{"platform": "s3"}', share=0.3),
    _page('{"platform": "nowhere"}'),
    _page('{"metadata": {"pages": 7}}', share=0.4),
    _page('{"metadata": {"batch": 7}}'),
    _page('{"organisation": "org-7", "state": "failed", "metadata": {"pages": 7}}'),
    _page('{"text": "file 777777"}'),
    _page('{"text": "777777"}'),
    _page('{"text": "77777 FILE", "state": "done"}'),
    _page('{"text": "file"}', share=0.2),
    _page('{"text": "nowhere"}'),
    _page('{"fingerprint": "nothing", "state": ["failed", "deadletter"]}', share=0.1),
)
