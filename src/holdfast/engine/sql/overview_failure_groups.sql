-- The logged errors by cause, the most frequent first, each with its newest message as an example; open_jobs is how many jobs stand
-- failed or given up with that cause now, and the traceback is the newest of theirs. Tracebacks are for operators.
create or replace function holdfast.overview_failure_groups(p_days integer, p_limit integer)
returns table (fingerprint text, category text, component text, errors bigint, documents bigint, open_jobs bigint,
               first_at timestamptz, last_at timestamptz, platforms text[], organisations text[], pipelines text[], phases text[],
               example text, example_job_id bigint, traceback text)
language plpgsql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
    v_confined_to text := confined_to();
begin
    return query
        with cause as materialized (
            select e.fingerprint, count(*) as errors, count(distinct e.document_id) as documents, min(e.at) as first_at,
                   max(e.at) as last_at, max(e.id) as newest,
                   array_agg(distinct e.platform) filter (where e.platform is not null) as platforms,
                   array_agg(distinct e.organisation) filter (where e.organisation is not null) as organisations,
                   array_agg(distinct e.pipeline) filter (where e.pipeline is not null) as pipelines,
                   array_agg(distinct e.phase) filter (where e.phase is not null) as phases
            from error_log e
            where e.at >= v_since and is_own(e.organisation, v_confined_to)
            group by e.fingerprint
            order by errors desc, newest desc
            limit overview_limit(p_limit)
        )
        select c.fingerprint, e.category, e.component, c.errors, c.documents, o.jobs, c.first_at, c.last_at,
               coalesce(c.platforms, '{}'), coalesce(c.organisations[1:10], '{}'), coalesce(c.pipelines, '{}'),
               coalesce(c.phases, '{}'), e.message, e.job_id, t.traceback
        from cause c
        join error_log e on e.id = c.newest
        cross join lateral (
            select count(*) as jobs from pipeline_job j
            where overview_has_cause(j, c.fingerprint) and is_own(j.organisation, v_confined_to)
        ) o
        left join lateral (
            select j.last_error -> 'details' ->> 'traceback' as traceback
            from pipeline_job j
            where overview_has_cause(j, c.fingerprint) and v_confined_to is null
            order by j.id desc
            limit 1
        ) t on true
        order by c.errors desc, c.newest desc;
end $$;

-- Whether a job stands failed or given up with this cause. Having no settings of its own, this becomes part of the query that calls
-- it, which then finds such jobs by their index.
create or replace function holdfast.overview_has_cause(p_job holdfast.pipeline_job, p_fingerprint text) returns boolean
language sql stable as $$
    select p_job.state in ('failed', 'deadletter')
       and holdfast.fingerprint(p_job.last_error ->> 'component', p_job.last_error ->> 'category',
                                p_job.last_error ->> 'error_type', p_job.last_error ->> 'error') = p_fingerprint
$$;

grant execute on function
    holdfast.overview_failure_groups(integer, integer), holdfast.overview_has_cause(holdfast.pipeline_job, text)
to holdfast_api, holdfast_readonly;
