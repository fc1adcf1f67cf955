"""Bulk history for plan guards and benchmarks: jobs of the past 90 days, written set by set in well under a minute."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import asyncpg

from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, STRICT
from holdfast.engine.strict_json import dump

FILLED_TABLES = ("document", "pipeline_job", "pipeline_phase", "error_log")


async def _handle(_: Attempt) -> Done:
    return Done()


PIPELINE = Pipeline(
    "history",
    starts="uploaded",
    phases=(
        Phase(
            name="extract", handler=_handle, queued="parse_queued", working="parsing", done="parsed", component="parse"
        ),
        Phase(
            name="enrich",
            handler=_handle,
            done="enriched",
            policy=ENRICHMENT,
            provider="model",
            budget="enrichment",
            estimate_usd=Decimal("0.003"),
        ),
        Phase(name="embed", handler=_handle, done="complete", policy=STRICT),
    ),
)

# Of 200 finished jobs 192 went straight through, 6 needed a retry of their first phase, one was given up in its
# second, one was cancelled there. One in 400 has failed for good and waits for an operator.
CAST = """
create temporary table cast_of_jobs as
select n, {first_document} + n as document_id, {first_job} + n as job_id, 'org-' || n % {organisations} as organisation,
       (array['upload', 's3', 'gdrive', 'url'])[1 + n % 4] as platform,
       now() - interval '90 days' + n * (interval '90 days' / ({finished} + 1)) as ended_at,
       case when n % 400 = 10 then 'failed' when n % 200 = 0 then 'deadletter' when n % 200 = 1 then 'cancelled'
            else 'done' end as state,
       n % 200 between 2 and 7 as recovered
from generate_series(1, {finished}) n
"""

DOCUMENTS = """
insert into holdfast.document (id, organisation, source_name, source_platform, content_hash, metadata,
                               failure_state, failure_count, created_at)
select document_id, organisation, 'file ' || n, platform, 'filled-' || document_id,
       jsonb_build_object('pages', n % 50, 'batch', n / 1000),
       case when state in ('failed', 'deadletter') then 'permanent_failure' end,
       case when state in ('failed', 'deadletter') then 1 + n % 3 else 0 end, ended_at - interval '5 minutes'
from cast_of_jobs
"""

JOBS = """
insert into holdfast.pipeline_job (id, document_id, organisation, pipeline, phase, status, state, vtime, token,
                                   retry_reason, error_code, last_error, retried_phase_id, total_cost_usd,
                                   submitted_at, queued_at, finished_at)
select job_id, document_id, organisation, 'history', case when state = 'done' then 'embed' else 'enrich' end,
       case when state = 'done' then 'complete' else 'enrich' end, state, n / {organisations}, 3 + recovered::integer,
       e.error ->> 'category', e.error ->> 'error_code', e.error,
       case when e.error is not null then {first_attempt} + n * 4 + 1 end,
       case when state = 'done' then 0.003 else 0 end, ended_at - interval '5 minutes', ended_at - interval '1 minute',
       case when state <> 'failed' then ended_at end
from cast_of_jobs
left join lateral (
    select jsonb_build_object('component', 'enrich', 'category', 'json_parse', 'error', 'no JSON in answer ' || n,
                              'error_type', 'AnswerNotJson', 'error_code', 'JSON_PARSE', 'failed_at', ended_at,
                              'retry_count', 2, 'max_retries', 2, 'retryable', n % 800 = 10) as error
    where state in ('failed', 'deadletter')
) e on true
"""

ATTEMPTS = """
insert into holdfast.pipeline_phase (id, job_id, document_id, organisation, pipeline, phase, run, token,
                                     parent_phase_id, outcome, attempt, worker_id, started_at, ended_at, category,
                                     error, cost_usd)
overriding system value
select {first_attempt} + n * 4 + a.k, job_id, document_id, organisation, 'history', a.phase, 1, a.k + 1,
       case when recovered and a.k = 1 then {first_attempt} + n * 4 end, a.outcome, a.attempt, 'filled',
       ended_at - make_interval(secs => 4 - a.k + n % 7), ended_at - make_interval(secs => 3 - a.k),
       a.error ->> 'category', a.error, case when a.phase = 'enrich' and a.outcome = 'completed' then 0.003 else 0 end
from cast_of_jobs
cross join lateral (
    select 0 as k, 'extract' as phase, 'completed' as outcome, 1 as attempt, null::jsonb as error where not recovered
    union all
    select 0, 'extract', 'failed', 1, '{{"category": "network_timeout", "error": "connection reset"}}' where recovered
    union all
    select 1, 'extract', 'completed', 2, null where recovered
    union all
    select 1 + recovered::integer, 'enrich', 'completed', 1, null where state = 'done'
    union all
    select 1, 'enrich', 'failed', 1, '{{"category": "json_parse", "error": "no JSON in the answer"}}'
    where state in ('failed', 'deadletter')
    union all
    select 2 + recovered::integer, 'embed', 'completed', 1, null where state = 'done'
) a
"""

ERRORS = """
insert into holdfast.error_log (at, organisation, document_id, job_id, pipeline, phase, platform, component, category,
                                error_type, error_code, message, attempt, charged, fingerprint)
