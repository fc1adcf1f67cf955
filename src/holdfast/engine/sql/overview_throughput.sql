-- How many attempts ended, hour by hour and phase by phase. What cost no attempt (lost, released, cancelled) is apart.
create or replace function holdfast.overview_throughput(p_hours integer)
returns table (hour timestamptz, pipeline text, phase text, completed bigint, failed bigint, uncharged bigint)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_hours, 'hours');
begin
    return query
        select date_trunc('hour', a.ended_at), a.pipeline, a.phase, count(*) filter (where a.outcome = 'completed'),
               count(*) filter (where a.outcome in ('failed', 'timeout')),
               count(*) filter (where a.outcome in ('lost', 'released', 'cancelled'))
        from pipeline_phase a
        where a.ended_at >= v_since
        group by 1, 2, 3
        order by 1 desc, 2, 3;
end $$;

grant execute on function holdfast.overview_throughput(integer) to holdfast_api, holdfast_readonly;
