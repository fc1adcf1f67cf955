-- Removes a document, the copies of its content, the versions that these replaced and what came out of them: jobs are
-- cancelled, everything derived and the error log's rows go, the documents' rows stay as empty tombstones. Attempts stay,
-- without words: they hold money. Audited.
-- What came out of it and stands elsewhere too, as part of another document, goes on answering there.
-- Answers counts; "unused", the hashes of the artifacts that it let go: begin_removal says which of them nobody needs any more.
create or replace function holdfast.delete_document(p_document bigint, p_actor text) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_organisation text;
    v_doomed bigint[];
    v_live bigint[];
    v_job pipeline_job;
    v_counts jsonb;
begin
    select organisation into v_organisation from document where id = p_document and deleted_at is null;
    if not found or not is_own(v_organisation) then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    perform lock_for_deletion(p_document);
    v_doomed := with_parts(deleted_together(p_document));
    v_live := array(
        select j.id from unnest(v_doomed) as d(id) join pipeline_job j on j.document_id = d.id
        where j.state not in ('done', 'deadletter', 'cancelled')
    );
    if exists (select from pipeline_job where id = any (v_live) and flow = 'old') then
        raise exception 'the old installation carries document %: have it taken over first', p_document using errcode = 'HF409';
    end if;
    perform cancel_jobs(v_live, p_actor, 'its document is deleted');
    v_counts := erase(p_document, v_doomed, v_organisation);
    select * into v_job from jobs_of(p_document) j order by j.id desc limit 1;
    perform audit(p_actor, 'delete', v_job, format('document %s', p_document), v_counts - 'unused');
    return v_counts || jsonb_build_object('organisation', v_organisation);
end $$;

