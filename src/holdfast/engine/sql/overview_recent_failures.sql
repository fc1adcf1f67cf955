-- The attempts that failed last, the newest first; those released or cancelled are no failures.
create or replace function holdfast.overview_recent_failures(p_limit integer)
returns table (job_id bigint, document_id bigint, source_name text, organisation text, pipeline text, phase text,
               outcome text, attempt integer, category text, error text, failed_at timestamptz)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off as $$
    with recent as materialized (
        select a.*
        from pipeline_phase a
        where a.outcome <> 'completed' and a.outcome in ('failed', 'timeout', 'lost')
        order by a.ended_at desc
        limit overview_limit(p_limit)
    )
    select a.job_id, a.document_id, d.source_name, a.organisation, a.pipeline, a.phase, a.outcome, a.attempt, a.category,
           a.error ->> 'error', a.ended_at
    from recent a
    join document d on d.id = a.document_id
    order by a.ended_at desc
$$;

grant execute on function holdfast.overview_recent_failures(integer) to holdfast_api, holdfast_readonly;
