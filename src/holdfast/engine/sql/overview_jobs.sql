-- A page of jobs, by id: of the newest documents first, and of one document the newest job first. The cursor is the last
-- job of the page before, as "document-job". Keys: state (one or several), status, pipeline, phase, component, category,
-- retryable, fingerprint, organisation, platform, metadata (contained in the document's), text (words that the document's name
-- has or begins with, in any order; or the number of a document or a job). An unknown key or value is refused.
-- Asked state by state, because each has an index of its own: what is under way is never searched among what is finished.
create or replace function holdfast.overview_jobs(p_filter jsonb, p_limit integer, p_cursor text default null) returns setof bigint
language plpgsql stable set search_path = holdfast, pg_temp as $$
declare
    v_states text[] := overview_check_filter(p_filter);
    v_limit integer := overview_limit(p_limit);
    v_before bigint[] := overview_cursor(p_cursor);
    v_documents bigint[] := overview_documents(p_filter, v_before[1]);
    v_filter jsonb := case when v_documents is null then p_filter else p_filter - '{organisation,platform,metadata}'::text[] end;
begin
    return query
        with done as materialized (
            select * from overview_done_jobs(v_filter, v_documents, v_limit, v_before)
            -- A success clears the error, and a done job is in no phase any more.
            where 'done' = any (v_states) and not p_filter ?| array['phase', 'component', 'category', 'retryable', 'fingerprint']
        ),
        -- When these fill the page, nobody has to look further back.
        oldest as materialized (
            select coalesce((
                select d.document_id from done d order by d.document_id desc, d.job_id desc limit 1 offset greatest(v_limit - 1, 0)
            ), 0) as document_id
        ),
        page as (
            select * from done
            union all
            select j.* from oldest o, overview_live_jobs(v_filter, v_states, v_documents, v_limit, v_before, o.document_id) j
            where v_states && array['queued', 'working', 'failed', 'held']
            union all
            select j.* from oldest o, overview_ended_jobs(v_filter, v_states, v_documents, v_limit, v_before, o.document_id) j
            where v_states && array['deadletter', 'cancelled']
        )
        select page.job_id from page order by page.document_id desc, page.job_id desc limit v_limit;
end $$;

-- All documents that a filter means, unless it does not ask for their traits or they are many: then null. Many are
-- met soon enough on the way from the newest job to the oldest; few would have to be searched for among all.
create or replace function holdfast.overview_documents(p_filter jsonb, p_before bigint) returns bigint[]
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set jit = off as $$
declare
    c_many constant integer := 10000;
    v_named tsquery := overview_name_query(p_filter ->> 'text');
    v_number bigint := overview_number(p_filter ->> 'text');
    v_numbered bigint[] := array[v_number, (select j.document_id from pipeline_job j where j.id = v_number)];
    v_documents bigint[];
begin
    if not p_filter ?| array['organisation', 'platform', 'metadata', 'text'] then
        return null;
    end if;
    v_documents := array(
        select d.id
        from document d
        where d.id <= p_before
          and (not p_filter ? 'organisation' or d.organisation = p_filter ->> 'organisation')
          and (not p_filter ? 'platform' or d.source_platform = p_filter ->> 'platform')
          and (not p_filter ? 'metadata' or d.metadata @> (p_filter -> 'metadata'))
          and (not p_filter ? 'text' or name_words(d.source_name) @@ v_named or d.id = any (v_numbered))
        limit c_many
    );
    return case when cardinality(v_documents) < c_many then v_documents end;
end $$;

-- The next three are planned for each call, so that keys not given cost nothing. Each answers one page of its states.

create or replace function holdfast.overview_live_jobs(
    p_filter jsonb, p_states text[], p_documents bigint[], p_limit integer, p_before bigint[], p_oldest bigint
) returns table (document_id bigint, job_id bigint)
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    return query
        select j.document_id, j.id
        from pipeline_job j
        left join document d on d.id = j.document_id
        where j.state not in ('done', 'deadletter', 'cancelled') and j.state = any (p_states) and j.document_id >= p_oldest
          and (p_documents is null or j.document_id = any (p_documents))
          and (j.document_id, j.id) < (p_before[1], p_before[2]) and overview_keeps(j, d, p_filter)
        order by j.document_id desc, j.id desc
        limit p_limit;
