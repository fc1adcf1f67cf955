-- Retries the first few of the jobs that failed as a filter says (see matching_jobs) and remembers the rest as a trial, which
-- advance_trials goes on with: both or neither. Whoever is confined to an organisation tries its own jobs. Audited.
create or replace function holdfast.try_first(
    p_filter jsonb, p_first integer default 5, p_actor text default holdfast.actor(), p_reason text default null
) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    c_most constant integer := 100;
    v_now timestamptz := clock();
    v_filter jsonb := p_filter || jsonb_strip_nulls(jsonb_build_object('organisation', confined_to()));
    v_job bigint;
    v_first bigint[] := '{}';
    v_trial bigint;
begin
    if p_first is null or p_first not between 1 and c_most then
        raise exception 'trying % first makes no sense: name 1 to %', p_first, c_most using errcode = 'HF400';
    elsif p_filter ->> 'state' not in ('failed', 'deadletter') then
        raise exception 'jobs that are % have nothing to try: name the state failed, deadletter or none', p_filter ->> 'state'
            using errcode = 'HF400';
    end if;
    if is_own(p_filter ->> 'organisation') or not p_filter ? 'organisation' then
        foreach v_job in array array(select trial_jobs(v_filter, 0, 500)) loop
            exit when cardinality(v_first) = p_first;
            -- One by one, and so without waiting: of many that failed alike, any will do that nobody is busy with.
            perform from pipeline_job where id = v_job for update skip locked;
            continue when not found;
            perform from document where id = (select document_id from pipeline_job where id = v_job) for no key update skip locked;
            continue when not found;
            if reopen(v_job, 'retry', null, p_actor, p_reason) = 'queued' then
                v_first := v_first || v_job;
            end if;
        end loop;
    end if;
    if v_first = '{}' then
        raise exception 'no failed job that could be retried matches: there is nothing to try' using errcode = 'HF404';
    end if;
    insert into trial (organisation, filter, first_jobs, first_tokens, created_at, created_by, reason)
    values (confined_to(), v_filter, v_first,
            array(select j.token from unnest(v_first) with ordinality f(id, n) join pipeline_job j on j.id = f.id order by f.n),
            v_now, p_actor, p_reason)
    returning id into v_trial;
    perform wake();
    return v_trial;
end $$;

-- The failed jobs that a trial's filter means, above an id, in the order of their ids; not those of replaced versions, unless
-- named. Asked state by state, because each has an index of its own.
create or replace function holdfast.trial_jobs(p_filter jsonb, p_after bigint, p_limit integer) returns setof bigint
language sql stable set search_path = holdfast, pg_temp as $$
    select m.id
    from unnest(case when p_filter ? 'state' then array[p_filter ->> 'state'] else array['failed', 'deadletter'] end) s(state)
    cross join lateral matching_jobs(
        p_filter || jsonb_build_object('state', s.state, 'after', p_after)
        || case when p_filter ? 'ids' then '{}' else '{"replaced": false}' end::jsonb, p_limit) m(id)
    order by m.id
    limit p_limit
$$;
