-- A run by its document: where it stands, how far it is, its metrics, what went wrong last unless it is done, and what happens
-- next. A copy of content that came before answers with the run of that; HF404 for what is no run. Metrics are what the run
-- wrote when it was complete, or what its last failure shows.
create or replace function holdfast.configs_run(p_run bigint)
returns table (run bigint, source_name text, job_id bigint, status text, state text, percent integer, metrics jsonb,
               error_message text, next text)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
begin
    return query
        select d.id, d.source_name, j.id, j.status, j.state, g.percent,
               case when j.state = 'done' then d.metadata -> 'metrics' else failed.metrics end,
               case when j.state <> 'done' then j.last_error ->> 'error' end, overview_next(j.job)
        from document asked
        join document d on d.id = coalesce(asked.duplicate_of, asked.id) and d.deleted_at is null
        cross join lateral (
            select o as job, o.id, o.status, o.state, o.last_error
            from jobs_of(d.id) o
            where o.pipeline = 'configs'
            order by o.id desc
            limit 1
        ) j
        join job_progress g on g.job_id = j.id
        left join lateral (
            select jsonb_build_object('duration_seconds', extract(epoch from a.ended_at - a.started_at),
                                      'retry_count', retries_of(a.job_id), 'error_type', a.error ->> 'error_type') as metrics
            from pipeline_phase a
            where a.job_id = j.id and a.outcome in ('failed', 'timeout')
            order by a.token desc
            limit 1
        ) failed on true
        where asked.id = p_run and asked.deleted_at is null;
    if not found then
        raise exception 'there is no configs run %', p_run using errcode = 'HF404',
            hint = 'a run is a document that was ingested with --pipeline configs';
    end if;
end $$;

grant execute on function holdfast.configs_run(bigint) to holdfast_api, holdfast_readonly;
