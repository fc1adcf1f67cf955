-- How attempts ended in the last hours, by phase, outcome and category; completed ones have no category.
create or replace function holdfast.overview_outcomes(p_hours integer)
returns table (pipeline text, phase text, outcome text, category text, attempts bigint)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_hours, 'hours');
begin
    return query
        select a.pipeline, a.phase, a.outcome, a.category, count(*)
        from pipeline_phase a
        where a.ended_at >= v_since
        group by 1, 2, 3, 4
        order by 1, 2, 3, 4;
end $$;

grant execute on function holdfast.overview_outcomes(integer) to holdfast_api, holdfast_readonly;
