-- Writes a batch of a document's vectors while its job works under that token; HF409 when the claim was lost. Says false,
-- and writes nothing, when the model is not the active one or about to be replaced. p_vectors is an array of pgvector's
-- type, which is unknown here where the extension is absent. A passage that has another text by now is passed over.
create or replace function holdfast.store_embeddings(
    p_job bigint, p_token bigint, p_embedder smallint, p_ordinals integer[], p_hashes text[], p_vectors anyarray)
returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    perform hold_claim(p_job, p_token);
    if not takes_vectors(p_embedder) then
        return false;
    end if;
    perform write_embeddings(p_embedder, array_fill(p_job, array[cardinality(p_ordinals)]), p_ordinals, p_hashes, p_vectors);
    return true;
end $$;

-- Whether new documents are embedded with this model. It stays so until the transaction ends.
create or replace function holdfast.takes_vectors(p_embedder smallint) returns boolean
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    perform from embedder where id = p_embedder and active and closed_at is null for share;
    return found;
end $$;

-- The write itself, for whoever has checked that it may happen.
create or replace function holdfast.write_embeddings(
    p_embedder smallint, p_generations bigint[], p_ordinals integer[], p_hashes text[], p_vectors anyarray) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    perform refuse_while_indexing();
    insert into embedding as e (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
    select c.generation_id, c.ordinal, p_embedder, c.organisation, c.text_hash, i.vector
    from unnest(p_generations, p_ordinals, p_hashes, p_vectors) as i(generation_id, ordinal, text_hash, vector)
    join chunk c on c.generation_id = i.generation_id and c.ordinal = i.ordinal and c.text_hash = i.text_hash
    on conflict (generation_id, ordinal, embedder_id) do update
    set text_hash = excluded.text_hash, vector = excluded.vector
    where e.text_hash <> excluded.text_hash;
end $$;
