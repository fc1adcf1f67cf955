-- The jobs an operator's filter means, at most p_limit, oldest first. Keys: ids, state, status, pipeline, phase, component,
-- category, organisation, platform, metadata and text (both as overview_jobs takes them), retryable, fingerprint,
-- stuck_for_minutes, replaced (whether a newer version of the document is complete), and after: only ids above it, to go on
-- where the last page ended. Planned for each call, so that keys not given cost nothing. An unknown key or value is refused,
-- never ignored.
create or replace function holdfast.matching_jobs(p_filter jsonb, p_limit integer default null) returns setof bigint
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    v_stranger text := (
        select key from jsonb_object_keys(p_filter) key
        where key not in ('ids', 'state', 'status', 'pipeline', 'phase', 'component', 'category', 'organisation', 'platform',
                          'metadata', 'text', 'retryable', 'fingerprint', 'stuck_for_minutes', 'replaced', 'after') limit 1);
    -- An empty list of ids means no job, not every job.
    v_ids bigint[] := case when p_filter ? 'ids' then array(select value::bigint from jsonb_array_elements_text(p_filter -> 'ids')) end;
    v_state text := p_filter ->> 'state';
    v_status text := p_filter ->> 'status';
    v_pipeline text := p_filter ->> 'pipeline';
    v_phase text := p_filter ->> 'phase';
    v_component text := p_filter ->> 'component';
    v_category text := p_filter ->> 'category';
    v_organisation text := p_filter ->> 'organisation';
    v_platform text := p_filter ->> 'platform';
    v_metadata jsonb := p_filter -> 'metadata';
    v_text text := p_filter ->> 'text';
    v_named tsquery := overview_name_query(v_text);
    v_number bigint := overview_number(v_text);
    v_documents bigint[];
    v_retryable text := p_filter ->> 'retryable';
    v_fingerprint text := p_filter ->> 'fingerprint';
    v_replaced boolean := p_filter ->> 'replaced';
    v_after bigint := p_filter ->> 'after';
    v_stuck_since timestamptz := clock() - make_interval(mins => (p_filter ->> 'stuck_for_minutes')::integer);
begin
    if v_stranger is not null then
        raise exception 'jobs have no filter "%"', v_stranger using errcode = 'HF400';
    elsif v_state is not null and v_state not in ('queued', 'working', 'failed', 'held', 'done', 'deadletter', 'cancelled') then
        raise exception 'there is no state "%": name queued, working, failed, held, done, deadletter or cancelled', v_state
            using errcode = 'HF400';
    elsif v_pipeline is not null and not exists (select from pipeline where name = v_pipeline) then
        raise exception 'there is no pipeline "%"', v_pipeline using errcode = 'HF404';
    elsif v_phase is not null and not exists (select from phase where name = v_phase and pipeline = coalesce(v_pipeline, pipeline)) then
        raise exception 'there is no phase "%"', v_phase using errcode = 'HF404';
    elsif v_status is not null and not exists (
            select from pipeline_status where status = v_status and pipeline = coalesce(v_pipeline, pipeline)) then
        raise exception 'there is no status "%"', v_status using errcode = 'HF404';
    elsif jsonb_typeof(v_metadata) <> 'object' then
        raise exception 'metadata is filtered by an object, not by %', v_metadata using errcode = 'HF400';
    elsif v_text is not null and v_named is null then
        raise exception 'there is no word to look for in "%"', v_text using errcode = 'HF400';
    elsif (p_filter ->> 'stuck_for_minutes')::integer < 0 then
        raise exception 'stuck for % minutes makes no sense: name 0 or more', p_filter ->> 'stuck_for_minutes' using errcode = 'HF400';
    elsif p_limit < 0 then
        raise exception 'a limit of % makes no sense: name 0 or more', p_limit using errcode = 'HF400';
    end if;
    -- Few documents are found by what they are, and then their jobs; of many (null) some are met soon enough among the jobs.
    if p_filter ?| array['metadata', 'text'] then
        v_documents := overview_documents(p_filter, 9223372036854775807);
    end if;
    return query
        select j.id from pipeline_job j
        where (v_ids is null or j.id = any (v_ids))
          and (v_after is null or j.id > v_after)
          and (v_state is null or j.state = v_state)
          and (v_status is null or j.status = v_status)
          and (v_pipeline is null or j.pipeline = v_pipeline)
          and (v_phase is null or j.phase = v_phase)
          and (v_component is null or j.last_error ->> 'component' = v_component)
          and (v_category is null or j.last_error ->> 'category' = v_category)
          and (v_retryable is null or j.last_error ->> 'retryable' = v_retryable)
          and (v_organisation is null or j.organisation = v_organisation)
          and (v_stuck_since is null or (j.state = 'working' and j.progress_at < v_stuck_since))
          and (v_platform is null or exists (select from document d where d.id = j.document_id and d.source_platform = v_platform))
          -- Compared inside: outside, the planner would expect hardly any job to pass, and read them all.
          and (v_replaced is null
               or (select (d.superseded_at is not null or r.superseded_at is not null) = v_replaced
                   from document d left join document r on r.id = d.root_id where d.id = j.document_id))
          and (v_documents is null or j.document_id = any (v_documents))
          and (v_metadata is null or exists (select from document d where d.id = j.document_id and d.metadata @> v_metadata))
          and (v_text is null or j.id = v_number or j.document_id = v_number
               or exists (select from document d where d.id = j.document_id and name_words(d.source_name) @@ v_named))
          and (v_fingerprint is null or v_fingerprint = fingerprint(j.last_error ->> 'component', j.last_error ->> 'category',
                                                                    j.last_error ->> 'error_type', j.last_error ->> 'error'))
        order by j.id
        limit p_limit;
end $$;

-- What an operator's act by this filter would meet: jobs by pipeline, phase, state and category of their last failure, and
-- what a success of that phase cost on average among the newest 20,000 attempts; null when none of them was one.
create or replace function holdfast.preview_jobs(p_filter jsonb)
returns table (pipeline text, phase text, state text, category text, jobs bigint, usual_cost_usd numeric)
language sql stable set search_path = holdfast, pg_temp as $$
    with met as (
        select j.pipeline, j.phase, j.state, j.last_error ->> 'category' as category, count(*) as jobs
        from matching_jobs(p_filter) m(id)
        join pipeline_job j on j.id = m.id
        group by 1, 2, 3, 4
    ),
    usual as (
        select a.pipeline, a.phase, avg(a.cost_usd) as cost_usd
        from (select * from pipeline_phase order by id desc limit 20000) a
        where a.outcome = 'completed'
        group by 1, 2
    )
    select met.pipeline, met.phase, met.state, met.category, met.jobs, usual.cost_usd
    from met
    left join usual using (pipeline, phase)
    order by met.jobs desc, met.pipeline, met.phase, met.state, met.category
$$;

grant execute on function holdfast.preview_jobs(jsonb) to holdfast_api, holdfast_readonly;
