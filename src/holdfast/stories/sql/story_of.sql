-- What was told of a document. Whoever is confined to an organisation sees only its own.
create or replace function holdfast.story_of(p_document bigint) returns setof holdfast.story
language sql stable set search_path = holdfast, pg_temp as $$
    select * from story where document_id = p_document
$$;