end $$;

create or replace function holdfast.overview_ended_jobs(
    p_filter jsonb, p_states text[], p_documents bigint[], p_limit integer, p_before bigint[], p_oldest bigint
) returns table (document_id bigint, job_id bigint)
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    return query
        select e.document_id, e.id
        from phase p
        cross join lateral (
            select j.document_id, j.id
            from pipeline_job j
            left join document d on d.id = j.document_id
            where j.pipeline = p.pipeline and j.phase = p.name and j.state in ('deadletter', 'cancelled')
              and j.state = any (p_states) and j.document_id >= p_oldest
              and (p_documents is null or j.document_id = any (p_documents))
              and (j.document_id, j.id) < (p_before[1], p_before[2]) and overview_keeps(j, d, p_filter)
            order by j.document_id desc, j.id desc
            limit p_limit
        ) e
        where p.pipeline = coalesce(p_filter ->> 'pipeline', p.pipeline) and p.name = coalesce(p_filter ->> 'phase', p.name);
end $$;

create or replace function holdfast.overview_done_jobs(p_filter jsonb, p_documents bigint[], p_limit integer, p_before bigint[])
returns table (document_id bigint, job_id bigint)
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    return query
        select e.document_id, e.id
        from pipeline_status s
        cross join lateral (
            select j.document_id, j.id
            from pipeline_job j
            left join document d on d.id = j.document_id
            where j.pipeline = s.pipeline and j.status = s.status and j.state = 'done'
              and (p_documents is null or j.document_id = any (p_documents))
              and (j.document_id, j.id) < (p_before[1], p_before[2]) and overview_keeps(j, d, p_filter)
            order by j.document_id desc, j.id desc
            limit p_limit
        ) e
        where s.pipeline = coalesce(p_filter ->> 'pipeline', s.pipeline) and s.status = coalesce(p_filter ->> 'status', s.status);
end $$;

-- Whether a job passes the filter, its state apart. Having no settings of its own, this becomes part of the query that
-- calls it; a document that no key asks for is then not even read. Platform and metadata are asked only when they mean many
-- documents; a case keeps the planner from guessing that they, or those of a text, are few.
create or replace function holdfast.overview_keeps(p_job holdfast.pipeline_job, p_document holdfast.document, p_filter jsonb)
returns boolean
language sql stable as $$
    select (not p_filter ? 'pipeline' or p_job.pipeline = p_filter ->> 'pipeline')
       and (not p_filter ? 'phase' or p_job.phase = p_filter ->> 'phase')
       and (not p_filter ? 'status' or p_job.status = p_filter ->> 'status')
       and (not p_filter ? 'component' or p_job.last_error ->> 'component' = p_filter ->> 'component')
       and (not p_filter ? 'category' or p_job.last_error ->> 'category' = p_filter ->> 'category')
       and (not p_filter ? 'retryable' or p_job.last_error ->> 'retryable' = p_filter ->> 'retryable')
       and (not p_filter ? 'organisation' or p_job.organisation = p_filter ->> 'organisation')
       and (not p_filter ? 'platform' or case when p_document.source_platform = p_filter ->> 'platform' then true else false end)
       and (not p_filter ? 'metadata' or case when p_document.metadata @> (p_filter -> 'metadata') then true else false end)
       and (not p_filter ? 'fingerprint' or p_filter ->> 'fingerprint' = holdfast.fingerprint(
               p_job.last_error ->> 'component', p_job.last_error ->> 'category', p_job.last_error ->> 'error_type',
               p_job.last_error ->> 'error'))
       and (not p_filter ? 'text'
            or case when holdfast.name_words(p_document.source_name) @@ holdfast.overview_name_query(p_filter ->> 'text') then true
                    else coalesce(holdfast.overview_number(p_filter ->> 'text') in (p_job.id, p_document.id), false) end)
$$;

-- What finds names that have every word of a text, or words that begin so. Null when there is no word in it.
create or replace function holdfast.overview_name_query(p_text text) returns tsquery
language sql immutable as $$
    select to_tsquery('simple', '''' || regexp_replace(words, '\s+', ''':* & ''', 'g') || ''':*')
    from (select nullif(btrim(translate(left(p_text, 500), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))), '') as words) w
