-- Ends attempts that succeeded: records them, moves each job to its next phase and queues it, or ends it, in one step.
-- Items: job_id, token, output, cost_usd, cost_is_known (false: nobody knows what it cost, and what was reserved counts as
-- spent), metadata (merged into the document's), ends_as (a status: the job is done with
-- it at once, whatever phases would follow), saves (the caller writes more in this transaction and then calls settle_saved(),
-- which settles the money; such an item comes alone).
-- result: settled; already (this very attempt was settled before: safe to repeat after a cut connection); stale (someone else
-- has claimed the job since: nothing is written but what it cost). A worker that was only taken to be lost settles as any other.
create or replace function holdfast.settle(p_items jsonb)
returns table (job_id bigint, token bigint, result text, state text, phase text)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
    c_cost_unknown constant jsonb := '{"error": "its handler does not know what it cost", "details": {"cost_is_known": false}}';
    v_now timestamptz := clock();
    v_settled bigint[] := '{}';
    v_late jsonb := '[]';
    v_done bigint[];
    v_queued boolean;
begin
    perform refuse_bad_costs(p_items);
    with item as materialized (
        select distinct on (i.job_id, i.token)
               i.job_id, i.token, nullif(i.output, 'null') as output, coalesce(i.cost_usd, 0) as cost_usd,
               i.cost_is_known, i.ends_as
        from jsonb_to_recordset(p_items)
             as i(job_id bigint, token bigint, output jsonb, cost_usd numeric, cost_is_known boolean, ends_as text)
        order by i.job_id, i.token
    ),
    locked as materialized (
        -- By key alone: where the state is named too, a plan may walk all jobs under way once for every item.
        select j.*, i.output, case when i.cost_is_known is false then known_cost(j) else i.cost_usd end as cost_usd,
               case when i.cost_is_known is false then c_cost_unknown end as error, i.ends_as, i.token as named_token
        from item i
        join pipeline_job j on j.id = i.job_id
        for update of j
    ),
    ending as materialized (
        select * from locked where state = 'working' and token = named_token
    ),
    recorded as (
        insert into pipeline_phase (job_id, document_id, organisation, pipeline, phase, run, token, parent_phase_id, outcome,
                                    attempt, worker_id, started_at, ended_at, input, output, error, cost_usd)
        select e.id, e.document_id, e.organisation, e.pipeline, e.phase, e.run, e.token, e.retried_phase_id, 'completed',
               e.retry_count + 1, e.worker_id, e.started_at, v_now, e.input, e.output, e.error, e.cost_usd
        from ending e
    ),
    moved as (
        update pipeline_job j
        set state = case when n.name is null then 'done' else 'queued' end,
            phase = coalesce(n.name, j.phase),
            status = coalesce(n.queued_status, e.ends_as, p.done_status),
            worker_id = null, started_at = null, progress = null, progress_at = null,
            retry_count = 0, crash_count = 0, retried_phase_id = null, last_error = null, error_code = null,
            error_meta = null, retry_reason = null,
            input = coalesce(e.output, j.input),
            total_cost_usd = j.total_cost_usd + e.cost_usd,
            queued_at = case when n.name is null then j.queued_at else v_now end,
            finished_at = case when n.name is null then v_now end
        from ending e
        join phase p on p.pipeline = e.pipeline and p.name = e.phase
        left join lateral (
            select f.name, f.queued_status
            from phase f
            where e.ends_as is null and f.pipeline = e.pipeline and f.position > p.position and f.retired_at is null
              -- A declaration that was reordered may name a phase next that this run has behind it.
              and not exists (select from pipeline_phase a where a.job_id = e.id and a.run = e.run
                              and a.phase = f.name and a.outcome = 'completed')
            order by f.position
            limit 1
        ) n on true
        where j.id = e.id
        returning j.id, j.state
    )
    select coalesce(array_agg(id), '{}'), array_agg(id) filter (where state = 'done'), bool_or(state = 'queued')
    into v_settled, v_done, v_queued from moved;
    if cardinality(v_settled) < jsonb_array_length(p_items) then
        perform lock_late_ones(p_items, v_settled);
    end if;
    if v_settled <> '{}' then
        perform settle_side_effects(p_items, v_settled);
        perform announce_jobs('job.done', v_done);
    end if;
    if v_queued then
        perform wake();
    end if;
    if cardinality(v_settled) < jsonb_array_length(p_items) then
        v_late := late_items(p_items, v_settled);
        return query
            select (i ->> 'job_id')::bigint, (i ->> 'late_token')::bigint, s.result, s.state, s.phase
            from jsonb_array_elements(v_late) i
            cross join lateral settle(jsonb_build_array(i - 'late_token')) s;
    end if;
    return query
        select i.job_id, i.token,
               -- A job settled just now still has the token of the handle that did it.
               case when i.job_id = any (v_settled) and i.token = j.token then 'settled'
                    when a.outcome = 'completed' then 'already' else 'stale' end,
               j.state, j.phase
        from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint)
        left join pipeline_job j on j.id = i.job_id
        left join pipeline_phase a on a.job_id = i.job_id and a.token = i.token
        where v_late = '[]' or not exists (select from jsonb_to_recordset(v_late) as l(job_id bigint, late_token bigint)
                                           where (l.job_id, l.late_token) = (i.job_id, i.token));
