-- What a followed link turned out to hold. Called in the transaction that settles the attempt, so under its token.

-- The other document of the same organisation that carries this content through the pipeline already, or null.
create or replace function holdfast.original_of(p_document bigint, p_hash text, p_pipeline text) returns bigint
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select o.id
    from document d
    join document o on o.organisation = d.organisation and o.content_hash = p_hash and o.id <> d.id
    where d.id = p_document and o.duplicate_of is null and o.purged_at is null and is_carried(o, p_pipeline)
$$;

-- Records name and content of a document that was fetched. False, and nothing is changed, if another document has come to
-- carry the same content meanwhile. Content that only a cancelled job or another pipeline holds stays recorded there.
create or replace function holdfast.store_fetched(p_document bigint, p_name text, p_hash text, p_pipeline text)
returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if original_of(p_document, p_hash, p_pipeline) is not null then
        return false;
    end if;
    -- What was replaced and cannot answer again, or is being removed, leaves the content to the newcomer.
    update document o set content_hash = null
    from document d
    where d.id = p_document and o.organisation = d.organisation and o.content_hash = p_hash and o.id <> d.id
      and o.duplicate_of is null and o.purged_at is null and (o.superseded_at is not null or goes_away(o));
    update document d
    set source_name = p_name,
        duplicate_of = null,
        content_hash = case when exists (
            select from document o
            where o.organisation = d.organisation and o.content_hash = p_hash and o.id <> d.id
              and o.duplicate_of is null and o.purged_at is null
        ) then null else p_hash end
    where d.id = p_document;
    return true;
exception
    when unique_violation then
        return false;
end $$;

-- Records that a document which was fetched repeats another. False, and nothing is changed, if that one no longer
-- carries the content.
create or replace function holdfast.store_duplicate(p_document bigint, p_original bigint, p_name text, p_hash text)
returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    perform from document o
    where o.id = p_original and o.content_hash = p_hash and o.duplicate_of is null and o.purged_at is null and not goes_away(o)
    for no key update;
    if not found then
        return false;
    end if;
    update document
    set source_name = p_name, content_hash = p_hash, duplicate_of = p_original
    where id = p_document;
    return true;
end $$;
