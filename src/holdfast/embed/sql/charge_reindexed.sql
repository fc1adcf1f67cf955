-- Puts the cost of one call on the account of those whose passages it embedded, each its share by their number. p_generations
-- names the generation of every passage; p_wasted_usd is the part that brought nothing.
create or replace function holdfast.charge_reindexed(
    p_embedder smallint, p_generations bigint[], p_cost_usd numeric, p_wasted_usd numeric) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if p_cost_usd is null or p_cost_usd = 0 then
        return;
    end if;
    insert into reindexed_cost as c (day, organisation, platform, model, calls, cost_usd, wasted_usd)
    select (clock() at time zone 'UTC')::date, s.organisation, s.source_platform, m.name, 1,
           -- What all up to this one owe less what all before it do: the shares add up to the last digit.
           round(p_cost_usd * s.up_to / s.passages, 12) - round(p_cost_usd * (s.up_to - s.own) / s.passages, 12),
           round(p_wasted_usd * s.up_to / s.passages, 12) - round(p_wasted_usd * (s.up_to - s.own) / s.passages, 12)
    from (
        select d.organisation, d.source_platform, count(*) as own,
               sum(count(*)) over (order by d.organisation, d.source_platform) as up_to, sum(count(*)) over () as passages
        from unnest(p_generations) as i(id)
        cross join lateral (
            select d.organisation, d.source_platform from document d where d.generation_id = i.id
            union all
            select d.organisation, d.source_platform from pipeline_job j join document d on d.id = j.document_id where j.id = i.id
            limit 1
        ) d
        group by d.organisation, d.source_platform
    ) s
    join embedder m on m.id = p_embedder
    order by s.organisation, s.source_platform
    on conflict (day, organisation, platform, model) do update
    set calls = c.calls + 1, cost_usd = c.cost_usd + excluded.cost_usd, wasted_usd = c.wasted_usd + excluded.wasted_usd;
end $$;