select ended_at, organisation, document_id, job_id, 'history',
       case when recovered then 'extract' else 'enrich' end, platform,
       case when recovered then 'parse' else 'enrich' end,
       case when recovered then 'network_timeout' else 'json_parse' end,
       'NetworkTimeout', 'NETWORK_TIMEOUT', 'connection reset by ' || n % 20, 1, true,
       case when recovered then md5('cause ' || n % 20)
            else holdfast.fingerprint('enrich', 'json_parse', 'AnswerNotJson', 'no JSON in answer ' || n) end
from cast_of_jobs
where (recovered or state in ('failed', 'deadletter')) and ended_at > now() - interval '30 days'
"""

QUEUED = """
with arrived as (
    insert into holdfast.document (organisation, source_name, source_platform, created_at)
    select 'org-' || n % {organisations}, 'waiting ' || n, 'upload', now() from generate_series(1, {queued}) n
    returning id, organisation
)
insert into holdfast.pipeline_job (document_id, organisation, pipeline, phase, status, state, vtime, submitted_at,
                                   queued_at)
select id, organisation, 'history', 'extract', 'parse_queued', 'queued',
       row_number() over (partition by organisation order by id), now(), now()
from arrived
order by id
"""

SEQUENCES = """
select setval(pg_get_serial_sequence('holdfast.' || t.name, 'id'), t.last)
from (select 'document' as name, max(id) as last from holdfast.document
      union all select 'pipeline_job', max(id) from holdfast.pipeline_job
      union all select 'pipeline_phase', max(id) from holdfast.pipeline_phase) t
where t.last is not null
"""


async def fill(
    connection: asyncpg.Connection, *, finished_jobs: int, queued_jobs: int = 0, organisations: int = 1000
) -> None:
    """Add history as if it had been worked off, three attempts a job. The connection is a superuser's.

    The tables are vacuumed and analysed at the end, as autovacuum would have done meanwhile.
    """
    async with _without_indexes(connection):
        await write_history(
            connection, finished_jobs=finished_jobs, queued_jobs=queued_jobs, organisations=organisations
        )
    for table in FILLED_TABLES:
        await connection.execute(f"vacuum (analyze) holdfast.{table}")


async def write_history(
    connection: asyncpg.Connection, *, finished_jobs: int, queued_jobs: int = 0, organisations: int = 1000
) -> None:
    """`fill`, but slower, and nothing tells other sessions that their plans are out of date."""
    await register(connection)
    numbers = {
        "finished": finished_jobs,
        "queued": queued_jobs,
        "organisations": organisations,
        "first_document": await _last_id(connection, "document"),
        "first_job": await _last_id(connection, "pipeline_job"),
        "first_attempt": await _last_id(connection, "pipeline_phase"),
    }
    await connection.execute("set session_replication_role = replica")
    for statement in (CAST, DOCUMENTS, JOBS, ATTEMPTS, ERRORS, SEQUENCES, QUEUED):
        await connection.execute(statement.format(**numbers))
    await connection.execute("drop table cast_of_jobs")
    await connection.execute("reset session_replication_role")


async def register(connection: asyncpg.Connection) -> None:
    """Make the history's pipeline known."""
    for policy in PIPELINE.policies:
        await connection.execute("select holdfast.register_policy($1::text::jsonb)", _json(policy.declaration()))
    await connection.execute("select holdfast.register_pipeline($1::text::jsonb)", _json(PIPELINE.declaration()))


def _json(value: object) -> str:
    return dump(value).decode()


async def _last_id(connection: asyncpg.Connection, table: str) -> int:
    last: int = await connection.fetchval(f"select coalesce(max(id), 0) from holdfast.{table}")
    return last


@asynccontextmanager
async def _without_indexes(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """They are built at the end, which is quicker than keeping them up to date; constraints stay."""
    indexes = await connection.fetch(
        """
        select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
        from pg_index
        where indrelid = any ($1::text[]::regclass[])
          and not exists (select from pg_constraint where conindid = indexrelid)
        """,
        [f"holdfast.{table}" for table in FILLED_TABLES],
    )
    for index in indexes:
        await connection.execute(f"drop index {index['name']}")
    yield
    await connection.execute("set maintenance_work_mem = '512MB'")
    for index in indexes:
        await connection.execute(index["definition"])
    await connection.execute("reset maintenance_work_mem")
