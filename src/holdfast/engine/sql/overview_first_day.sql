-- When the first of the last so many days began, today being one of them; days are those of UTC. Refuses what overview_since does.
create or replace function holdfast.overview_first_day(p_days integer) returns timestamptz
language sql stable set search_path = holdfast, pg_temp as $$
    select (date_trunc('day', overview_since(p_days, 'days') at time zone 'UTC') + interval '1 day') at time zone 'UTC'
$$;

grant execute on function holdfast.overview_first_day(integer) to holdfast_api, holdfast_readonly;
