-- How often retries recover, by the category of the failure they retried; the most hopeless first.
create or replace function holdfast.overview_recovery_by_category(p_days integer)
returns table (category text, retries bigint, recovered bigint, recovery_rate double precision)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
begin
    return query
        select p.category, count(*), count(*) filter (where a.outcome = 'completed'),
               (count(*) filter (where a.outcome = 'completed') / count(*)::numeric)::double precision
        from pipeline_phase a
        join lateral (select o.category from pipeline_phase o where o.id = a.parent_phase_id offset 0) p on true
        where a.parent_phase_id is not null and a.ended_at >= v_since
        group by 1
        order by 4, 1;
end $$;

grant execute on function holdfast.overview_recovery_by_category(integer) to holdfast_api, holdfast_readonly;
