-- Sets money aside for a claimed job, from the budget its phase names: reserving and refusing are one atomic step, and
-- reserved + spent never passes the day's limit. Fenced by the token. Asked again it only adds what is missing to the
-- amount, so a call whose answer was lost may be repeated. A day's first refusal is announced.
create or replace function holdfast.reserve_budget(
    p_job_id bigint, p_token bigint, p_amount_usd numeric,
    out granted boolean, out budget text, out left_usd numeric, out resets_at timestamptz
)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_budget budget;
    v_entry budget_entry;
    v_missing numeric;
    v_day date;
    v_refusals integer;
begin
    if p_amount_usd is null or not (p_amount_usd >= 0 and p_amount_usd < 1e12) then   -- NaN fails both
        raise exception 'a reservation of % USD makes no sense: name an amount of 0 or more', p_amount_usd using errcode = 'HF400';
    end if;
    select b.* into v_budget
    from pipeline_job j
    join phase p on p.pipeline = j.pipeline and p.name = j.phase
    left join worker w on w.id = j.worker_id
    left join lateral budget_for((as_served(p, w.lanes)).budget, j.organisation) f on true
    left join budget_entry e on e.job_id = j.id and e.token = j.token
    left join budget b on b.id = coalesce(e.budget_id, f.id)
    where j.id = p_job_id and j.token = p_token and j.state = 'working'
    for share of j;   -- a sweep cannot take the job away between this look and the commit
    if not found then
        raise exception 'the claim on job % was lost: nothing is reserved', p_job_id using errcode = 'HF409';
    elsif v_budget.id is null then
        raise exception 'the phase of job % names no budget: declare one to reserve from it', p_job_id using errcode = 'HF400';
    end if;
    budget := v_budget.name;
    v_day := budget_today(v_budget);
    insert into budget_day (budget_id, day, limit_usd) values (v_budget.id, v_day, v_budget.daily_limit_usd) on conflict do nothing;
    -- A reservation goes on where it began, also past midnight or once the organisation has a budget of its own.
    select * into v_entry from budget_entry e where e.job_id = p_job_id and e.token = p_token;
    resets_at := case when v_entry.day < v_day then clock() else next_budget_day(v_budget) end;
    v_day := coalesce(v_entry.day, v_day);
    v_missing := greatest(p_amount_usd - coalesce(v_entry.reserved_usd, 0), 0);
    -- Locked before the limit is read: one that is being lowered counts.
    perform from budget_day d where d.budget_id = v_budget.id and d.day = v_day for no key update;
    update budget_day d
    set reserved_usd = d.reserved_usd + v_missing
    from budget b
    where b.id = v_budget.id and d.budget_id = b.id and d.day = v_day and v_missing <= budget_left(b, d)
    returning budget_left(b, d) into left_usd;
    granted := found;
    if not granted then
        update budget_day d set refusals = d.refusals + 1 from budget b
        where b.id = v_budget.id and d.budget_id = b.id and d.day = v_day
        returning budget_left(b, d), d.refusals into left_usd, v_refusals;
        if v_refusals = 1 then
            perform announce_exhausted(v_budget, v_day, left_usd, p_amount_usd);
        end if;
        return;
    end if;
    insert into budget_entry as e (job_id, token, budget_id, day, reserved_usd)
    values (p_job_id, p_token, v_budget.id, v_day, v_missing)
    on conflict (job_id, token) do update set reserved_usd = e.reserved_usd + excluded.reserved_usd, settled_at = null;
end $$;

-- Announces that a budget's day is used up, so far as anyone asked for.
create or replace function holdfast.announce_exhausted(p_budget holdfast.budget, p_day date, p_left_usd numeric, p_asked_usd numeric)
returns void
language sql set search_path = holdfast, pg_temp as $$
    select announce('budget.exhausted', jsonb_build_array(jsonb_build_object(
        'organisation', p_budget.organisation,
        'body', jsonb_build_object(
            'budget', p_budget.name, 'organisation', p_budget.organisation, 'day', p_day, 'limit_usd', p_budget.daily_limit_usd,
            'left_usd', p_left_usd, 'asked_usd', p_asked_usd, 'resets_at', next_budget_day(p_budget)))))
$$;
