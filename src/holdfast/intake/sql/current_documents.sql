-- Which document stands at each of these locations: the newest that is neither superseded nor removed, with its content
-- and its latest job in the pipeline; of a duplicate, the job of the document it repeats. Reads only. Locations without
-- a document are left out. "retried": it failed, and goes on by itself.
create or replace function holdfast.current_documents(
    p_organisation text, p_platform text, p_pipeline text, p_locations text[]
) returns table (location text, document_id bigint, content_hash text, size bigint, job_id bigint, state text, retried boolean)
language sql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select l.location, d.id, d.content_hash, a.size, j.id, j.state, j.retried
    from unnest(p_locations) as l(location)
    cross join lateral (
        select c.id, c.content_hash, c.duplicate_of
        from document c
        where c.organisation = p_organisation and is_own(p_organisation) and c.source_platform = p_platform and c.source_location = l.location
          and c.superseded_at is null and c.deleted_at is null
        order by c.version desc
        limit 1
    ) d
    left join artifact a on a.organisation = p_organisation and a.hash = d.content_hash
    left join lateral (
        select o.id, o.state, o.state = 'failed' and o.ready_at is not null as retried
        from jobs_of(coalesce(d.duplicate_of, d.id)) o
        where o.pipeline = p_pipeline
        order by o.id desc
        limit 1
    ) j on true
$$;
