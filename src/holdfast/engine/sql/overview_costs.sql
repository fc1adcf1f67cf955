-- What was spent by whom on what, the dearest first; wasted_usd is the part that attempts cost which did not complete. What
-- replacing the model of searches cost stands as pipeline reindex, its model as the phase and its calls as attempts; it
-- is known by day, and the first day counts whole.
create or replace function holdfast.overview_costs(p_days integer)
returns table (organisation text, platform text, pipeline text, phase text, attempts bigint, cost_usd numeric, wasted_usd numeric)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
begin
    return query
        with paid as materialized (
            select a.document_id, a.organisation, a.pipeline, a.phase, a.outcome, a.cost_usd
            from pipeline_phase a
            where a.cost_usd > 0 and a.ended_at >= v_since
        ),
        -- Looked up as one sorted array: documents of one time lie side by side.
        origin as materialized (
            select d.id, d.source_platform from document d where d.id = any (array(select document_id from paid))
        )
        select p.organisation, o.source_platform, p.pipeline, p.phase, count(*), sum(p.cost_usd),
               coalesce(sum(p.cost_usd) filter (where p.outcome <> 'completed'), 0)
        from paid p
        join origin o on o.id = p.document_id
        group by 1, 2, 3, 4
        union all
        select c.organisation, c.platform, 'reindex', c.model, sum(c.calls)::bigint, sum(c.cost_usd), sum(c.wasted_usd)
        from reindexed_cost c
        where c.day >= (v_since at time zone 'UTC')::date
        group by c.organisation, c.platform, c.model
        order by 6 desc, 1, 2, 3, 4;
end $$;

grant execute on function holdfast.overview_costs(integer) to holdfast_api, holdfast_readonly;
