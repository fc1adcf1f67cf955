-- What budgets refused, day by day, the newest first.
create or replace function holdfast.overview_budget_refusals(p_days integer)
returns table (day date, name text, organisation text, refusals integer, limit_usd numeric, spent_usd numeric)
language plpgsql stable set search_path = holdfast, pg_temp set jit = off as $$
declare
    v_since timestamptz := overview_since(p_days, 'days');
begin
    return query
        select d.day, b.name, b.organisation, d.refusals, d.limit_usd, d.spent_usd
        from budget b
        join budget_day d on d.budget_id = b.id
        where d.day > (v_since at time zone b.time_zone)::date and d.refusals > 0
        order by d.day desc, b.name, b.organisation nulls first;
end $$;

grant execute on function holdfast.overview_budget_refusals(integer) to holdfast_api, holdfast_readonly;
