-- Announces jobs that came to an end, all of one event, in the transaction in which they did: a rollback takes it back.
-- Costs one look at the receivers while nobody wants to hear of it.
create or replace function holdfast.announce_jobs(p_event text, p_jobs bigint[]) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    if cardinality(p_jobs) > 0 and is_wanted(p_event) then
        perform announce(p_event, (
            select jsonb_agg(jsonb_build_object(
                'organisation', j.organisation, 'document_id', j.document_id, 'body', job_in_brief(j, d.source_name)) order by j.id)
            from pipeline_job j
            join document d on d.id = j.document_id
            where j.id = any (p_jobs)
        ));
    end if;
end $$;

-- Announces what happened to whoever wants to hear of it. Items: organisation (null: nobody's in particular), document_id, body.
-- Nobody wants it: nothing is written.
create or replace function holdfast.announce(p_event text, p_items jsonb) returns void
language sql set search_path = holdfast, pg_temp as $$
    with heard as materialized (
        select * from receiver r where r.disabled_at is null and r.removed_at is null and p_event = any (r.events)
    ),
    told as (
        insert into notice (at, event, organisation, document_id, body)
        select clock(), p_event, i.organisation, i.document_id, i.body
        from jsonb_to_recordset(p_items) as i(organisation text, document_id bigint, body jsonb)
        where exists (select from heard r where hears(r.organisation, i.organisation))
        returning id, organisation, at
    )
    insert into delivery (notice_id, receiver_id, next_at)
    select t.id, r.id, t.at
    from told t
    join heard r on hears(r.organisation, t.organisation)
    order by t.id, r.id
$$;

-- Whether a receiver of one organisation, or of all (null), hears of what happened in another, or to nobody in particular (null).
create or replace function holdfast.hears(p_receivers text, p_happened_in text) returns boolean
language sql immutable as $$ select p_receivers is null or coalesce(p_receivers = p_happened_in, false) $$;

-- Whether anybody wants to hear of such an event.
create or replace function holdfast.is_wanted(p_event text) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select exists (select from receiver where disabled_at is null and removed_at is null and p_event = any (events))
$$;

-- What strangers are told of a job: where it stands and what went wrong, never a document's text.
create or replace function holdfast.job_in_brief(p_job holdfast.pipeline_job, p_source_name text) returns jsonb
language sql stable set search_path = holdfast, pg_temp as $$
    select jsonb_build_object(
        'job_id', p_job.id, 'document_id', p_job.document_id, 'organisation', p_job.organisation,
        'source_name', left(p_source_name, 255), 'pipeline', p_job.pipeline, 'phase', p_job.phase, 'status', p_job.status,
        'state', p_job.state, 'run', p_job.run, 'total_cost_usd', p_job.total_cost_usd, 'submitted_at', p_job.submitted_at,
        'finished_at', p_job.finished_at, 'component', p_job.last_error ->> 'component',
        'category', p_job.last_error ->> 'category', 'error_code', left(p_job.error_code, 100),
        'error', left(p_job.last_error ->> 'error', 1000))
$$;