end $$;

-- Locks what a group touches of which some come late, before anything of it is: the jobs are locked. One that "saves" comes alone,
-- and keeps nobody from its budget.
create or replace function holdfast.lock_late_ones(p_items jsonb, p_settled bigint[]) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_jobs bigint[] := array(select i.job_id from jsonb_to_recordset(p_items) as i(job_id bigint));
begin
    perform lock_documents(array(select document_id from pipeline_job where id = any (v_jobs)));
    if not jsonb_path_exists(p_items, '$[*] ? (@.saves == true)') then
        perform lock_budgets_and_holds(v_jobs, p_late => array(select unnest(v_jobs) except select unnest(p_settled)));
    end if;
end $$;

-- Those of the items whose attempts were taken to be lost and may end all the same, each under the token that it has now; the
-- one it came with is its "late_token". One whose ending is on record already is among them.
create or replace function holdfast.late_items(p_items jsonb, p_settled bigint[]) returns jsonb
language sql set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select coalesce(jsonb_agg(i || jsonb_build_object('token', t.token, 'late_token', i -> 'token')), '[]')
    from (
        select i, case when (i -> 'saves') = 'true' then resumed_token(n.job_id, n.token, n.cost_usd)
                       else late_token(n.job_id, n.token, n.cost_usd) end as token
        from jsonb_array_elements(p_items) i
        cross join lateral (select (i ->> 'job_id')::bigint as job_id, (i ->> 'token')::bigint as token,
                                   case when (i -> 'cost_is_known') = 'false' then null
                                        else coalesce((i ->> 'cost_usd')::numeric, 0) end as cost_usd) n
        -- A job settled just now still has the token of the handle that did it.
        where not exists (select from pipeline_job j where j.id = (i ->> 'job_id')::bigint and j.id = any (p_settled)
                          and j.token = (i ->> 'token')::bigint)
        order by (i ->> 'job_id')::bigint
    ) t
    where t.token is not null
$$;

-- What a success means beyond its job: merged metadata, a cleared document, money settled. Each costs only those it concerns.
create or replace function holdfast.settle_side_effects(p_items jsonb, p_settled bigint[]) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    if jsonb_path_exists(p_items, '$[*].metadata') or exists (select from policy where two_level) then
        perform lock_documents(array(select document_id from pipeline_job where id = any (p_settled)));
    end if;
    if jsonb_path_exists(p_items, '$[*].metadata') then
        update document d
        set metadata = d.metadata || m.metadata,
            found_out = d.found_out || array(select jsonb_object_keys(m.metadata) except select unnest(d.found_out))
        from (
            -- Several jobs of one document may end together.
            select j.document_id, jsonb_object_agg(e.key, e.value) as metadata
            from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint, metadata jsonb)
            join pipeline_job j on j.id = i.job_id and j.token = i.token
            cross join lateral jsonb_each(case jsonb_typeof(i.metadata) when 'object' then i.metadata else '{}' end) e
            where i.job_id = any (p_settled)
            group by j.document_id
        ) m
        where d.id = m.document_id;
    end if;
    if exists (select from policy where two_level) then
        update document d
        set failure_state = 'success', failure_count = 0, failures = '{}', last_failure = null, cool_down_until = null
        from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint)
        join pipeline_job j on j.id = i.job_id and j.token = i.token
        join pipeline_phase a on a.job_id = i.job_id and a.token = i.token
        join phase p on p.pipeline = a.pipeline and p.name = a.phase
        join policy y on y.name = p.policy and y.two_level
        where d.id = a.document_id and i.job_id = any (p_settled);
    end if;
    if exists (select from budget) and not jsonb_path_exists(p_items, '$[*] ? (@.saves == true)') then
        perform lock_budgets_and_holds(p_settled);
        perform settle_entry(i.job_id, i.token, case when i.cost_is_known is false then null else coalesce(i.cost_usd, 0) end)
        from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint, cost_usd numeric, cost_is_known boolean)
        join budget_entry e on e.job_id = i.job_id and e.token = i.token and e.settled_at is null
        where i.job_id = any (p_settled);
    end if;
end $$;

-- Settles the money of an attempt that "saves", when it has; null where nobody knows what it cost. From here to the end of the transaction everyone who pays from the
-- same budget waits.
create or replace function holdfast.settle_saved(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_token bigint := coalesce(token_after(p_job_id, p_token), p_token);
begin
    if exists (select from pipeline_phase where job_id = p_job_id and token = v_token and outcome = 'completed') then
        perform reopen_resumed(p_job_id, v_token);
        perform lock_budgets_and_holds(array[p_job_id]);
        perform settle_entry(p_job_id, v_token, p_cost_usd);
    end if;
end $$;

-- Refuses a cost that is negative, beyond reason or not a number before anything is written.
create or replace function holdfast.refuse_bad_costs(p_items jsonb) returns void
language plpgsql immutable as $$
begin
    if jsonb_path_exists(p_items, '$[*].cost_usd ? (@.type() != "number" && @.type() != "null" || @ < 0 || @ >= 1000000000000)') then
        raise exception 'a cost_usd is negative, absurdly high or not a number' using errcode = 'HF400';
    end if;
end $$;
