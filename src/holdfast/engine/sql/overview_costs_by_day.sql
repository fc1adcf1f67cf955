-- What was spent on each day (of UTC, today included), the newest first; wasted_usd is the part that attempts cost which did not
-- complete. The provider is the one that the phase has now. What replacing the model of searches cost stands as pipeline
-- reindex, its model as the phase and its calls as attempts.
create or replace function holdfast.overview_costs_by_day(p_days integer)
returns table (day date, organisation text, pipeline text, phase text, provider text, attempts bigint, cost_usd numeric,
               wasted_usd numeric)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_first_day(p_days);
begin
    return query
        with spent as (
            select (a.ended_at at time zone 'UTC')::date as day, a.organisation, a.pipeline, a.phase, count(*) as attempts,
                   sum(a.cost_usd) as cost_usd, coalesce(sum(a.cost_usd) filter (where a.outcome <> 'completed'), 0) as wasted_usd
            from pipeline_phase a
            where a.cost_usd > 0 and a.ended_at >= v_since
            group by 1, 2, 3, 4
        )
        select s.day, s.organisation, s.pipeline, s.phase, p.provider, s.attempts, s.cost_usd, s.wasted_usd
        from spent s
        left join phase p on p.pipeline = s.pipeline and p.name = s.phase
        union all
        select c.day, c.organisation, 'reindex', c.model, null, sum(c.calls)::bigint, sum(c.cost_usd), sum(c.wasted_usd)
        from reindexed_cost c
        where c.day >= (v_since at time zone 'UTC')::date
        group by c.day, c.organisation, c.model
        order by 1 desc, 7 desc, 2, 3, 4;
end $$;

grant execute on function holdfast.overview_costs_by_day(integer) to holdfast_api, holdfast_readonly;
