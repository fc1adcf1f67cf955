-- The holds in force and how many jobs are parked behind each. "until" is null when only a release ends it.
create or replace function holdfast.overview_holds()
returns table (hold_id bigint, provider text, organisation text, pipeline text, phase text, budget text, until timestamptz,
               reason text, needs_usd numeric, created_at timestamptz, created_by text, parked_jobs bigint)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    select h.id, h.provider, h.organisation, h.pipeline, h.phase, h.budget, nullif(h.until, 'infinity'), h.reason, h.needs_usd,
           h.created_at, h.created_by,
           (select count(*) from pipeline_job j where j.hold_id = h.id and j.state = 'held')
    from hold h
    where h.drained_at is null and h.released_at is null and h.until > (select clock())
    order by h.id
$$;

grant execute on function holdfast.overview_holds() to holdfast_api, holdfast_readonly;
