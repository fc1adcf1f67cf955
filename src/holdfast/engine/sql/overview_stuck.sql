-- Jobs that work but made no progress for that long, the longest first.
create or replace function holdfast.overview_stuck(p_minutes integer)
returns table (job_id bigint, document_id bigint, source_name text, organisation text, pipeline text, phase text,
               worker_id text, started_at timestamptz, progress real, progress_at timestamptz, minutes double precision)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_now timestamptz := clock();
begin
    if p_minutes is null or p_minutes < 0 then
        raise exception 'stuck for % minutes makes no sense: name 0 or more', p_minutes using errcode = 'HF400';
    end if;
    return query
        select j.id, j.document_id, d.source_name, j.organisation, j.pipeline, j.phase, j.worker_id, j.started_at, j.progress,
               j.progress_at, (extract(epoch from v_now - j.progress_at) / 60)::double precision
        from pipeline_job j
        join document d on d.id = j.document_id
        where j.state = 'working' and j.progress_at < v_now - make_interval(mins => p_minutes)
        order by j.progress_at, j.id;
end $$;

grant execute on function holdfast.overview_stuck(integer) to holdfast_api, holdfast_readonly;
