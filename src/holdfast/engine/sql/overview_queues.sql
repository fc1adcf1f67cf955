-- How many jobs wait, work or need someone, phase by phase in the pipelines' order. Costs what is under way, never what
-- is finished. A retired phase shows while it has jobs.
create or replace function holdfast.overview_queues()
returns table (pipeline text, phase text, queued bigint, working bigint, failed bigint, held bigint, deadletter bigint,
               oldest_queued_seconds double precision, workers bigint)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
    with working as materialized (
        select j.pipeline, j.phase, count(*) as jobs from pipeline_job j where j.state = 'working' group by 1, 2
    )
    select p.pipeline, p.name, ready.jobs + suspect.jobs, coalesce(working.jobs, 0), waiting.failed, waiting.held,
           waiting.deadletter, extract(epoch from clock() - least(ready.oldest_at, suspect.oldest_at))::double precision,
           (select count(*) from worker w
            where w.lost_at is null and w.stopped_at is null and w.seen_at > clock() - interval '15 seconds'
              and w.lanes @> jsonb_build_array(jsonb_build_object('pipeline', p.pipeline, 'phase', p.name)))
    from phase p
    cross join lateral (
        select count(*) as jobs, min(j.queued_at) as oldest_at
        from pipeline_job j
        where j.pipeline = p.pipeline and j.phase = p.name and j.state = 'queued' and j.crash_count < 2
    ) ready
    cross join lateral (
        select count(*) as jobs, min(j.queued_at) as oldest_at
        from pipeline_job j
        where j.pipeline = p.pipeline and j.phase = p.name and j.state = 'queued' and j.crash_count >= 2
    ) suspect
    cross join lateral (
        select count(*) filter (where j.state = 'failed') as failed, count(*) filter (where j.state = 'held') as held,
               count(*) filter (where j.state = 'deadletter') as deadletter
        from pipeline_job j
        where j.pipeline = p.pipeline and j.phase = p.name and j.state in ('failed', 'held', 'deadletter')
    ) waiting
    left join working on working.pipeline = p.pipeline and working.phase = p.name
    where p.retired_at is null
       or ready.jobs + suspect.jobs + coalesce(working.jobs, 0) + waiting.failed + waiting.held + waiting.deadletter > 0
    order by p.pipeline, p.position, p.retired_at nulls first, p.name
$$;

grant execute on function holdfast.overview_queues() to holdfast_api, holdfast_readonly;
