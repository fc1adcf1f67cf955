-- What waits before each phase, since when, and whether it is becoming more: arrived less completed in the last hour.
create or replace function holdfast.overview_backlog()
returns table (pipeline text, phase text, queued bigint, oldest_queued_seconds double precision, arrived_last_hour bigint,
               completed_last_hour bigint, growth_last_hour bigint)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
    with completed as materialized (
        select a.pipeline, a.phase, count(*) as jobs
        from pipeline_phase a
        where a.ended_at >= (select clock() - interval '1 hour') and a.outcome = 'completed'
        group by 1, 2
    ),
    submitted as materialized (
        select j.pipeline, count(*) as jobs
        from pipeline_job j
        where j.id >= (select overview_first_job_since(clock() - interval '1 hour')) and j.status <> 'duplicate'
        group by 1
    ),
    flow as (
        select p.pipeline, p.name as phase, coalesce(c.jobs, 0) as completed,
               case when lag(p.name) over line is null then coalesce(s.jobs, 0)
                    else coalesce(lag(c.jobs) over line, 0) end as arrived
        from phase p
        left join completed c on c.pipeline = p.pipeline and c.phase = p.name
        left join submitted s on s.pipeline = p.pipeline
        where p.retired_at is null
        window line as (partition by p.pipeline order by p.position)
    )
    select q.pipeline, q.phase, q.queued, q.oldest_queued_seconds, coalesce(f.arrived, 0), coalesce(f.completed, 0),
           coalesce(f.arrived - f.completed, 0)
    from overview_queues() with ordinality as q(pipeline, phase, queued, working, failed, held, deadletter,
                                                oldest_queued_seconds, workers, n)
    left join flow f on f.pipeline = q.pipeline and f.phase = q.phase
    order by q.n
$$;

grant execute on function holdfast.overview_backlog() to holdfast_api, holdfast_readonly;
