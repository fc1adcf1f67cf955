-- The text that was generated from a document. Whoever is confined to an organisation sees only its own.
create or replace function holdfast.reading_of(p_document bigint) returns setof holdfast.reading
language sql stable set search_path = holdfast, pg_temp as $$
    select * from reading where document_id = p_document
$$;
