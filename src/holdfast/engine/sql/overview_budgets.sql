-- Every budget as it stands today, in its own time zone.
create or replace function holdfast.overview_budgets()
returns table (name text, organisation text, day date, time_zone text, limit_usd numeric, reserved_usd numeric, spent_usd numeric,
               overrun_usd numeric, left_usd numeric, refusals integer, resets_at timestamptz)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    select b.name, b.organisation, t.day, b.time_zone, least(d.limit_usd, b.daily_limit_usd), coalesce(d.reserved_usd, 0),
           coalesce(d.spent_usd, 0), coalesce(d.overrun_usd, 0),
           budget_left(b, d), coalesce(d.refusals, 0),
           next_budget_day(b)
    from budget b
    cross join lateral (select budget_today(b) as day) t
    left join budget_day d on d.budget_id = b.id and d.day = t.day
    order by b.name, b.organisation nulls first
$$;

grant execute on function holdfast.overview_budgets(), holdfast.budget_today(holdfast.budget), holdfast.next_budget_day(holdfast.budget),
    holdfast.budget_left(holdfast.budget, holdfast.budget_day) to holdfast_api, holdfast_readonly;
