-- What was made of a content belongs to the document that brought it first, its origin. Documents with the same content elsewhere
-- are its copies: they answer with what was made, under their own names.

-- Whether a copy of a document's content is wanted where it stands.
create or replace function holdfast.has_living_copy(p_document bigint) returns boolean
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_copy document;
begin
    for v_copy in
        select * from document where duplicate_of = p_document and superseded_at is null and deleted_at is null
    loop
        if v_copy.root_id is null or is_wanted(v_copy.root_id) or is_needed(v_copy.parent_id) then
            return true;
        end if;
    end loop;
    return false;
end $$;

-- Whether a document is being removed, or was, by itself or with what it came out of, and nothing else has its content.
create or replace function holdfast.goes_away(p_document holdfast.document) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select (p_document.deleted_at is not null
            or (select r.deleted_at is not null from document r where r.id = p_document.root_id) is true)
       and not has_living_copy(p_document.id)
$$;

-- Whether a document stands where it is: it was neither replaced nor removed.
create or replace function holdfast.is_wanted(p_document bigint) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select d.superseded_at is null and d.deleted_at is null from document d where d.id = p_document
$$;

-- Whether what was made of a document is still needed: it answers, or something with the same content does or may do so, as the
-- document itself or as what it came out of.
create or replace function holdfast.is_needed(p_document bigint) returns boolean
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document document;
begin
    select * into v_document from document where id = p_document;
    return is_shown(v_document) or has_living_copy(p_document)
        or v_document.parent_id is not null and is_needed(v_document.parent_id);
end $$;
