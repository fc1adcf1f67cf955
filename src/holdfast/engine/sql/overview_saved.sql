-- What was not paid for again because finished phases were kept, day by day (of UTC), the newest first. Each attempt that took up
-- what another had left unfinished counts with the cost of all phases before its own, which a start from scratch would have run.
create or replace function holdfast.overview_saved(p_days integer)
returns table (day date, resumed bigint, saved_usd numeric)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_first_day(p_days);
begin
    return query
        with resumed as materialized (
            select a.job_id, a.token, a.pipeline, a.phase, (a.ended_at at time zone 'UTC')::date as day
            from pipeline_phase a
            where a.parent_phase_id is not null and a.ended_at >= v_since
        )
        select r.day, count(*), sum(k.cost_usd)
        from resumed r
        cross join lateral (
            select coalesce(sum(f.cost_usd), 0) as cost_usd
            from (
                -- A phase that completed in several runs is kept as the last of them left it.
                select distinct on (o.phase) o.cost_usd
                from pipeline_phase o
                join phase b on b.pipeline = o.pipeline and b.name = o.phase
                join phase p on p.pipeline = r.pipeline and p.name = r.phase and b.position < p.position
                where o.job_id = r.job_id and o.token < r.token and o.outcome = 'completed'
                order by o.phase, o.token desc
            ) f
        ) k
        group by 1
        order by 1 desc;
end $$;

grant execute on function holdfast.overview_saved(integer) to holdfast_api, holdfast_readonly;
