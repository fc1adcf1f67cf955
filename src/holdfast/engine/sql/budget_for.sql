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

create or replace function holdfast.next_budget_day(p_time_zone text) returns timestamptz
language sql volatile set search_path = holdfast, pg_temp as $$
    select (date_trunc('day', clock() at time zone p_time_zone) + interval '1 day') at time zone p_time_zone
$$;
