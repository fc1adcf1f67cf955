-- Takes a document out of the search in favour of another, and with it whatever came out of it.
-- Content that is still wanted elsewhere goes on answering from there: the document takes the place of its copy, and the copy
-- goes instead. One call either ends the document or one copy of it.
create or replace function holdfast.supersede(p_document bigint, p_by bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_copy bigint;
    v_child bigint;
begin
    -- Locked before copies are looked for: whoever submits one holds the document until it shows.
    perform from document where id = p_document for update;
    v_copy := living_copy(p_document, p_by, '{}');
    if v_copy is not null then
        perform swap_places(p_document, v_copy);
        update document
        set superseded_at = clock(), superseded_by = case v_copy when p_by then p_document else p_by end
        where id = v_copy;
        return;
    end if;
    update document set superseded_at = clock(), superseded_by = p_by where id = p_document and superseded_at is null;
    for v_child in
        select id from document where parent_id = p_document and superseded_at is null and deleted_at is null order by id
    loop
        -- Again and again, if it takes the places of copies that came out of the same document.
        while exists (
            select from document
            where id = v_child and parent_id = p_document and superseded_at is null and deleted_at is null
        ) loop
            perform supersede(v_child, p_by);
        end loop;
    end loop;
end $$;

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
