-- Takes the answer of a provider to what a job asked for: kept, and the job that waits goes on, in one step. Exactly once, in
-- whatever order answers and asks come and however often: whoever asks later finds it.
-- result: accepted; already (this message, or another answer to that reference, came before); unknown (nobody has asked yet:
-- kept for a day); late (its job has moved on: nothing changes); full (too many came that nobody asked for: send it later).
create or replace function holdfast.answer(
    p_provider text, p_message_id text, p_reference text, p_outcome text, p_body jsonb
) returns text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_awaited awaited_answer;
    v_job pipeline_job;
begin
    perform refuse_bad_answer(p_provider, p_message_id, p_reference, p_outcome, p_body);
    loop
        select * into v_awaited from awaited_answer where provider = p_provider and reference = p_reference;
        if not found then
            if unasked_are_many(p_provider) then
                return 'full';
            end if;
            insert into awaited_answer (provider, reference, message_id, outcome, body, answered_at)
            values (p_provider, p_reference, p_message_id, p_outcome, p_body, clock())
            on conflict (provider, reference) do nothing;
            exit when found;
            continue;   -- somebody asked, or the same answer came, in this very moment
        end if;
        -- The job first, as everyone locks them; then what was read is read again.
        select * into v_job from pipeline_job where id = v_awaited.job_id for update;
        select * into v_awaited from awaited_answer where id = v_awaited.id for update;
        continue when not found or v_awaited.job_id is distinct from v_job.id;
        return take_answer(v_awaited, v_job, p_message_id, p_outcome, p_body);
    end loop;
    return 'unknown';
end $$;

-- Takes an answer to a reference that is known. The caller holds the locks of both rows.
create or replace function holdfast.take_answer(
    p_awaited holdfast.awaited_answer, p_job holdfast.pipeline_job, p_message_id text, p_outcome text, p_body jsonb
) returns text
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    if p_awaited.answered_at is not null or p_awaited.message_id = p_message_id then
        return 'already';
    end if;
    if (p_job.run, p_job.phase) <> (p_awaited.run, p_awaited.phase) or p_job.state in ('done', 'cancelled')
       or exists (select from awaited_answer n where n.job_id = p_job.id and n.token > p_awaited.token) then
        return 'late';
    end if;
    update awaited_answer set message_id = p_message_id, outcome = p_outcome, body = p_body, answered_at = clock()
    where id = p_awaited.id;
    -- Where it waits for something else by now, a retry or a hold, it finds the answer when that is over.
    if p_job.state = 'held' and p_job.hold_id is null and p_job.ready_at = p_awaited.deadline then
        perform requeue(array[p_job.id], clock());
        perform wake();
    end if;
    return 'accepted';
end $$;

-- What the attempt that is claimed next knows of its phase's last ask: {"outcome", "body"}, or null when there is none or it
-- has served. A success serves until the phase is finished, so that nobody pays for it again. A failure, or an answer that did
-- not come in time (outcome "overdue"), ends one attempt; the next one asks anew.
create or replace function holdfast.answer_for(p_job_id bigint, p_run integer, p_phase text, p_queued_at timestamptz) returns jsonb
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select case
        when a.outcome = 'completed' then jsonb_build_object('outcome', a.outcome, 'body', a.body)
        when exists (select from pipeline_phase f where f.job_id = a.job_id and f.token > a.token
                     and f.category not in ('released', 'worker_lost')) then null
        when a.outcome = 'failed' then jsonb_build_object('outcome', a.outcome, 'body', a.body)
        when a.deadline <= p_queued_at then jsonb_build_object('outcome', 'overdue', 'body', jsonb_build_object(
            'provider', a.provider, 'reference', a.reference, 'deadline', a.deadline)) end
    from awaited_answer a
    where a.job_id = p_job_id and a.run = p_run and a.phase = p_phase
    order by a.token desc
    limit 1
$$;

-- Whether a provider has sent as many answers that nobody asked for as are kept. Looks at no more than that.
create or replace function holdfast.unasked_are_many(p_provider text) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select count(*) = 1000
    from (select from awaited_answer where provider = p_provider and job_id is null limit 1000) kept
$$;

-- Refuses what is no answer before anything is written. A body of a mebibyte as JSON takes at most eight here.
create or replace function holdfast.refuse_bad_answer(
    p_provider text, p_message_id text, p_reference text, p_outcome text, p_body jsonb
) returns void
language plpgsql immutable as $$
begin
    if (length(p_provider) between 1 and 63 and length(p_message_id) between 1 and 255
        and length(p_reference) between 1 and 255 and p_outcome in ('completed', 'failed')) is not true then
        raise exception 'an answer names its provider (63 characters at most), message and reference (255), and the outcome '
            'completed or failed' using errcode = 'HF400';
    end if;
    if pg_column_size(p_body) > 8 * 1024 * 1024 then
        raise exception 'an answer of % bytes is too large: keep what is large elsewhere and name its place',
            pg_column_size(p_body) using errcode = 'HF400';
    end if;
end $$;

-- Removes what was answered about a document, in the caller's transaction, and says how much that was. What is yet to come is
-- refused from now on: the references stay, as answered.
create or replace function holdfast.remove_awaited_answers(p_document bigint) returns jsonb
language sql volatile security definer set search_path = holdfast, pg_temp as $$
    with asked as materialized (
        select a.id, a.answered_at
        from awaited_answer a
        where a.job_id = any (array(select id from jobs_of(p_document)))
    ),
    closed as (
        update awaited_answer a
        set body = null, outcome = coalesce(a.outcome, 'failed'), answered_at = coalesce(a.answered_at, clock())
        from asked
        where a.id = asked.id
    )
    select jsonb_build_object('answers', count(answered_at)) from asked
$$;

-- Forgets answers that nobody asked for within a day, and all others 30 days after their deadline. At most 10,000 a call.
create or replace function holdfast.forget_awaited_answers(p_now timestamptz) returns void
language sql volatile set search_path = holdfast, pg_temp as $$
    delete from awaited_answer
    where id in (
        select id from awaited_answer
        where job_id is null and answered_at < p_now - interval '1 day'
        limit 10000
        for update skip locked
    );
    delete from awaited_answer
    where id in (
        select id from awaited_answer
        where job_id is not null and deadline < p_now - interval '30 days'
        order by deadline
        limit 10000
        for update skip locked
    )
$$;
