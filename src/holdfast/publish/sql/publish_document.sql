-- Makes what a job made of a document, its generation, answer searches at its place and wherever a copy of the content stands, and
-- replaces the older versions of these places, in one step. A newer version that answers already wins, and so does a newer
-- generation. Called for a copy, brings it what was made of its original, as soon as that is finished.
-- What came out of a document replaces nothing by itself: it answers with the document, all of it from the moment that is published.
-- A document that was removed meanwhile stays as it is. Idempotent.
create or replace function holdfast.publish_document(p_document bigint, p_generation bigint default null) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document document;
    v_place record;
begin
    perform lock_places(p_document);
    select * into v_document from document where id = p_document;
    if not found or not is_own(v_document.organisation) then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    if v_document.deleted_at is not null then
        -- What a run made of a document that was removed before it ended is nobody's.
        perform retire_generations(array[p_generation]);
        return;
    end if;
    if v_document.duplicate_of is null then
        perform switch_generation(v_document, p_generation);
    end if;
    perform share_generation(coalesce(v_document.duplicate_of, p_document), case when v_document.duplicate_of is not null then p_document end);
    for v_place in
        select d.organisation, d.source_platform, d.source_location
        from unnest(published_with(p_document)) as p(id) join document d on d.id = p.id
        where d.source_location is not null and d.parent_id is null and d.superseded_at is null
        group by d.organisation, d.source_platform, d.source_location
    loop
        perform replace_older(v_place.organisation, v_place.source_platform, v_place.source_location);
    end loop;
    perform wake_parent(p.parent_id)
    from (select distinct d.parent_id from unnest(published_with(p_document)) as p(id) join document d on d.id = p.id
          where d.parent_id is not null) p;
end $$;

-- The documents that publishing one concerns: itself and, of an origin, the copies that stand somewhere.
create or replace function holdfast.published_with(p_document bigint) returns bigint[]
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select array[p_document] || array(
        select c.id from document c where c.duplicate_of = p_document and c.superseded_at is null and c.deleted_at is null)
$$;

-- Locks what publishing a document may change, in one order for all: those it concerns, the original of a copy, and all versions
-- of their places.
create or replace function holdfast.lock_places(p_document bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    -- Twice: what came to a place while its lock was waited for shows only to the next statement.
    for _ in 1..2 loop
        perform from document
        where id = any (array(
            select p.id from unnest(published_with(p_document)) as p(id)
            union
            select d.duplicate_of from document d where d.id = p_document and d.duplicate_of is not null
            union
            select v.id
            from unnest(published_with(p_document)) as p(id)
            join document d on d.id = p.id and d.parent_id is null
            join document v on v.organisation = d.organisation and v.source_platform = d.source_platform
                           and v.source_location = d.source_location and v.superseded_at is null and v.deleted_at is null
        ))
        order by id
        for update;
    end loop;
end $$;

-- Lets a document answer with another generation than before; the one that answered, and those that came to nothing, are removed
-- later. The caller has locked the document.
create or replace function holdfast.switch_generation(p_document holdfast.document, p_generation bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_newest bigint := greatest(p_document.generation_id, p_generation);
begin
    update document set searchable_at = coalesce(searchable_at, clock()), generation_id = v_newest
    where id = p_document.id and (searchable_at is null or generation_id is distinct from v_newest);
    perform retire_generations(array(
        select j.id from jobs_of(p_document.id) j
        where j.id < v_newest and (j.id = p_generation or j.state in ('done', 'deadletter', 'cancelled'))
    ));
end $$;

-- Brings what was made of an origin, and what phases found out about it, to its copies, or to one of them. Nothing until it is made.
create or replace function holdfast.share_generation(p_origin bigint, p_copy bigint) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update document c
    set generation_id = o.generation_id, searchable_at = coalesce(c.searchable_at, clock()), found_out = o.found_out,
        metadata = (c.metadata - o.found_out)
                   || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(o.metadata) where key = any (o.found_out))
    from document o
    where o.id = p_origin and o.searchable_at is not null
      and c.duplicate_of = p_origin and (p_copy is null or c.id = p_copy) and c.superseded_at is null and c.deleted_at is null
      and (c.searchable_at is null or c.generation_id is distinct from o.generation_id)
$$;

-- Of the versions of a place, leaves the newest that is finished and those that came after it.
create or replace function holdfast.replace_older(p_organisation text, p_platform text, p_location text) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_newest document;
    v_older bigint[];
begin
    select * into v_newest
    from document d
    where d.organisation = p_organisation and d.source_platform = p_platform and d.source_location = p_location
      and d.parent_id is null and d.superseded_at is null and d.deleted_at is null and d.searchable_at is not null
    order by d.version desc, d.id desc
    limit 1;
    v_older := array(
        select d.id from document d
        where d.organisation = p_organisation and d.source_platform = p_platform and d.source_location = p_location
          and d.parent_id is null and d.superseded_at is null and d.deleted_at is null
          and (d.version, d.id) < (v_newest.version, v_newest.id));
    if v_older <> '{}' then
        perform keep_for_failed_members(coalesce(v_newest.duplicate_of, v_newest.id));
        update document set superseded_at = clock(), superseded_by = v_newest.id where id = any (v_older);
    end if;
end $$;

-- Where a member of a new version could not be read, what answered there before goes on answering until it is mended. Called
-- before the older version is replaced.
create or replace function holdfast.keep_for_failed_members(p_document bigint) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with recursive member as (
        select d.id, d.organisation, d.source_platform, d.source_location, d.searchable_at from document d where d.parent_id = p_document
        union all
        select d.id, d.organisation, d.source_platform, d.source_location, d.searchable_at
        from member m join document d on d.parent_id = m.id
    )
    update document o
    set stands_in_for = m.id
    from member m
    where m.searchable_at is null
      and o.organisation = m.organisation and o.source_platform = m.source_platform and o.source_location = m.source_location
      and o.superseded_at is null and o.deleted_at is null and o.id <> m.id and o.parent_id is not null and is_shown(o)
$$;
