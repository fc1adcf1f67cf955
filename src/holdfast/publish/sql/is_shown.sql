-- Which documents answer searches.

-- Whether a document answers: it is finished, the newest of its place that is, and not removed. What came out of another document
-- answers with that one. Without a fixed search path, so that the planner sees what it says.
create or replace function holdfast.is_shown(p_document holdfast.document) returns boolean
language sql stable parallel safe as $$
    select p_document.searchable_at is not null and p_document.superseded_at is null and p_document.deleted_at is null
       and (p_document.parent_id is null or holdfast.is_shown_with(p_document.parent_id, p_document.stands_in_for))
$$;

-- Whether what came out of a document answers: with it, or in the stead of a member of a newer version that failed.
create or replace function holdfast.is_shown_with(p_parent bigint, p_stands_in_for bigint) returns boolean
language plpgsql stable parallel safe set search_path = holdfast, pg_temp as $$
declare
    v_failed document;
begin
    if shows_members(p_parent) then
        return true;
    end if;
    if p_stands_in_for is null then
        return false;
    end if;
    select * into v_failed from document where id = p_stands_in_for;
    return v_failed.searchable_at is null and v_failed.deleted_at is null and shows_members(v_failed.parent_id);
end $$;

-- Whether the members of a document answer. They do while it, or a document with the same content, answers at the outermost
-- level. The first version of a place shows its members as they are finished: nothing older would be mixed with them.
create or replace function holdfast.shows_members(p_document bigint) returns boolean
language plpgsql stable parallel safe set search_path = holdfast, pg_temp as $$
declare
    v_holder document;
begin
    for v_holder in
        select * from document where id = p_document and superseded_at is null and deleted_at is null
        union all
        select * from document where duplicate_of = p_document and superseded_at is null and deleted_at is null
    loop
        if v_holder.parent_id is not null then
            if shows_members(v_holder.parent_id) then
                return true;
            end if;
        elsif v_holder.searchable_at is not null or not has_older_answer(v_holder) then
            return true;
        end if;
    end loop;
    return false;
end $$;

-- Whether another version answers at a document's place.
create or replace function holdfast.has_older_answer(p_document holdfast.document) returns boolean
language sql stable parallel safe set search_path = holdfast, pg_temp as $$
    select coalesce((
        select true from document o
        where o.organisation = p_document.organisation and o.source_platform = p_document.source_platform
          and o.source_location = p_document.source_location and o.parent_id is null and o.id <> p_document.id
          and o.superseded_at is null and o.deleted_at is null and o.searchable_at is not null
        limit 1), false)
$$;

-- Whether what was made of a document can answer searches again: it is whole, and every passage has a vector of the model that
-- answers.
create or replace function holdfast.can_answer(p_document holdfast.document) returns boolean
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_lacking boolean := false;
begin
    if p_document.searchable_at is null or p_document.purged_at is not null then
        return false;
    end if;
    -- The table is there only where pgvector is.
    if to_regclass('holdfast.embedding') is not null then
        execute $query$
            select exists (
                select from holdfast.chunk c
                where c.generation_id = $1 and exists (select from holdfast.embedder where active) and not exists (
                    select from holdfast.embedding e join holdfast.embedder m on m.id = e.embedder_id and m.active
                    where e.generation_id = c.generation_id and e.ordinal = c.ordinal and e.text_hash = c.text_hash))
            $query$ into v_lacking using p_document.generation_id;
    end if;
    return not v_lacking;
end $$;

grant execute on function
    holdfast.is_shown(holdfast.document), holdfast.is_shown_with(bigint, bigint), holdfast.shows_members(bigint),
    holdfast.has_older_answer(holdfast.document)
to holdfast_worker, holdfast_api, holdfast_readonly;
