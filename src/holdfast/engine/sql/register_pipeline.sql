-- Upserts a pipeline. Answers "registered", "unchanged", or "older" when a newer version is there already: then
-- nothing changes, so that two versions of the code can run side by side.
-- What a process cannot run it leaves as others declared it: under the same version a phase's provider and budget, and that it
-- is paid, are named, never taken away. Whoever runs a phase pays and waits as its own lane says (see as_served).
-- Jobs under way are never stranded: a phase no longer declared is retired, and its jobs go on behind the last phase
-- before it that is still declared.
create or replace function holdfast.register_pipeline(p_declaration jsonb) returns text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_name text := p_declaration ->> 'name';
    v_version integer := coalesce((p_declaration ->> 'version')::integer, 1);
    v_known pipeline;
    v_stranger text;
begin
    if jsonb_typeof(p_declaration -> 'phases' -> 0) is distinct from 'object' then
        raise exception 'pipeline "%" has no phases: give it an array of at least one', v_name using errcode = 'HF400';
    end if;
    perform pg_advisory_xact_lock(hashtext('holdfast.register'));
    select * into v_known from pipeline where name = v_name;
    if v_known.version = v_version then
        p_declaration := jsonb_set(p_declaration, '{phases}', keep_dealings(p_declaration -> 'phases', v_known.declaration -> 'phases'));
    end if;
    if v_known.declaration = p_declaration then
        return 'unchanged';
    elsif v_known.version > v_version then
        return 'older';
    end if;
    select p ->> 'policy' into v_stranger
    from jsonb_array_elements(p_declaration -> 'phases') p
    where not exists (select from policy where name = p ->> 'policy');
    if found then
        raise exception 'pipeline "%" names policy "%", which is not registered: register the policy first',
            v_name, v_stranger using errcode = 'HF404';
    end if;
    insert into pipeline (name, version, starts, declaration, registered_at)
    values (v_name, v_version, p_declaration ->> 'starts', p_declaration, clock())
    on conflict (name) do update set version = excluded.version, starts = excluded.starts,
        declaration = excluded.declaration, registered_at = excluded.registered_at;
    perform place_phases(v_name, p_declaration -> 'phases');
    insert into pipeline_status (pipeline, status, progress)
    select v_name, s.key, s.value::text::smallint
    from jsonb_each(p_declaration -> 'statuses') s
    on conflict (pipeline, status) do update set progress = excluded.progress;
    insert into budget (name, daily_limit_usd)
    select p ->> 'budget', coalesce(max((p ->> 'daily_limit_usd')::numeric), 5)
    from jsonb_array_elements(p_declaration -> 'phases') p
    where p ->> 'budget' is not null
    group by 1
    on conflict (name, organisation) do nothing;
    return 'registered';
exception
    when not_null_violation or check_violation then
        raise exception 'pipeline "%" has a missing or malformed field: %', v_name, sqlerrm using errcode = 'HF400';
end $$;

-- The phases with the provider and budget that are known of them, where they name none, and paid where they are known to be.
create or replace function holdfast.keep_dealings(p_phases jsonb, p_known jsonb) returns jsonb
language sql immutable set search_path = holdfast, pg_temp as $$
    select jsonb_agg(d || jsonb_build_object('provider', coalesce(d ->> 'provider', k ->> 'provider'),
                                             'budget', coalesce(d ->> 'budget', k ->> 'budget'))
                       || case when 'true' in (d ->> 'paid', k ->> 'paid') then '{"paid": true}' else '{}'::jsonb end order by n)
    from jsonb_array_elements(p_phases) with ordinality as declared(d, n)
    left join jsonb_array_elements(p_known) k on k ->> 'name' = d ->> 'name'
$$;

-- Writes a declaration's phases and retires those it no longer has.
create or replace function holdfast.place_phases(p_pipeline text, p_phases jsonb) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    update phase gone
    set position = coalesce((
            select max(kept.new_position)
            from phase before
            join (select d ->> 'name' as name, n as new_position
                  from jsonb_array_elements(p_phases) with ordinality as declared(d, n)) kept on kept.name = before.name
            where before.pipeline = p_pipeline and before.position <= gone.position and before.name <> gone.name
              -- A retired phase shares its position with the declared one it stands behind.
              and (before.position < gone.position or before.retired_at is null)
        ), 0),
        retired_at = coalesce(gone.retired_at, clock())
    where gone.pipeline = p_pipeline
      and not exists (select from jsonb_array_elements(p_phases) d where d ->> 'name' = gone.name);
    insert into phase (pipeline, name, position, resumes_from, queued_status, working_status, done_status,
                       component, policy, limit_seconds, provider, budget, paid)
    select p_pipeline, d ->> 'name', n, d ->> 'resumes_from', d ->> 'queued', d ->> 'working', d ->> 'done',
           d ->> 'component', d ->> 'policy', (d ->> 'limit_seconds')::double precision, d ->> 'provider', d ->> 'budget',
           coalesce((d ->> 'paid')::boolean, false)
    from jsonb_array_elements(p_phases) with ordinality as declared(d, n)
    on conflict (pipeline, name) do update set
        position = excluded.position, retired_at = null, resumes_from = excluded.resumes_from,
        queued_status = excluded.queued_status, working_status = excluded.working_status,
        done_status = excluded.done_status, component = excluded.component, policy = excluded.policy,
        limit_seconds = excluded.limit_seconds, provider = excluded.provider, budget = excluded.budget, paid = excluded.paid;
end $$;
