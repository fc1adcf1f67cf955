-- How many jobs stand before a queued one in its phase's queue, whoever they belong to; 10,001 means more than 10,000, and null that it
-- is not queued. Counted by the index that claims go by. Holds are not foreseen, nor that suspects run one at a time: whom that keeps
-- back, others pass.
create or replace function holdfast.overview_position(p_job_id bigint) returns integer
language plpgsql stable security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
declare
    c_most constant integer := 10001;
    v_job pipeline_job;
    v_before integer;
begin
    select * into v_job from pipeline_job where id = p_job_id;
    if not found or not is_own(v_job.organisation) then
        raise exception 'there is no job %', p_job_id using errcode = 'HF404';
    elsif v_job.state <> 'queued' then
        return null;
    end if;
    v_before := ready_before(v_job.pipeline, v_job.phase, v_job.priority, v_job.vtime, v_job.id, c_most);
    return least(c_most, v_before + (
        select count(*) from pipeline_job s
        where s.pipeline = v_job.pipeline and s.phase = v_job.phase and s.state = 'queued' and s.crash_count >= 2
          and stands_before(s, v_job)));
end $$;

-- How many jobs of a lane are claimed before this place in it, counted up to a limit.
create or replace function holdfast.ready_before(
    p_pipeline text, p_phase text, p_priority integer, p_vtime double precision, p_id bigint, p_limit integer
) returns integer
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
begin
    return (
        select count(*) from (
            select from pipeline_job j
            where j.pipeline = p_pipeline and j.phase = p_phase and j.state = 'queued' and j.crash_count < 2
              and j.priority > p_priority::smallint
            union all
            select from pipeline_job j
            where j.pipeline = p_pipeline and j.phase = p_phase and j.state = 'queued' and j.crash_count < 2
              and j.priority = p_priority::smallint and (j.vtime, j.id) < (p_vtime, p_id)
            limit p_limit
        ) before
    );
end $$;

grant execute on function holdfast.overview_position(bigint) to holdfast_api, holdfast_readonly;