$$;

-- The number that a text is, if it is one.
create or replace function holdfast.overview_number(p_text text) returns bigint
language sql immutable as $$
    select case when p_text ~ '^\s*[0-9]{1,18}\s*$' then p_text::bigint end
$$;

-- The states a filter means. Refuses what no job can match.
create or replace function holdfast.overview_check_filter(p_filter jsonb) returns text[]
language plpgsql stable set search_path = holdfast, pg_temp as $$
declare
    c_states constant text[] := array['queued', 'working', 'failed', 'held', 'done', 'deadletter', 'cancelled'];
    v_states text[] := case jsonb_typeof(p_filter -> 'state')
        when 'array' then array(select jsonb_array_elements_text(p_filter -> 'state'))
        when 'string' then array[p_filter ->> 'state'] else c_states end;
    v_stranger text := (
        select key from jsonb_object_keys(p_filter) key
        where key not in ('state', 'status', 'pipeline', 'phase', 'component', 'category', 'retryable', 'organisation',
                          'platform', 'metadata', 'fingerprint', 'text') limit 1);
    v_pipeline text := p_filter ->> 'pipeline';
begin
    if v_stranger is not null then
        raise exception 'jobs have no filter "%"', v_stranger using errcode = 'HF400';
    elsif not v_states <@ c_states then
        raise exception 'there is no state "%": name %',
            (select s from unnest(v_states) s where s <> all (c_states) limit 1), array_to_string(c_states, ', ')
            using errcode = 'HF400';
    elsif p_filter ? 'metadata' and jsonb_typeof(p_filter -> 'metadata') <> 'object' then
        raise exception 'metadata is filtered by an object, not by %', p_filter -> 'metadata' using errcode = 'HF400';
    elsif p_filter ? 'text' and overview_name_query(p_filter ->> 'text') is null then
        raise exception 'there is no word to look for in "%"', p_filter ->> 'text' using errcode = 'HF400';
    elsif v_pipeline is not null and not exists (select from pipeline where name = v_pipeline) then
        raise exception 'there is no pipeline "%"', v_pipeline using errcode = 'HF404';
    elsif p_filter ? 'phase' and not exists (
            select from phase where name = p_filter ->> 'phase' and pipeline = coalesce(v_pipeline, pipeline)) then
        raise exception 'there is no phase "%"', p_filter ->> 'phase' using errcode = 'HF404';
    elsif p_filter ? 'status' and not exists (
            select from pipeline_status where status = p_filter ->> 'status' and pipeline = coalesce(v_pipeline, pipeline)) then
        raise exception 'there is no status "%"', p_filter ->> 'status' using errcode = 'HF404';
    end if;
    return v_states;
end $$;

-- The document and the job a page begins after; without a cursor, numbers above all.
create or replace function holdfast.overview_cursor(p_cursor text) returns bigint[]
language plpgsql immutable as $$
begin
    if p_cursor is null then
        return array[9223372036854775807, 9223372036854775807];
    elsif p_cursor !~ '^[0-9]{1,18}-[0-9]{1,18}$' then
        raise exception '"%" is no cursor: pass the one that came with the page before', p_cursor using errcode = 'HF400';
    end if;
    return string_to_array(p_cursor, '-')::bigint[];
end $$;

grant execute on function
    holdfast.overview_jobs(jsonb, integer, text), holdfast.overview_documents(jsonb, bigint),
    holdfast.overview_live_jobs(jsonb, text[], bigint[], integer, bigint[], bigint),
    holdfast.overview_ended_jobs(jsonb, text[], bigint[], integer, bigint[], bigint),
    holdfast.overview_done_jobs(jsonb, bigint[], integer, bigint[]),
    holdfast.overview_keeps(holdfast.pipeline_job, holdfast.document, jsonb),
    holdfast.overview_check_filter(jsonb), holdfast.overview_cursor(text), holdfast.overview_name_query(text),
    holdfast.overview_number(text), holdfast.name_words(text)
to holdfast_api, holdfast_readonly;
