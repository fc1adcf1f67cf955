-- The attempts that ended of late, by stretches of time, the oldest first. A stretch in which a phase ended nothing has no row.
create or replace function holdfast.overview_flow(p_seconds integer, p_bucket_seconds integer)
returns table (bucket_at timestamptz, pipeline text, phase text, completed bigint, failed bigint)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := clock() - make_interval(secs => p_seconds);
begin
    if p_seconds is null or p_seconds not between 1 and 86400 then
        raise exception 'the last % seconds make no sense: name 1 to 86400', p_seconds using errcode = 'HF400';
    elsif p_bucket_seconds is null or p_bucket_seconds not between 1 and p_seconds then
        raise exception 'stretches of % seconds make no sense: name 1 to %', p_bucket_seconds, p_seconds using errcode = 'HF400';
    end if;
    return query
        select date_bin(make_interval(secs => p_bucket_seconds), a.ended_at, 'epoch'), a.pipeline, a.phase,
               count(*) filter (where a.outcome = 'completed'), count(*) filter (where a.outcome in ('failed', 'timeout'))
        from pipeline_phase a
        where a.ended_at >= v_since
        group by 1, 2, 3
        order by 1, 2, 3;
end $$;

grant execute on function holdfast.overview_flow(integer, integer) to holdfast_api, holdfast_readonly;
