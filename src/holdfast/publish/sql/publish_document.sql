-- Makes what a job made of a document, its generation, answer searches, and replaces the older versions of its location, in one
-- step. A newer version that answers already wins, and so does a newer generation. Called for a copy of other content too: it brings that content to its location,
-- as soon as the content itself is finished. A document that was replaced or removed meanwhile stays as it is. Idempotent.
create or replace function holdfast.publish_document(p_document bigint, p_generation bigint default null) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document document;
    v_replaced_by bigint;
    v_place record;
begin
    perform lock_versions(p_document);
    loop
        select * into v_document from document where id = p_document for update;
        if not found or not is_own(v_document.organisation) then
            raise exception 'there is no document %', p_document using errcode = 'HF404';
        end if;
        if v_document.superseded_at is not null or v_document.deleted_at is not null then
            -- What a run made of a version that was replaced, and perhaps purged, before it ended is nobody's.
            perform retire_generations(array[p_generation]);
            return;
        end if;
        -- What came out of a version that was replaced goes with it, however late it is finished.
        v_replaced_by := replaced_above(p_document);
        exit when v_replaced_by is null;
        perform supersede(p_document, v_replaced_by);
    end loop;
    if v_document.duplicate_of is null then
        perform switch_generation(v_document, p_generation);
    end if;
    for v_place in
        select min(d.id) as id, d.organisation, d.source_platform, d.source_location
        from document d
        where (d.id = p_document or d.duplicate_of = p_document) and d.source_location is not null
          and d.superseded_at is null and d.deleted_at is null
        group by d.organisation, d.source_platform, d.source_location
        order by 1
    loop
        perform lock_versions(v_place.id);
        perform replace_older(v_place.organisation, v_place.source_platform, v_place.source_location);
    end loop;
    perform wake_parent(v_document.parent_id);
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

-- Locks a document and the other versions of its location, in one order for all who publish there.
create or replace function holdfast.lock_versions(p_document bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    -- Twice: what took the place of a version while its lock was waited for shows only to the next statement.
    for _ in 1..2 loop
        perform from document
        where id = p_document or id = any (array(
            select v.id from document d
            join document v on v.organisation = d.organisation and v.source_platform = d.source_platform
                           and v.source_location = d.source_location and v.superseded_at is null and v.deleted_at is null
            where d.id = p_document
        ))
        order by id
        for update;
    end loop;
end $$;

-- Of the versions of a location, leaves the newest that is finished and those that came after it.
create or replace function holdfast.replace_older(p_organisation text, p_platform text, p_location text) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_newest record;
    v_older bigint;
begin
    loop
        select d.id, d.version into v_newest
        from document d
        where d.organisation = p_organisation and d.source_platform = p_platform and d.source_location = p_location
          and d.superseded_at is null and d.deleted_at is null
          and exists (
              select from document c
              where c.id = coalesce(d.duplicate_of, d.id) and c.searchable_at is not null
                and c.superseded_at is null and c.deleted_at is null
          )
        order by 2 desc
        limit 1;
        select d.id into v_older
        from document d
        where d.organisation = p_organisation and d.source_platform = p_platform and d.source_location = p_location
          and d.superseded_at is null and d.deleted_at is null and d.version < v_newest.version
        order by d.version
        limit 1;
        exit when not found;
        perform supersede(v_older, v_newest.id);
    end loop;
end $$;
