-- Keeps what was told of an article, in the transaction that settles its attempt. Told again it replaces what was there, and
-- counts once. Of several versions of one location the newest counts, in whichever order they are told.
create or replace function holdfast.store_story(p_document bigint, p_story jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document document;
    v_older bigint;
begin
    select * into v_document from document where id = p_document and deleted_at is null;
    if not found then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    perform pg_advisory_xact_lock(story_lock(v_document.organisation));
    insert into story as s (document_id, organisation, source_platform, source_location, title, url, published_at,
                            summary_neutral, summary_spicy, category, severity, primary_actor, top_entities,
                            entity_counter, model, told_at)
    select p_document, v_document.organisation, v_document.source_platform, v_document.source_location, i.title, i.url,
           i.published_at, i.summary_neutral, i.summary_spicy, i.category, i.severity, i.primary_actor, i.top_entities,
           i.entity_counter, i.model, clock()
    from jsonb_to_record(p_story) as i(
        title text, url text, published_at text, summary_neutral text, summary_spicy text, category text,
        severity smallint, primary_actor text, top_entities text[], entity_counter jsonb, model text)
    on conflict (document_id) do update
    set source_platform = excluded.source_platform, source_location = excluded.source_location, title = excluded.title,
        url = excluded.url, published_at = excluded.published_at, summary_neutral = excluded.summary_neutral,
        summary_spicy = excluded.summary_spicy, category = excluded.category, severity = excluded.severity,
        primary_actor = excluded.primary_actor, top_entities = excluded.top_entities,
        entity_counter = excluded.entity_counter, model = excluded.model, told_at = excluded.told_at;
    perform uncount_story(p_document);
    for v_older in select v.document_id from other_versions(v_document) v where v.document_id < p_document loop
        perform uncount_story(v_older);
    end loop;
    if not exists (select from other_versions(v_document) v where v.document_id > p_document) then
        perform count_story(p_document);
    end if;
end $$;

-- The stories told of other versions of a document's location.
create or replace function holdfast.other_versions(p_document holdfast.document) returns table (document_id bigint)
language sql stable set search_path = holdfast, pg_temp as $$
    select s.document_id
    from story s
    where s.organisation = p_document.organisation and s.source_platform = p_document.source_platform
      and s.source_location = p_document.source_location and s.document_id <> p_document.id
$$;

-- Whoever changes an organisation's totals takes this lock: stories share most of their entities, and so wait in one line
-- instead of for each other.
create or replace function holdfast.story_lock(p_organisation text) returns bigint
language sql immutable as $$ select hashtextextended('holdfast stories ' || p_organisation, 0) $$;
