-- These jobs and those of every document that came out of theirs: members of archives, attachments of messages.
create or replace function holdfast.overview_family(p_jobs bigint[]) returns setof bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with recursive descendant as (
        select d.id from pipeline_job j join document d on d.parent_id = j.document_id where j.id = any (p_jobs)
        union
        select d.id from descendant a join document d on d.parent_id = a.id
    )
    select unnest(p_jobs)
    union
    select j.id from descendant d cross join lateral jobs_of(d.id) j
$$;

-- Where a family of jobs stands, phase by phase in their pipeline's order. Those under way and failed are counted where
-- they are, and those that a hold leaves in the queue as waiting; `passed` counts those that have this phase behind them.
-- `resumes_at` is when the next of them goes on by itself, null if none does;
-- `progress` is how much of this phase those at work have done, each counting up to 1, null while none of them says.
create or replace function holdfast.overview_progress(p_jobs bigint[])
returns table (pipeline text, phase text, passed bigint, queued bigint, working bigint, waiting bigint, failed bigint,
               cancelled bigint, resumes_at timestamptz, progress real)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with job as materialized (
        select j.pipeline, j.phase, j.organisation, j.state, j.status, j.ready_at, j.progress, h.until, p.position
        from overview_family(p_jobs) f(id)
        join pipeline_job j on j.id = f.id
        join phase p on p.pipeline = j.pipeline and p.name = j.phase
        left join hold h on h.id = j.hold_id
    ),
    held_queue as materialized (
        select q.*, h.until
        from (select distinct pipeline, phase, organisation from job where state = 'queued') q
        cross join lateral overview_hold_on(q.pipeline, q.phase, q.organisation) h
    ),
    standing as (
        select j.pipeline, j.phase, case when q.until is null then j.state else 'held' end as state, j.status, j.ready_at,
               j.progress, coalesce(j.until, q.until) as until, j.position
        from job j
        left join held_queue q on j.state = 'queued' and q.pipeline = j.pipeline and q.phase = j.phase
                              and q.organisation = j.organisation
    )
    select p.pipeline, p.name,
           count(*) filter (where j.position > p.position or j.state = 'done' and j.status <> 'duplicate'),
           count(*) filter (where j.phase = p.name and j.state = 'queued'),
           count(*) filter (where j.phase = p.name and j.state = 'working'),
           count(*) filter (where j.phase = p.name and (j.state = 'held' or j.state = 'failed' and j.ready_at is not null)),
           count(*) filter (where j.phase = p.name and (j.state = 'deadletter' or j.state = 'failed' and j.ready_at is null)),
           count(*) filter (where j.phase = p.name and j.state = 'cancelled'),
           min(nullif(coalesce(j.ready_at, j.until), 'infinity')) filter (where j.phase = p.name and j.state in ('held', 'failed')),
           sum(j.progress) filter (where j.phase = p.name and j.state = 'working')
    from phase p
    join standing j on j.pipeline = p.pipeline
    where p.retired_at is null
    group by p.pipeline, p.name, p.position
    order by p.pipeline, p.position
$$;

-- What a family of jobs took, phase by phase: attempts, how many of them failed, seconds of work and money. What a lost
-- worker had is nobody's failure, here as in overview_health().
create or replace function holdfast.overview_spent(p_jobs bigint[])
returns table (pipeline text, phase text, completed bigint, failed bigint, seconds double precision, cost_usd numeric)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select a.pipeline, a.phase, count(*) filter (where a.outcome = 'completed'),
           count(*) filter (where a.outcome in ('failed', 'timeout')),
           sum(extract(epoch from a.ended_at - a.started_at))::double precision, sum(a.cost_usd)
    from overview_family(p_jobs) f(id)
    join pipeline_phase a on a.job_id = f.id
    left join phase p on p.pipeline = a.pipeline and p.name = a.phase
    group by a.pipeline, a.phase, p.position
    order by a.pipeline, p.position
$$;

-- Of documents that repeat another's content: the jobs of those others that failed for good.
create or replace function holdfast.overview_failed_originals(p_documents bigint[])
returns table (document_id bigint, job_id bigint, state text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select d.id, j.id, j.state
    from document d
    cross join lateral jobs_of(d.duplicate_of) j
    where d.id = any (p_documents) and (j.state = 'deadletter' or j.state = 'failed' and j.ready_at is null)
    order by 1, 2
$$;

grant execute on function
    holdfast.overview_failed_originals(bigint[]),
    holdfast.overview_family(bigint[]), holdfast.overview_progress(bigint[]), holdfast.overview_spent(bigint[])
to holdfast_api, holdfast_readonly;
