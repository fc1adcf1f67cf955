-- Takes documents in: document, job and queue entry in one transaction, the caller's own if it has one.
-- Items: organisation (required), source_name, source_platform, source_location, content_hash, metadata,
-- idempotency_key, parent_id, version (a number of begin_reading, so that what was read later wins), priority, input, or
-- document_id for another run of a document that exists.
-- Answers one row per item, with its ordinal. result: created; existing (same idempotency key, or a live job of that document);
-- duplicate (same content in that organisation: nothing runs); permanent_failure (nothing runs until someone resets it).
create or replace function holdfast.submit(p_pipeline text, p_items jsonb)
returns table (ordinal bigint, document_id bigint, job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_confined_to text := confined_to();
    v_first phase := first_phase(p_pipeline);
    v_count bigint;
    v_ids bigint[];
    v_new bigint[];
    v_item record;
begin
    if jsonb_typeof(p_items) is distinct from 'array' then
        raise exception 'submit takes a JSON array of items, not %', coalesce(jsonb_typeof(p_items), 'null')
            using errcode = 'HF400';
    end if;
    if exists (select from jsonb_to_recordset(p_items) as i(organisation text) where not is_own(i.organisation, v_confined_to)) then
        raise exception 'documents of another organisation are not yours to submit' using errcode = 'HF404';
    end if;
    if exists (select from jsonb_to_recordset(p_items) as i(organisation text) where length(i.organisation) not between 1 and 255) then
        raise exception 'an organisation has 1 to 255 characters: an item names one that is empty or longer' using errcode = 'HF400';
    end if;
    if jsonb_path_exists(p_items, '$[*].parent_id') then
        perform lock_parents(p_items);
    end if;
    v_count := jsonb_array_length(p_items);
    v_ids := array(select nextval(pg_get_serial_sequence('holdfast.document', 'id')) from generate_series(1, v_count));
    v_new := array(select insert_documents(p_items, v_ids, v_now));
    return query
        with item as materialized (
            select i.ordinal, v_ids[i.ordinal] as document_id, i.organisation, i.parent_id, coalesce(i.priority, 0) as priority, i.input,
                   row_number() over (partition by i.organisation, coalesce(i.priority, 0) order by i.ordinal) - 1 as turn
            from rows from (jsonb_to_recordset(p_items) as (organisation text, parent_id bigint, priority smallint, input jsonb))
                 with ordinality as i(organisation, parent_id, priority, input, ordinal)
            where cardinality(v_new) = v_count or v_ids[i.ordinal] = any (v_new)
        ),
        share as materialized (
            select o.organisation, o.priority, t.first_vtime, t.step
            from (select i.organisation, i.priority, i.jobs, e.vtime
                  from (select organisation, priority, count(*) as jobs from item group by organisation, priority) i
                  join (select priority, entry_vtime(p_pipeline, priority) as vtime from item group by priority) e using (priority)
                  order by e.vtime, i.organisation) o
            cross join lateral take_turns(p_pipeline, o.organisation, o.jobs, o.vtime) t
        ),
        job as (
            insert into pipeline_job (document_id, parent_id, organisation, pipeline, phase, status, state, priority, vtime,
                                      input, submitted_at, queued_at)
            select item.document_id, item.parent_id, item.organisation, p_pipeline, v_first.name, v_first.queued_status, 'queued',
                   item.priority, share.first_vtime + item.turn * share.step, item.input, v_now, v_now
            from item join share using (organisation, priority)
            order by item.ordinal
            returning id, document_id
        )
        select item.ordinal, item.document_id, job.id, 'created' from item join job using (document_id) order by 1;
    if cardinality(v_new) < v_count then
        perform lock_documents(array(
            select known_document(e.item) from jsonb_array_elements(p_items) with ordinality as e(item, n)
            where not v_ids[e.n] = any (v_new)));
        for v_item in
            select e.n, e.item from jsonb_array_elements(p_items) with ordinality as e(item, n)
            where not v_ids[e.n] = any (v_new)
            order by (e.item ->> 'document_id')::bigint, e.item ->> 'organisation', e.item ->> 'content_hash', e.n
        loop
            return query select v_item.n, s.* from submit_known(v_first, v_item.item, v_now) s;
        end loop;
    end if;
    if v_count > 0 then
        perform wake();
    end if;
end $$;

-- Keeps what items came out of from being deleted meanwhile, and refuses those for which it is too late: deleting a document
-- deletes what came out of it. Members of one document do not wait for each other.
create or replace function holdfast.lock_parents(p_items jsonb) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    -- Those of the same organisation: of others nothing is said.
    v_parents bigint[] := array(
        select distinct d.id from jsonb_to_recordset(p_items) as i(organisation text, parent_id bigint)
        join document d on d.id = i.parent_id and d.organisation = i.organisation);
    v_deleted bigint;
begin
    perform from document where id = any (v_parents) order by id for share;
    select id into v_deleted from document where id = any (v_parents) and deleted_at is not null limit 1;
    if found then
        raise exception 'there is no document % any more: what came out of it is not taken in', v_deleted using errcode = 'HF404';
    end if;
end $$;

-- The outermost document that members of this one come out of; null for none.
create or replace function holdfast.root_of(p_parent bigint) returns bigint
language plpgsql stable set search_path = holdfast, pg_temp as $$
begin
    if p_parent is null then
        return null;
    end if;
    return (select coalesce(d.root_id, d.id) from document d where d.id = p_parent);
end $$;

-- Whether a pipeline carries a document's content, or has: then the same content needs nobody else. What was replaced counts only
-- while it is under way, or if what was made of it can still answer; what is being removed does not.
create or replace function holdfast.is_carried(p_document holdfast.document, p_pipeline text) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select not goes_away(p_document) and exists (
        select from jobs_of(p_document.id) j
        where j.pipeline = p_pipeline and j.state <> 'cancelled'
          and (p_document.superseded_at is null
               or j.state not in ('failed', 'deadletter', 'done') or j.state = 'failed' and j.ready_at is not null
               or j.state = 'done' and can_answer(p_document)))
$$;

-- The phase a pipeline's jobs begin with.
create or replace function holdfast.first_phase(p_pipeline text) returns holdfast.phase
language plpgsql stable set search_path = holdfast, pg_temp as $$
declare
    v_first phase;
begin
    select * into v_first from phase where pipeline = p_pipeline and retired_at is null order by position limit 1;
    if not found then
        raise exception 'there is no pipeline "%": register it, or name one of: %', p_pipeline,
            coalesce((select string_agg(name, ', ' order by name) from pipeline), '(none registered)') using errcode = 'HF404';
    end if;
    return v_first;
end $$;

-- Inserts the items that are new documents and returns their ids; those with a known key or content are left out.
create or replace function holdfast.insert_documents(p_items jsonb, p_ids bigint[], p_now timestamptz) returns setof bigint
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    return query
        insert into document (id, organisation, source_name, source_platform, source_location, content_hash, metadata,
                              idempotency_key, parent_id, root_id, version, created_at)
        select p_ids[i.ordinal], i.organisation, coalesce(i.source_name, 'unnamed'), coalesce(i.source_platform, 'upload'),
               i.source_location, i.content_hash, coalesce(i.metadata, '{}'), i.idempotency_key, i.parent_id, root_of(i.parent_id),
               coalesce(i.version, nextval('version_number')), p_now
        from rows from (jsonb_to_recordset(p_items) as (
                 organisation text, source_name text, source_platform text, source_location text, content_hash text,
                 metadata jsonb, idempotency_key text, parent_id bigint, version bigint, document_id bigint))
             with ordinality as i(organisation, source_name, source_platform, source_location, content_hash,
                                  metadata, idempotency_key, parent_id, version, document_id, ordinal)
        where i.document_id is null
        order by i.organisation, i.content_hash, i.idempotency_key, i.ordinal   -- one lock order for all submitters
        on conflict do nothing
        returning id;
exception
    when not_null_violation or check_violation then
        raise exception 'an item has a missing or malformed field: %', sqlerrm
            using errcode = 'HF400', hint = 'every item needs an organisation of 1 to 255 characters';
end $$;

-- The document that an item names or repeats.
create or replace function holdfast.known_document(p_item jsonb) returns bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set jit = off as $$
    select coalesce((p_item ->> 'document_id')::bigint, (
        select id from document
        where organisation = p_item ->> 'organisation' and content_hash = p_item ->> 'content_hash'
          and duplicate_of is null and purged_at is null))
$$;

-- Answers an item whose document is known: by its id, its idempotency key or its content.
create or replace function holdfast.submit_known(
    p_first holdfast.phase, p_item jsonb, p_now timestamptz
) returns table (document_id bigint, job_id bigint, result text)
language plpgsql set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_document document;
    v_job pipeline_job;
begin
    if p_item ->> 'document_id' is not null then
        if p_item ->> 'idempotency_key' is not null then
            raise exception 'document % is named with an idempotency key: a key is for a document that comes in',
                p_item ->> 'document_id' using errcode = 'HF400', hint = 'leave the key out: a live job is answered as existing';
        end if;
        select * into v_document from document
        where id = (p_item ->> 'document_id')::bigint and organisation = coalesce(p_item ->> 'organisation', organisation)
          and deleted_at is null
        for no key update;
        if not found then
            raise exception 'there is no document %', p_item ->> 'document_id' using errcode = 'HF404';
        end if;
    else
        -- Locked before the key is looked up: of those who bring known content under one new key, the first records it.
        perform from document
        where organisation = p_item ->> 'organisation' and content_hash = p_item ->> 'content_hash'
          and duplicate_of is null and purged_at is null
        for no key update;
        select * into v_document from document
        where organisation = p_item ->> 'organisation' and idempotency_key = p_item ->> 'idempotency_key';
        if found then
            select * into v_job from jobs_of(v_document.id) j order by j.id limit 1;
            return query select v_document.id, v_job.id, 'existing'::text;
            return;
        end if;
        select * into v_document from document
        where organisation = p_item ->> 'organisation' and content_hash = p_item ->> 'content_hash'
          and duplicate_of is null and purged_at is null;
        if not found then   -- it was purged or removed while its lock was waited for
            return query select s.document_id, s.job_id, s.result from submit(p_first.pipeline, jsonb_build_array(p_item)) s;
            return;
        end if;
        if is_carried(v_document, p_first.pipeline) then
            return query select * from submit_duplicate(p_first, v_document.id, p_item, p_now);
            return;
        end if;
        if v_document.superseded_at is not null or goes_away(v_document) or not exists (select from jobs_of(v_document.id) j where j.state <> 'cancelled') then
            -- Nobody carries it: the content is the newcomer's.
            update document set content_hash = null where id = v_document.id;
            return query select s.document_id, s.job_id, s.result from submit(p_first.pipeline, jsonb_build_array(p_item)) s;
            return;
        end if;
    end if;
    select * into v_job from jobs_of(v_document.id) j
    where j.pipeline = p_first.pipeline
      and (v_document.failure_state = 'permanent_failure' or j.state not in ('done', 'deadletter', 'cancelled'))
    order by j.id desc limit 1;
    if found then
        return query select v_document.id, v_job.id,
            case v_document.failure_state when 'permanent_failure' then 'permanent_failure' else 'existing' end;
        return;
    end if;
    return query select v_document.id, submit_again(p_first, v_document, p_item, p_now), 'created'::text;
end $$;

-- Records that the same content came again: a document and a finished job that point to the first; nothing runs.
create or replace function holdfast.submit_duplicate(
    p_first holdfast.phase, p_original bigint, p_item jsonb, p_now timestamptz
) returns table (document_id bigint, job_id bigint, result text)
language sql set search_path = holdfast, pg_temp as $$
    with copy as (
        insert into document (organisation, source_name, source_platform, source_location, content_hash, duplicate_of,
                              metadata, idempotency_key, parent_id, root_id, version, created_at)
        select p_item ->> 'organisation', coalesce(p_item ->> 'source_name', 'unnamed'),
               coalesce(p_item ->> 'source_platform', 'upload'), p_item ->> 'source_location', p_item ->> 'content_hash',
               p_original,
               -- At the same place, what was said of it before still holds.
               case when o.source_platform = coalesce(p_item ->> 'source_platform', 'upload')
                     and o.source_location = p_item ->> 'source_location' then o.metadata - o.found_out else '{}' end
               || coalesce(p_item -> 'metadata', '{}'),
               p_item ->> 'idempotency_key', (p_item ->> 'parent_id')::bigint, root_of((p_item ->> 'parent_id')::bigint),
               coalesce((p_item ->> 'version')::bigint, nextval('version_number')), p_now
        from document o
        where o.id = p_original
        returning id, organisation
    ),
    job as (
        insert into pipeline_job (document_id, organisation, pipeline, phase, status, state, vtime, submitted_at, finished_at)
        select id, organisation, p_first.pipeline, p_first.name, 'duplicate', 'done', 0, p_now, p_now from copy
        returning id, document_id
    )
    select document_id, id, 'duplicate' from job
$$;

-- Another job for a document that exists. It waits out the document's cool-down.
create or replace function holdfast.submit_again(
    p_first holdfast.phase, p_document holdfast.document, p_item jsonb, p_now timestamptz
) returns bigint
language sql set search_path = holdfast, pg_temp as $$
    insert into pipeline_job (document_id, parent_id, organisation, pipeline, phase, status, state, ready_at, priority, vtime,
                              input, submitted_at, queued_at)
    select p_document.id, p_document.parent_id, p_document.organisation, p_first.pipeline, p_first.name, p_first.queued_status,
           case when p_document.cool_down_until > p_now then 'held' else 'queued' end,
           case when p_document.cool_down_until > p_now then p_document.cool_down_until end,
           coalesce((p_item ->> 'priority')::smallint, 0), t.first_vtime, p_item -> 'input', p_now, p_now
    from entry_vtime(p_first.pipeline, coalesce((p_item ->> 'priority')::integer, 0)) e
    cross join lateral take_turns(p_first.pipeline, p_document.organisation, 1, e) t
    returning id
$$;
