-- Sets a budget's daily limit, for all or for one organisation; today's limit follows, but never below what is already
-- reserved and spent (see budget_left). More money ends the holds that waited for it. A new time zone counts from the end
-- of the day that is being spent. Audited.
create or replace function holdfast.set_budget(
    p_name text, p_daily_limit_usd numeric, p_organisation text default null, p_time_zone text default null,
    p_actor text default holdfast.actor()
) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_before budget;
    v_budget budget;
    v_day date;
begin
    if p_daily_limit_usd is null or not (p_daily_limit_usd >= 0 and p_daily_limit_usd < 1e12) then
        raise exception 'a daily limit of % USD makes no sense: name an amount of 0 or more', p_daily_limit_usd using errcode = 'HF400';
    elsif not exists (select from pg_timezone_names where name = coalesce(p_time_zone, 'UTC')) then
        raise exception 'there is no time zone "%": name one like Europe/Zurich', p_time_zone using errcode = 'HF400';
    end if;
    select * into v_before from budget where name = p_name and organisation is not distinct from p_organisation for no key update;
    if p_time_zone <> v_before.time_zone and exists (
        select from budget_day d
        where d.budget_id = v_before.id and d.day = budget_today(v_before) and d.reserved_usd + d.spent_usd + d.overrun_usd > 0
    ) then
        update budget set kept_day = budget_today(v_before), kept_until = next_budget_day(v_before) where id = v_before.id;
    end if;
    insert into budget as b (name, organisation, daily_limit_usd, time_zone)
    values (p_name, p_organisation, p_daily_limit_usd, coalesce(p_time_zone, 'UTC'))
    on conflict (name, organisation) do update
    set daily_limit_usd = excluded.daily_limit_usd, time_zone = coalesce(p_time_zone, b.time_zone)
    returning * into v_budget;
    v_day := budget_today(v_budget);
    update budget_day set limit_usd = greatest(p_daily_limit_usd, reserved_usd + spent_usd)
    where budget_id = v_budget.id and day >= v_day;
    perform end_budget_holds(v_budget.id, v_day);
    insert into audit_log (at, actor, action, after) values (clock(), p_actor, 'set_budget', to_jsonb(v_budget));
    perform wake();
end $$;
