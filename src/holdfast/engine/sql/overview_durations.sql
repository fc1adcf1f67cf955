-- How long completed attempts took, phase by phase.
create or replace function holdfast.overview_durations(p_hours integer)
returns table (pipeline text, phase text, completed bigint, p50_seconds double precision, p95_seconds double precision,
               max_seconds double precision, avg_seconds double precision)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_hours, 'hours');
begin
    return query
        select a.pipeline, a.phase, count(*), percentile_cont(0.5) within group (order by a.seconds),
               percentile_cont(0.95) within group (order by a.seconds), max(a.seconds), avg(a.seconds)
        from (
            select p.pipeline, p.phase, extract(epoch from p.ended_at - p.started_at)::double precision as seconds
            from pipeline_phase p
            where p.ended_at >= v_since and p.outcome = 'completed'
        ) a
        group by 1, 2
        order by 1, 2;
end $$;

grant execute on function holdfast.overview_durations(integer) to holdfast_api, holdfast_readonly;
