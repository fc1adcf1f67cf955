-- Turns a claimed job's reservation into what was really spent, before the attempt itself ends. Fenced by the token.
create or replace function holdfast.settle_budget(p_job_id bigint, p_token bigint, p_spent_usd numeric) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if p_spent_usd is null or not (p_spent_usd >= 0 and p_spent_usd < 1e12) then
        raise exception 'a spending of % USD makes no sense: name an amount of 0 or more', p_spent_usd using errcode = 'HF400';
    end if;
    perform from pipeline_job where id = p_job_id and token = p_token and state = 'working' for share;
    if not found then
        raise exception 'the claim on job % was lost: nothing is settled', p_job_id using errcode = 'HF409';
    end if;
    perform settle_entry(p_job_id, p_token, p_spent_usd);
end $$;

-- Settles an open reservation; null means unknown, then all of it counts as spent. What was billed beyond the limit is
-- kept apart as overrun: the limit stays true, and nothing is hidden. Money that comes back ends a hold that waited for it.
create or replace function holdfast.settle_entry(p_job_id bigint, p_token bigint, p_spent_usd numeric) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_entry budget_entry;
    v_day budget_day;
    v_billed numeric;
    v_spent numeric;
begin
    select * into v_entry from budget_entry
    where job_id = p_job_id and token = p_token and settled_at is null for update;
    if not found then
        return;
    end if;
    select * into v_day from budget_day where budget_id = v_entry.budget_id and day = v_entry.day for update;
    v_billed := coalesce(p_spent_usd, v_entry.reserved_usd);
    v_spent := least(v_billed, v_day.limit_usd - v_day.spent_usd - (v_day.reserved_usd - v_entry.reserved_usd));
    update budget_day
    set reserved_usd = reserved_usd - v_entry.reserved_usd, spent_usd = spent_usd + v_spent,
        overrun_usd = overrun_usd + v_billed - v_spent
    where budget_id = v_entry.budget_id and day = v_entry.day;
    update budget_entry
    set reserved_usd = 0, spent_usd = spent_usd + v_spent, overrun_usd = overrun_usd + v_billed - v_spent, settled_at = clock()
    where job_id = p_job_id and token = p_token;
    if v_spent < v_entry.reserved_usd then
        perform end_budget_holds(v_entry.budget_id, v_entry.day);
    end if;
end $$;

-- Ends holds on a budget that has money again for what waited. Money of a day that is over helps nobody.
create or replace function holdfast.end_budget_holds(p_budget_id bigint, p_day date) returns void
language sql set search_path = holdfast, pg_temp as $$
    update hold h
    set until = clock()
    from budget b
    join budget_day d on d.budget_id = b.id
    where b.id = p_budget_id and d.day = p_day and d.day = budget_today(b)
      and h.budget = b.name and h.organisation is not distinct from b.organisation
      and h.drained_at is null and h.released_at is null and h.until > clock()
      and h.needs_usd <= budget_left(b, d)
$$;

-- Whether today's budget has that much left. Locks the day: money that comes back meanwhile waits, and then finds the
-- hold that is placed for the lack of it.
create or replace function holdfast.budget_allows(p_budget holdfast.budget, p_amount_usd numeric) returns boolean
language plpgsql volatile set search_path = holdfast, pg_temp as $$
declare
    v_day budget_day;
begin
    select * into v_day from budget_day where budget_id = p_budget.id and day = budget_today(p_budget) for no key update;
    select * into p_budget from budget where id = p_budget.id;   -- as it is under the lock
    return p_amount_usd <= budget_left(p_budget, v_day);
end $$;
