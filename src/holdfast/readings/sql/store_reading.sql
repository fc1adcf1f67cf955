-- Keeps the text that was generated from a document, in the transaction that settles its attempt; a later one replaces it.
create or replace function holdfast.store_reading(p_document bigint, p_text text, p_model text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    insert into reading as r (document_id, organisation, text, model, generated_at)
    select d.id, d.organisation, p_text, p_model, clock() from document d where d.id = p_document and d.deleted_at is null
    on conflict (document_id) do update
    set text = excluded.text, model = excluded.model, generated_at = excluded.generated_at;
    if not found then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
end $$;
