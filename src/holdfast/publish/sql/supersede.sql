-- A copy of a document's content that is itself still wanted where it stands, or null; rather the one named than another,
-- and none of those excepted. Locks it.
create or replace function holdfast.living_copy(p_document bigint, p_rather bigint, p_except bigint[]) returns bigint
language sql volatile set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select d.id
    from document d
    where d.duplicate_of = p_document and d.superseded_at is null and d.deleted_at is null
      and d.id <> all (p_except) and replaced_above(d.id) is null
    order by d.id = p_rather desc, d.id
    limit 1
    for update of d
$$;

-- What replaced the nearest of a document's ancestors that was replaced, or null.
create or replace function holdfast.replaced_above(p_document bigint) returns bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with recursive above as (
        select p.id, p.parent_id, p.superseded_at, p.superseded_by, 1 as height
        from document d join document p on p.id = d.parent_id
        where d.id = p_document
        union all
        select p.id, p.parent_id, p.superseded_at, p.superseded_by, a.height + 1
        from above a join document p on p.id = a.parent_id
        where a.superseded_at is null
    )
    select superseded_by from above where superseded_at is not null order by height limit 1
$$;

-- Exchanges where a document and its copy come from, and which version of it they are. Their content, jobs and keys stay with
-- them, and what phases found out about the content; what was said of a place stays with the place. If it is one place, the
-- document keeps what was said of it before, and what was said of the copy is merged into that.
create or replace function holdfast.swap_places(p_document bigint, p_copy bigint) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update document d
    set source_name = o.source_name, source_platform = o.source_platform, source_location = o.source_location,
        metadata = case when d.id = p_document and d.source_platform = o.source_platform and d.source_location = o.source_location
                        then d.metadata else '{}' end
                   || (o.metadata - o.found_out)
                   || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(d.metadata) where key = any (d.found_out)),
        parent_id = o.parent_id, version = o.version
    from document o
    where (d.id, o.id) in ((p_document, p_copy), (p_copy, p_document))
$$;
