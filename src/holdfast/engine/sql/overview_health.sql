-- The whole at a glance, in one row. "problems" says in words what someone should look at; healthy means there are none.
create or replace function holdfast.overview_health()
returns table (healthy boolean, problems text[], queued bigint, working bigint, failed bigint, held bigint, deadletter bigint,
               stuck bigint, oldest_queued_seconds double precision, completed_last_hour bigint, failed_last_hour bigint,
               error_rate double precision, workers bigint, holds bigint)
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    with queue as materialized (select * from overview_queues()),
    total as (
        select coalesce(sum(queued), 0)::bigint as queued, coalesce(sum(working), 0)::bigint as working,
               coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(held), 0)::bigint as held,
               coalesce(sum(deadletter), 0)::bigint as deadletter, max(oldest_queued_seconds) as oldest_queued_seconds
        from queue
    ),
    recent as (
        select count(*) filter (where outcome = 'completed') as completed,
               count(*) filter (where outcome in ('failed', 'timeout')) as failed
        from pipeline_phase
        where ended_at >= (select clock() - interval '1 hour')
    ),
    rate as (select failed / nullif(completed + failed, 0)::double precision as error_rate from recent),
    alive as (select count(*) as workers from overview_workers() where condition = 'alive'),
    stuck as (select count(*) as jobs from overview_stuck(10)),
    held as (select count(*) as holds, count(*) filter (where until is null) as endless from overview_holds()),
    problem(words) as (
        select format('%s jobs wait for %s of %s and no living worker runs it: start one', queued, phase, pipeline)
        from queue where queued > 0 and workers = 0
        union all
        select format('%s jobs are with workers that are gone, and none lives to take them back: start one, on the machine of those first',
                      total.working)
        from total, alive where total.working > 0 and alive.workers = 0
        union all
        select format('%s jobs made no progress for 10 minutes: see the stuck ones', jobs) from stuck where jobs > 0
        union all
        select format('%s %% of the attempts of the last hour failed: see the errors', round((100 * error_rate)::numeric, 1))
        from rate where error_rate > 0.1
        union all
        select format('%s jobs of %s wait for someone: %s', count(*), a.phase, a.error ->> 'error')
        from pipeline_phase a
        join pipeline_job j on j.id = a.job_id and j.retried_phase_id = a.id and j.state = 'held'
        where a.ended_at >= (select clock() - interval '10 minutes') and a.outcome = 'released'
          and a.error @> '{"needs_someone": true}'
        group by a.phase, a.error ->> 'error'
        union all
        select format('%s holds last until someone releases them: see the holds', endless) from held where endless > 0
    )
    select not exists (select from problem), array(select words from problem), t.queued, t.working, t.failed, t.held, t.deadletter,
           s.jobs, t.oldest_queued_seconds, r.completed, r.failed, rate.error_rate, a.workers, h.holds
    from total t, recent r, rate, alive a, stuck s, held h
$$;

grant execute on function holdfast.overview_health() to holdfast_api, holdfast_readonly;
