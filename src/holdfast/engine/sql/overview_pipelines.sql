-- What is registered: every pipeline with its phases in order, retired ones marked.
create or replace function holdfast.overview_pipelines()
returns table (name text, version integer, starts text, registered_at timestamptz, phases jsonb)
language sql stable set search_path = holdfast, pg_temp as $$
    select l.name, l.version, l.starts, l.registered_at, (
        select jsonb_agg(jsonb_build_object(
            'name', p.name, 'queued', p.queued_status, 'working', p.working_status, 'done', p.done_status,
            'component', p.component, 'policy', p.policy, 'limit_seconds', p.limit_seconds, 'provider', p.provider,
            'budget', p.budget, 'retired', p.retired_at is not null
        ) order by p.position, p.retired_at nulls first, p.name)
        from phase p
        where p.pipeline = l.name
    )
    from pipeline l
    order by l.name
$$;

grant execute on function holdfast.overview_pipelines() to holdfast_api, holdfast_readonly;
