-- Gives claimed jobs back uncharged: the attempt ends as released, the job waits again for the same phase.
-- Items: job_id, token, why ("reason"), for how long it should not be tried ("wait_seconds"), and whether it may go on sooner
-- when the last member of its document has ended ("for_members"), whether someone has to act first ("needs_someone"),
-- whether its worker does not know ("taken_back"): then its ending counts as long as nobody has claimed the job, and
-- what it spent ("cost_usd"; what is known to be paid counts in any case; not named: unknown, and what was reserved counts as
-- spent). Fenced: of a handle that lost its claim only the cost is recorded. Returns the ids given back.
create or replace function holdfast.give_back(p_items jsonb) returns setof bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
    v_item record;
    v_job pipeline_job;
    v_token bigint;
    v_cost numeric;
    v_error jsonb;
begin
    perform refuse_bad_costs(p_items);
    perform lock_for_endings(p_items);
    for v_item in
        select i.job_id, i.token, i.reason, i.for_members, i.needs_someone, i.taken_back, i.cost_usd,
               v_now + make_interval(secs => nullif(i.wait_seconds, 0)) as ready_at
        from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint, reason text, wait_seconds double precision,
                                           for_members boolean, needs_someone boolean, taken_back boolean, cost_usd numeric)
        order by i.job_id
    loop
        v_token := coalesce(token_after(v_item.job_id, v_item.token), v_item.token);
        v_job := claimed_job(v_item.job_id, v_token);
        if v_job.id is null then
            perform learn_cost(v_item.job_id, v_token, v_item.cost_usd);
            continue;
        end if;
        v_cost := greatest(known_cost(v_job), v_item.cost_usd);
        v_error := jsonb_build_object('category', 'released', 'error', coalesce(v_item.reason, 'given back by its worker'))
            || case when v_item.for_members then '{"for_members": true}'::jsonb else '{}' end
            || case when v_item.needs_someone then '{"needs_someone": true}'::jsonb else '{}' end
            || case when v_item.taken_back then '{"taken_back": true}'::jsonb else '{}' end;
        if v_item.cost_usd is null and exists (select from budget_entry e where e.job_id = v_job.id and e.token = v_token
                                               and e.settled_at is null and e.reserved_usd > 0) then
            v_error := v_error || '{"details": {"cost_is_known": false}}';
        elsif v_item.cost_usd is null then
            v_error := (select told_cost_unknown(v_error, p) from phase p where p.pipeline = v_job.pipeline and p.name = v_job.phase);
        end if;
        perform record_attempt(v_job, 'released', v_now, null, v_error, v_cost);
        update pipeline_job j
        set state = case when v_item.ready_at is null then 'queued' else 'held' end, ready_at = v_item.ready_at,
            status = p.queued_status, worker_id = null, started_at = null, progress = null,
            progress_at = null, queued_at = v_now, total_cost_usd = j.total_cost_usd + v_cost,
            retried_phase_id = (select id from pipeline_phase where job_id = v_job.id and token = v_job.token)
        from phase p
        where j.id = v_job.id and p.pipeline = j.pipeline and p.name = j.phase;
        perform settle_entry(v_job.id, v_job.token, case when v_item.cost_usd is not null then v_cost end);
        return next v_job.id;
    end loop;
    if found then
        perform wake();
    end if;
end $$;

-- Writes the one row of a finished attempt and returns its id.
create or replace function holdfast.record_attempt(
    p_job holdfast.pipeline_job, p_outcome text, p_ended_at timestamptz, p_output jsonb, p_error jsonb, p_cost_usd numeric
) returns bigint
language sql set search_path = holdfast, pg_temp as $$
    insert into pipeline_phase (job_id, document_id, organisation, pipeline, phase, run, token, parent_phase_id, outcome,
                                attempt, worker_id, started_at, ended_at, input, output, category, error, cost_usd)
    values (p_job.id, p_job.document_id, p_job.organisation, p_job.pipeline, p_job.phase, p_job.run, p_job.token,
            p_job.retried_phase_id, p_outcome, p_job.retry_count + 1, p_job.worker_id, p_job.started_at, p_ended_at,
            p_job.input, p_output, p_error ->> 'category', p_error, coalesce(p_cost_usd, 0))
    returning id
$$;
