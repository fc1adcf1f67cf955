-- The budget that pays for an organisation: its own, or the one shared by all.
create or replace function holdfast.budget_for(p_name text, p_organisation text) returns holdfast.budget
language sql stable set search_path = holdfast, pg_temp as $$
    select b from budget b
    where b.name = p_name and (b.organisation = p_organisation or b.organisation is null)
    order by b.organisation nulls last
    limit 1
$$;

-- Whether an organisation of the caller's has this budget for itself.
create or replace function holdfast.pays_itself(p_organisation text, p_budget text) returns boolean
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select is_own(p_organisation) and exists (select from budget where name = p_budget and organisation = p_organisation)
$$;
grant execute on function holdfast.pays_itself(text, text) to holdfast_api, holdfast_readonly;

-- The day that pays now. One that was used when the time zone changed goes on until it is over, and none comes back: the same
-- hours never have two days' money.
create or replace function holdfast.budget_today(p_budget holdfast.budget) returns date
language sql volatile set search_path = holdfast, pg_temp as $$
    select case when p_budget.kept_until > clock() then p_budget.kept_day
                else greatest(p_budget.kept_day, (clock() at time zone p_budget.time_zone)::date) end
$$;

-- When another day begins to pay.
create or replace function holdfast.next_budget_day(p_budget holdfast.budget) returns timestamptz
language sql volatile set search_path = holdfast, pg_temp as $$
    select case when p_budget.kept_until > clock() and (p_budget.kept_until at time zone p_budget.time_zone)::date > p_budget.kept_day
                then p_budget.kept_until
                else (budget_today(p_budget) + 1)::timestamp at time zone p_budget.time_zone end
$$;

-- What a day still allows; one that nobody has used yet, all. A limit that was lowered counts at once, though what was set aside before may pass it.
create or replace function holdfast.budget_left(p_budget holdfast.budget, p_day holdfast.budget_day) returns numeric
language sql immutable set search_path = holdfast, pg_temp as $$
    select greatest(least(p_day.limit_usd, p_budget.daily_limit_usd) 
                    - coalesce(p_day.reserved_usd, 0) - coalesce(p_day.spent_usd, 0), 0)
$$;
