-- What happens next to a job, in words for people.
create or replace function holdfast.overview_next(p_job holdfast.pipeline_job) returns text
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    select case when p_job.flow = 'old' then format(
        'nothing here: the old installation carries it, and has it as %s, %s',
        coalesce(p_job.error_meta ->> 'original_status', 'unknown'), coalesce(p_job.error_meta ->> 'original_state', 'unknown'))
    else case p_job.state
        when 'queued' then coalesce(
            (select overview_wait(h) from overview_hold_on(p_job.pipeline, p_job.phase, p_job.organisation) h),
            case when exists (select from worker w
                              where w.lost_at is null and w.stopped_at is null and w.seen_at > clock() - interval '15 seconds'
                                and w.lanes @> jsonb_build_array(jsonb_build_object('pipeline', p_job.pipeline, 'phase', p_job.phase)))
                 then format('runs %s when its turn comes', p_job.phase)
                 else format('waits for a worker that runs %s: none is alive', p_job.phase) end)
        when 'working' then format('%s runs on %s; its limit ends it at %s', p_job.phase, p_job.worker_id, (
            select overview_moment(p_job.started_at + make_interval(secs => p.limit_seconds))
            from phase p where p.pipeline = p_job.pipeline and p.name = p_job.phase))
        when 'failed' then case
            when p_job.ready_at is not null then format('retries %s at %s', p_job.phase, overview_moment(p_job.ready_at))
            when overview_replaced(p_job) is not null then overview_replaced(p_job)
            when p_job.last_error ->> 'error_code' = 'RESULT_NOT_STORABLE'
            then format('correct the handler of %s, then retry it: it would return the same again', p_job.phase)
            when p_job.last_error ->> 'category' in (
                     'corrupt_input', 'encrypted', 'unsupported_format', 'too_large', 'unsafe_archive', 'empty_text')
                 and not coalesce(p_job.last_error -> 'details' @> '{"operator_mends": true}', false)
            then format('correct the file and ingest it again: %s is permanent', p_job.last_error ->> 'category')
            else format('an operator must retry it: %s is permanent', coalesce(p_job.last_error ->> 'category', 'the failure')) end
        when 'held' then coalesce(
            (select overview_wait(h) from hold h where h.id = p_job.hold_id),
            (select case a.category
                 when 'awaits' then format('waits for the answer of %s until %s', a.error ->> 'provider', overview_moment(p_job.ready_at))
                 else format('waits until %s: %s', overview_moment(p_job.ready_at), a.error ->> 'error') end
             from pipeline_phase a where a.id = p_job.retried_phase_id and a.outcome = 'released'),
            format('waits out its document''s cool-down until %s', overview_moment(p_job.ready_at)))
        when 'deadletter' then coalesce(
            overview_replaced(p_job),
            format('an operator must retry it: patience with %s is used up', coalesce(p_job.last_error ->> 'category', 'it')))
        when 'cancelled' then 'nothing, unless an operator retries it'
        else case p_job.status
            when 'duplicate' then coalesce(
                (select overview_original(d.duplicate_of, p_job.pipeline) from document d where d.id = p_job.document_id),
                'nothing: another document has the same content')
            else 'nothing: it is done' end
        end end
$$;

-- What comes of a copy, by what came of the document with the same content; null where there is none.
create or replace function holdfast.overview_original(p_original bigint, p_pipeline text) returns text
language sql stable set search_path = holdfast, pg_temp as $$
    select format(case
        when o.state is null or o.state = 'done' then 'nothing: document %1$s has the same content'
        when o.state = 'cancelled' then 'document %1$s, which has the same content, was cancelled: an operator must retry job %2$s'
        when o.state = 'deadletter' or o.state = 'failed' and o.ready_at is null
            then 'document %1$s, which has the same content, failed: see what job %2$s needs'
        else 'nothing: it is done when document %1$s is, which has the same content' end, p_original, o.id)
    from (select) one
    left join lateral (
        select j.id, j.state, j.ready_at from jobs_of(p_original) j where j.pipeline = p_pipeline order by j.id desc limit 1
    ) o on true
    where p_original is not null
$$;

-- The hold that keeps an organisation's queued jobs of this phase from being claimed, if there is one: the last to end.
create or replace function holdfast.overview_hold_on(p_pipeline text, p_phase text, p_organisation text)
returns setof holdfast.hold
language sql stable set search_path = holdfast, pg_temp as $$
    select h.*
    from phase p
    join hold h on (h.provider is null or h.provider = p.provider) and (h.budget is null or h.budget = p.budget)
               and (h.pipeline is null or h.pipeline = p.pipeline) and (h.phase is null or h.phase = p.name)
    where p.pipeline = p_pipeline and p.name = p_phase
      and h.drained_at is null and h.released_at is null and h.until > clock()
      and (h.organisation = p_organisation or h.organisation is null and not pays_itself(p_organisation, h.budget))
    order by h.until desc
    limit 1
$$;

-- That a newer version of a job's document is complete, in words, or null.
create or replace function holdfast.overview_replaced(p_job holdfast.pipeline_job) returns text
language sql stable set search_path = holdfast, pg_temp as $$
    select format('nothing: a newer version, document %s, is complete', r.superseded_by)
    from document d
    join document r on r.id in (d.id, d.root_id) and r.superseded_at is not null
    where d.id = p_job.document_id
    order by r.id desc
    limit 1
$$;

create or replace function holdfast.overview_wait(p_hold holdfast.hold) returns text
language sql stable set search_path = holdfast, pg_temp as $$
    select format('waits for hold %s (%s) %s', p_hold.id, p_hold.reason,
                  case when p_hold.released_at is not null then 'which was released: it goes on at the next claim'
                       when p_hold.until = 'infinity' then 'until someone releases it'
                       else 'until ' || overview_moment(p_hold.until) end)
$$;

-- A moment as people and programs both read it.
create or replace function holdfast.overview_moment(p_moment timestamptz) returns text
language sql immutable as $$ select to_char(p_moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;

grant execute on function
    holdfast.overview_next(holdfast.pipeline_job), holdfast.overview_hold_on(text, text, text),
    holdfast.overview_replaced(holdfast.pipeline_job), holdfast.overview_original(bigint, text), holdfast.overview_wait(holdfast.hold), holdfast.overview_moment(timestamptz)
to holdfast_api, holdfast_readonly;