-- Locks whatever deleting a document may change: jobs first, then documents, as everyone does. What came to be while the
-- locks were waited for is found under them; then they are given up and all are taken again, in their order.
create or replace function holdfast.lock_for_deletion(p_document bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    c_tries constant integer := 20;
    v_documents bigint[] := deletion_scope(p_document);
    v_jobs bigint[] := jobs_of_all(v_documents);
    v_new_documents bigint[];
    v_new_jobs bigint[];
begin
    for _ in 1..c_tries loop
        begin
            perform lock_for_transition(v_jobs, v_documents);
            v_new_documents := array(select unnest(deletion_scope(p_document)) except select unnest(v_documents));
            v_new_jobs := array(select unnest(jobs_of_all(v_documents || v_new_documents)) except select unnest(v_jobs));
            if v_new_documents = '{}' and v_new_jobs = '{}' then
                return;
            end if;
            raise exception 'there is more to lock' using errcode = 'HF000';
        exception when sqlstate 'HF000' then
            v_documents := v_documents || v_new_documents;
            v_jobs := v_jobs || v_new_jobs;
        end;
    end loop;
    raise exception 'document % changes all the time: delete it again', p_document using errcode = 'HF409';
end $$;

-- The documents that deleting one may change: what goes with it, all that came out of these, and the copies, of which one may
-- take the place of a part.
create or replace function holdfast.deletion_scope(p_document bigint) returns bigint[]
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with recursive touched (id) as (
        select unnest(deleted_together(p_document))
        union
        select d.id
        from touched t
        cross join lateral (
            select id from document where parent_id = t.id and deleted_at is null
            union all
            select id from document where duplicate_of = t.id and deleted_at is null
        ) d
    )
    select array_agg(id) from touched
$$;

-- A document, the copies of its content, and the versions that these replaced.
create or replace function holdfast.deleted_together(p_document bigint) returns bigint[]
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select c.ids || replaced_by(c.ids)
    from (select array[p_document] || array(
        select id from document where duplicate_of = p_document and deleted_at is null order by id) as ids) c
$$;

-- Every job that documents ever had: of those that are over, words are removed.
create or replace function holdfast.jobs_of_all(p_documents bigint[]) returns bigint[]
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select array(select j.id from unnest(p_documents) as d(id) cross join lateral jobs_of(d.id) j)
$$;

-- The versions that documents replaced where they stand. None for a document that was replaced itself, or that came after a
-- version which still answers there.
create or replace function holdfast.replaced_by(p_documents bigint[]) returns bigint[]
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select coalesce(array_agg(distinct o.id order by o.id), '{}')
    from document d
    join document o on o.organisation = d.organisation and o.source_platform = d.source_platform
                   and o.source_location = d.source_location and o.superseded_at is not null and o.deleted_at is null
    where d.id = any (p_documents) and d.superseded_at is null and o.id <> all (p_documents)
      and not exists (
          select from document e
          where e.organisation = d.organisation and e.source_platform = d.source_platform and e.source_location = d.source_location
            and e.superseded_at is null and e.deleted_at is null and e.version < d.version
            and e.id <> all (p_documents)
      )
$$;

-- Documents together with all that came out of them. A part whose content stands elsewhere too takes its copy's place there,
-- and the copy goes in its stead.
create or replace function holdfast.with_parts(p_documents bigint[]) returns bigint[]
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_all bigint[] := p_documents;
    v_next integer := 1;
    v_part bigint;
    v_copy bigint;
begin
    while v_next <= cardinality(v_all) loop
        for v_part in
            select id from document where parent_id = v_all[v_next] and deleted_at is null order by id
        loop
            continue when v_part = any (v_all);
            loop
                v_copy := living_copy(v_part, null, v_all);
                exit when v_copy is null;
                perform swap_places(v_part, v_copy);
                v_all := v_all || v_copy;
                exit when not (select parent_id = any (v_all) from document where id = v_part) is true;
            end loop;
            if v_copy is null then
                v_all := v_all || v_part;
            end if;
        end loop;
        v_next := v_next + 1;
    end loop;
    return v_all;
end $$;

-- Empties documents that no job works on any more, and counts what went.
create or replace function holdfast.erase(p_document bigint, p_doomed bigint[], p_organisation text) returns jsonb
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_one bigint;
    v_counts jsonb := '{}';
    v_errors bigint;
    v_unused jsonb;
begin
    -- Whoever deletes the same document at the same time waits here, and then finds it gone.
    update document set deleted_at = clock() where id = p_document and deleted_at is null;
    if not found then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    foreach v_one in array p_doomed loop
        v_counts := add_counts(v_counts, remove_derived(v_one));
        perform forget_errors(v_one);
    end loop;
    with gone as (
        delete from artifact_use where document_id = any (p_doomed) returning hash
    )
    select coalesce(jsonb_agg(distinct hash), '[]') into v_unused from gone;
    delete from error_log where document_id = any (p_doomed);
    get diagnostics v_errors = row_count;
    -- That something happened may still be told, in which words not.
    update notice set body = body - array['source_name', 'error'] where document_id = any (p_doomed);
    update document
    set source_name = 'deleted', source_location = null, content_hash = null, idempotency_key = null, metadata = '{}', found_out = '{}', generation_id = null,
        last_failure = null, deleted_at = coalesce(deleted_at, clock())
    where id = any (p_doomed);
    perform forget_words(p_doomed);
    return v_counts || jsonb_build_object(
        'documents', cardinality(p_doomed), 'errors', v_errors, 'unused', v_unused
    );
end $$;

-- Takes from a document's jobs what may quote it. How they failed stays known, in which words does not.
create or replace function holdfast.forget_errors(p_document bigint) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update pipeline_job j
    set input = null, error_meta = null, retry_reason = null,
        last_error = j.last_error || '{"error": "deleted with its document", "details": {}}'
    from jobs_of(p_document) o
    where j.id = o.id
$$;

-- Takes from the attempts at deleted documents what may quote them: what phases handed on, and in which words they failed.
create or replace function holdfast.forget_words(p_documents bigint[]) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update pipeline_phase a
    set input = (without_words(a)).input, output = (without_words(a)).output, error = (without_words(a)).error
    from unnest(p_documents) as d(id)
    cross join lateral jobs_of(d.id) o
    where a.job_id = o.id
$$;
