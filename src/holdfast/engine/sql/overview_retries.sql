-- How often phases failed, were tried again, and then succeeded; and how long a retry was waited for.
create or replace function holdfast.overview_retries(p_days integer)
returns table (pipeline text, phase text, failures bigint, retries bigint, recovered bigint, recovery_rate double precision,
               average_wait_seconds double precision)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
begin
    return query
        with failure as (
            select a.pipeline, a.phase, count(*) as failures
            from pipeline_phase a
            where a.outcome <> 'completed' and a.outcome in ('failed', 'timeout') and a.ended_at >= v_since
            group by 1, 2
        ),
        retry as (
            select a.pipeline, a.phase, count(*) as retries, count(*) filter (where a.outcome = 'completed') as recovered,
                   avg(extract(epoch from a.started_at - p.ended_at)) as wait_seconds
            from pipeline_phase a
            join lateral (select ended_at from pipeline_phase o where o.id = a.parent_phase_id offset 0) p on true
            where a.parent_phase_id is not null and a.ended_at >= v_since
            group by 1, 2
        )
        select pipeline, phase, coalesce(f.failures, 0), coalesce(r.retries, 0), coalesce(r.recovered, 0),
               (r.recovered / r.retries::numeric)::double precision, r.wait_seconds::double precision
        from failure f
        full join retry r using (pipeline, phase)
        order by pipeline, phase;
end $$;

grant execute on function holdfast.overview_retries(integer) to holdfast_api, holdfast_readonly;
