-- Refuses (HF409) to end the embedding of a generation unless every passage has its vector of the model that answers searches.
-- Called in the transaction that ends the phase: whoever replaces that model meanwhile waits, or is waited for.
create or replace function holdfast.finish_embedding(p_generation bigint, p_embedder smallint) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if not takes_vectors(p_embedder) then
        raise exception 'the model that answers searches was replaced while job % embedded', p_generation
        using errcode = 'HF409', hint = 'retry it with a worker that embeds with the new one';
    end if;
    if exists (
        select from chunk c
        where c.generation_id = p_generation and not exists (
            select from embedding e
            where e.generation_id = c.generation_id and e.ordinal = c.ordinal and e.embedder_id = p_embedder
              and e.text_hash = c.text_hash)
    ) then
        raise exception 'job % left passages without a vector: they changed while it embedded', p_generation
        using errcode = 'HF409', hint = 'retry it';
    end if;
end $$;
