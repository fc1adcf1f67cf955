-- Cancels jobs, waiting or running; a running attempt ends as cancelled and its worker is told. Audited.
-- Answers a row per job with what became of it: cancelled, or why not. Whoever cancels many names some hundred at a time.
-- Copies of the content that a cancelled job carried go on: one of them is carried in its stead.
create or replace function holdfast.cancel(
    p_jobs bigint[], p_actor text default holdfast.actor(), p_reason text default null
) returns table (job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    return query select * from cancel_jobs(p_jobs, p_actor, p_reason);
    perform hand_over(j.document_id, j.pipeline)
    from (select distinct document_id, pipeline from pipeline_job where id = any (p_jobs) and state = 'cancelled') j;
end $$;

-- The same, and copies wait for nobody: for whoever deletes them too.
create or replace function holdfast.cancel_jobs(p_jobs bigint[], p_actor text, p_reason text)
returns table (job_id bigint, result text)
language plpgsql set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_job pipeline_job;
    v_attempt bigint;
    v_cost numeric;
    v_cancelled bigint[] := '{}';
begin
    perform lock_for_transition(p_jobs, array(
        select d.id from pipeline_job j join document d on d.duplicate_of = j.document_id where j.id = any (p_jobs)));
    foreach job_id in array array(select distinct unnest(p_jobs) order by 1) loop
        select * into v_job from pipeline_job j where j.id = job_id;
        if not found or not is_own(v_job.organisation) then
            result := 'not_found';
        elsif v_job.flow = 'old' then
            result := 'old_flow';
        elsif v_job.state in ('done', 'deadletter', 'cancelled') then
            result := 'is_' || v_job.state;
        else
            v_attempt := v_job.retried_phase_id;
            v_cost := 0;
            if v_job.state = 'working' then
                v_cost := known_cost(v_job);
                v_attempt := record_attempt(v_job, 'cancelled', clock(), null, (
                    select told_cost_unknown(jsonb_build_object(
                        'category', 'cancelled', 'error', coalesce(p_reason, 'cancelled by ' || p_actor)), p)
                    from phase p where p.pipeline = v_job.pipeline and p.name = v_job.phase), v_cost);
                perform settle_entry(v_job.id, v_job.token, null);
                perform pg_notify('holdfast', format('dropped %s %s', v_job.id, v_job.token));
            end if;
            update pipeline_job
            set state = 'cancelled', worker_id = null, started_at = null, progress = null, progress_at = null, ready_at = null,
                hold_id = null, retried_phase_id = v_attempt, finished_at = clock(), total_cost_usd = total_cost_usd + v_cost,
                audit_id = audit(p_actor, 'cancel', v_job, p_reason, jsonb_build_object('state', 'cancelled'))
            where id = job_id;
            v_cancelled := v_cancelled || v_job.document_id;
            result := 'cancelled';
        end if;
        return next;
    end loop;
    perform wake_parent(p.id)
    from (select distinct d.parent_id as id from document d where d.id = any (v_cancelled)) p;
end $$;

-- Has one of the living copies of a document carried through a pipeline in its stead, if all its own jobs there are cancelled; the
-- others become copies of that one. The caller has locked them all.
create or replace function holdfast.hand_over(p_document bigint, p_pipeline text) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_heir document;
    v_job pipeline_job;
    v_first phase;
    v_input jsonb;
begin
    select d.* into v_heir
    from document d
    where d.duplicate_of = p_document and d.superseded_at is null and d.deleted_at is null
      and (d.root_id is null or is_wanted(d.root_id))
    order by d.id
    limit 1;
    if not found or exists (select from jobs_of(p_document) j where j.pipeline = p_pipeline and j.state <> 'cancelled') then
        return;
    end if;
    v_first := first_phase(p_pipeline);
    select * into v_job from jobs_of(p_document) j where j.pipeline = p_pipeline order by j.id desc limit 1;
    v_input := input_of(v_job, v_first);
    if v_input ? 'name' then
        v_input := v_input || jsonb_build_object('name', v_heir.source_name);
    end if;
    update document set content_hash = null where id = p_document;
    update document set duplicate_of = null where id = v_heir.id returning * into v_heir;
    update document set duplicate_of = v_heir.id where duplicate_of = p_document;
    insert into artifact_use (document_id, kind, organisation, hash, used_at)
    select v_heir.id, u.kind, u.organisation, u.hash, clock() from artifact_use u where u.document_id = p_document and u.kind = 'original'
    on conflict do nothing;
    perform submit_again(v_first, v_heir, jsonb_build_object('priority', v_job.priority, 'input', v_input), clock());
    perform wake();
end $$;
