-- What operators did, the newest first; to one job, if it is named.
create or replace function holdfast.overview_audit(p_limit integer, p_job_id bigint default null)
returns table (audit_id bigint, at timestamptz, actor text, action text, job_id bigint, reason text, before jsonb, after jsonb)
language plpgsql stable security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set jit = off as $$
declare
    v_confined_to text := confined_to();
begin
    if p_job_id is not null and not exists (select from pipeline_job j where j.id = p_job_id) then
        raise exception 'there is no job %', p_job_id using errcode = 'HF404';
    end if;
    return query
        select l.id, l.at, l.actor, l.action, l.job_id, l.reason, l.before, l.after
        from audit_log l
        where (p_job_id is null or l.job_id = p_job_id)
          and (v_confined_to is null
               or exists (select from pipeline_job j where j.id = l.job_id and is_own(j.organisation, v_confined_to)))
        order by l.id desc
        limit overview_limit(p_limit);
end $$;

grant execute on function holdfast.overview_audit(integer, bigint) to holdfast_api, holdfast_readonly;
