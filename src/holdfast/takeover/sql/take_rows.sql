-- Takes a batch of rows over and moves the cursor: documents, jobs, backup and cursor together, or nothing. Refused when the
-- cursor is not where the caller believes it is: then somebody else is taking over.
-- Items: key, row (its text), status, state, retry_count, reason, flow (null: the row is left where it is), document
-- (organisation, source_name, source_platform, source_location, content_hash, metadata, created_at, repeats), job (phase, status,
-- state, input, last_error, retries, finished_at), artifact (hash, size, holder). A row known before is brought up to date, unless Holdfast
-- carries it already.
create or replace function holdfast.take_rows(p_takeover bigint, p_after text, p_cursor text, p_items jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    v_takeover takeover;
    v_documents bigint[];   -- the ids, item by item
    v_jobs bigint[];
    v_known boolean[];
begin
    select * into v_takeover from takeover where id = p_takeover and undone_at is null for update;
    if not found then
        raise exception 'this takeover was undone meanwhile: nothing more is taken over' using errcode = 'HF409';
    elsif v_takeover.cursor is distinct from p_after then
        raise exception '% is being taken over by somebody else: wait until that ends, then run again', v_takeover.table_name
            using errcode = 'HF409';
    end if;
    select coalesce(array_agg(coalesce(r.document_id, case when i.flow is not null
                                  then nextval(pg_get_serial_sequence('holdfast.document', 'id')) end) order by i.n), '{}'),
           coalesce(array_agg(coalesce(r.job_id, case when i.flow is not null
                                  then nextval(pg_get_serial_sequence('holdfast.pipeline_job', 'id')) end) order by i.n), '{}'),
           coalesce(array_agg(r.document_id is not null order by i.n), '{}')
    into v_documents, v_jobs, v_known
    from (
        select t.key, t.flow, t.n
        from rows from (jsonb_to_recordset(p_items) as (key text, flow text)) with ordinality as t(key, flow, n)
        order by t.n
    ) i
    left join taken_row r on r.takeover_id = p_takeover and r.key = i.key and r.let_go_at is null;
    perform take_documents(p_items, v_documents, v_jobs, v_known);
    perform take_jobs(v_takeover, p_items, v_documents, v_jobs, v_known);
    perform use_artifacts(t.document_id, jsonb_build_array(t.artifact || '{"kind": "original"}'), t.artifact ->> 'holder')
    from (select * from taken_items(p_items, v_documents, v_jobs, v_known) where artifact is not null order by artifact ->> 'hash') t;
    insert into taken_row (takeover_id, key, flow, document_id, job_id, original_status, original_state, retry_count, reason, row_before,
                           read_at)
    select p_takeover, key, flow, document_id, job_id, status, state, retry_count, reason, "row"::json, clock()
    from taken_items(p_items, v_documents, v_jobs, v_known)
    order by n
    on conflict (takeover_id, key) do update set
        flow = excluded.flow, document_id = excluded.document_id, job_id = excluded.job_id, original_status = excluded.original_status,
        original_state = excluded.original_state, retry_count = excluded.retry_count, reason = excluded.reason,
        row_before = excluded.row_before, read_at = excluded.read_at, changed_at = null, changed_status = null, gone_at = null,
        let_go_at = null;
    update takeover
    set cursor = p_cursor, turns = turns + jsonb_array_length(p_items)
    where id = p_takeover;
    perform wake();
end $$;

-- The items as rows, each with its document.
create or replace function holdfast.taken_items(p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[])
returns table (n bigint, key text, flow text, "row" text, status text, state text, retry_count integer, reason text, document jsonb,
               job jsonb, artifact jsonb, document_id bigint, job_id bigint, is_known boolean)
language sql immutable as $$
    select i.n, i.key, i.flow, i.row, i.status, i.state, coalesce(i.retry_count, 0), i.reason, i.document, i.job,
           nullif(i.artifact, 'null'), p_documents[i.n], p_jobs[i.n], p_known[i.n]
    from rows from (jsonb_to_recordset(p_items) as (
             key text, flow text, "row" text, status text, state text, retry_count integer, reason text, document jsonb, job jsonb,
             artifact jsonb))
         with ordinality as i(key, flow, "row", status, state, retry_count, reason, document, job, artifact, n)
$$;

-- Writes the documents. Of several with one content the first carries its hash; those that the old installation knew as
-- duplicates point to it, the others keep the hash in their metadata only.
create or replace function holdfast.take_documents(p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[]) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    update document d
    set source_name = t.document ->> 'source_name', source_platform = t.document ->> 'source_platform',
        source_location = t.document ->> 'source_location', metadata = t.document -> 'metadata'
    from taken_items(p_items, p_documents, p_jobs, p_known) t
    where t.is_known and d.id = t.document_id;
    insert into document (id, organisation, source_name, source_platform, source_location, content_hash, metadata, created_at)
    select t.document_id, t.document ->> 'organisation', t.document ->> 'source_name', t.document ->> 'source_platform',
           t.document ->> 'source_location', t.document ->> 'content_hash', t.document -> 'metadata',
           coalesce((t.document ->> 'created_at')::timestamptz, clock())
    from taken_items(p_items, p_documents, p_jobs, p_known) t
    where t.flow is not null and not t.is_known and not (t.document -> 'repeats')::boolean
    order by t.n
    on conflict do nothing;
    insert into document (id, organisation, source_name, source_platform, source_location, content_hash, duplicate_of, metadata, created_at)
    select t.document_id, t.document ->> 'organisation', t.document ->> 'source_name', t.document ->> 'source_platform',
           t.document ->> 'source_location', case when o.id is not null then t.document ->> 'content_hash' end, o.id,
           t.document -> 'metadata', coalesce((t.document ->> 'created_at')::timestamptz, clock())
    from taken_items(p_items, p_documents, p_jobs, p_known) t
    left join document o on (t.document -> 'repeats')::boolean and o.organisation = t.document ->> 'organisation'
                        and o.content_hash = t.document ->> 'content_hash'
                        and o.duplicate_of is null and o.purged_at is null
    where t.flow is not null and not t.is_known and not exists (select from document d where d.id = t.document_id)
    order by t.n;
end $$;

-- Writes the jobs. In the fair order all that is taken over stands in one line, in the order of its keys: nobody's new
-- documents wait behind it. A retry waits as long as its policy says.
create or replace function holdfast.take_jobs(p_takeover holdfast.takeover, p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[])
returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
begin
    update pipeline_job j
    set flow = t.flow, phase = t.job ->> 'phase', status = t.job ->> 'status', state = t.job ->> 'state',
        input = nullif(t.job -> 'input', 'null'),
        ready_at = t.ready_at, retry_count = t.retry_count, last_error = taken_error(t.job, v_now, t.ready_at),
        error_code = t.job -> 'last_error' ->> 'error_code',
        error_meta = jsonb_build_object('original_status', t.original_status, 'original_state', t.original_state),
        vtime = t.vtime, queued_at = case when t.job ->> 'state' = 'queued' then v_now end,
        finished_at = case when t.job ->> 'state' in ('done', 'deadletter')
                           then coalesce((t.job ->> 'finished_at')::timestamptz, v_now) end
    from taken_jobs(p_takeover, p_items, p_documents, p_jobs, p_known, v_now) t
    where t.is_known and j.id = t.job_id and j.flow = 'old';
    insert into pipeline_job (id, document_id, organisation, pipeline, phase, status, state, policy, flow, vtime, ready_at, retry_count,
                              retry_reason, error_code, error_meta, last_error, input, submitted_at, queued_at, finished_at)
    select t.job_id, t.document_id, t.organisation, p_takeover.pipeline, t.job ->> 'phase', t.job ->> 'status', t.job ->> 'state', 'doubling',
           t.flow, t.vtime, t.ready_at, t.retry_count, 'takeover', t.job -> 'last_error' ->> 'error_code',
           jsonb_build_object('original_status', t.original_status, 'original_state', t.original_state),
           taken_error(t.job, v_now, t.ready_at), nullif(t.job -> 'input', 'null'), v_now,
           case when t.job ->> 'state' = 'queued' then v_now end,
           case when t.job ->> 'state' in ('done', 'deadletter')
                then coalesce((t.job ->> 'finished_at')::timestamptz, v_now) end
    from taken_jobs(p_takeover, p_items, p_documents, p_jobs, p_known, v_now) t
    where not t.is_known
    order by t.vtime;
end $$;

-- The jobs of the items: where each stands in line, and when it is tried again.
create or replace function holdfast.taken_jobs(
    p_takeover holdfast.takeover, p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[], p_now timestamptz
)
returns table (document_id bigint, job_id bigint, is_known boolean, flow text, retry_count integer, organisation text, job jsonb,
               original_status text, original_state text, vtime double precision, ready_at timestamptz)
language sql stable set search_path = holdfast, pg_temp as $$
    select t.document_id, t.job_id, t.is_known, t.flow, t.retry_count, t.document ->> 'organisation', t.job, t.status, t.state,
           p_takeover.first_vtime + p_takeover.turns + t.n,
           case when (t.job -> 'retries')::boolean then
               p_now + make_interval(secs => w.wait_seconds[least(t.retry_count + 1, cardinality(w.wait_seconds))]) end
    from taken_items(p_items, p_documents, p_jobs, p_known) t
    cross join policy_rule w
    where t.flow is not null and w.policy = 'doubling' and w.category = 'unknown'
$$;

-- A job's error with what only the database's clock knows.
create or replace function holdfast.taken_error(p_job jsonb, p_now timestamptz, p_ready_at timestamptz) returns jsonb
language sql immutable as $$
    select case when jsonb_typeof(p_job -> 'last_error') = 'object' then
        p_job -> 'last_error'
        || case when p_job -> 'last_error' ->> 'failed_at' is null then jsonb_build_object('failed_at', p_now) else '{}' end
        || case when p_ready_at is null then '{}' else jsonb_build_object('retry_at', p_ready_at) end
    end
$$;
