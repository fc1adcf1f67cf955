-- What people call a document: as somebody named it, else as it names itself, else its file's name. The only place to decide it.
create or replace function holdfast.title_of(p_metadata jsonb, p_source_name text) returns text
language sql immutable parallel safe set search_path = holdfast, pg_temp as $$
    select coalesce(
        nullif(btrim(p_metadata ->> 'title'), ''), nullif(btrim(p_metadata -> 'extracted' ->> 'title'), ''), p_source_name
    )
$$;

grant execute on function holdfast.title_of(jsonb, text) to holdfast_api, holdfast_readonly;
