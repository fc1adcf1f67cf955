-- The passages of a job's document, from one ordinal up to another, that have no vector of this model yet: its text may be
-- new or changed. Where the organisation has the vector of an equal text already, that is copied first and nothing is asked.
-- HF409 when the claim was lost.
create or replace function holdfast.take_for_embedding(
    p_job bigint, p_token bigint, p_embedder smallint, p_from integer, p_until integer)
returns table (ordinal integer, text_hash text, passage text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
begin
    perform hold_claim(p_job, p_token);
    perform reuse_vectors(p_embedder, array_agg(c.generation_id), array_agg(c.ordinal))
    from chunk c
    where c.generation_id = p_job and c.ordinal >= p_from and c.ordinal < p_until;
    return query
        select c.ordinal, c.text_hash, passage_of(c)
        from chunk c
        left join embedding e
            on e.generation_id = c.generation_id and e.ordinal = c.ordinal and e.embedder_id = p_embedder
            and e.text_hash = c.text_hash
        where c.generation_id = p_job and c.ordinal >= p_from and c.ordinal < p_until and e.generation_id is null
        order by c.ordinal;
end $$;

-- What is embedded of a passage: chunk.text_hash is of exactly this.
create or replace function holdfast.passage_of(p_chunk holdfast.chunk) returns text
language sql immutable parallel safe as $$
    select case when p_chunk.context = '' then p_chunk.text else p_chunk.context || e'\n\n' || p_chunk.text end
$$;

-- Refuses (HF409) unless the job works under this token; then it cannot be taken away before the transaction ends.
create or replace function holdfast.hold_claim(p_job bigint, p_token bigint) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    perform from pipeline_job
    where id = p_job and token = p_token and state = 'working'
    for key share;   -- nobody can take the job away before the commit, and a heartbeat can still tell its progress
    if not found then
        raise exception 'the claim on job % was lost: nothing is stored for it', p_job using errcode = 'HF409';
    end if;
end $$;

-- Gives passages the vector that an equal text of the same organisation has, whichever generation holds it.
create or replace function holdfast.reuse_vectors(p_embedder smallint, p_generations bigint[], p_ordinals integer[]) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    perform refuse_while_indexing();
    insert into embedding as e (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
    select c.generation_id, c.ordinal, p_embedder, c.organisation, c.text_hash, known.vector
    from unnest(p_generations, p_ordinals) as i(generation_id, ordinal)
    join chunk c using (generation_id, ordinal)
    cross join lateral (
        select k.vector
        from embedding k
        where k.organisation = c.organisation and k.embedder_id = p_embedder and k.text_hash = c.text_hash
        limit 1
    ) known
    on conflict (generation_id, ordinal, embedder_id) do update
    set text_hash = excluded.text_hash, vector = excluded.vector
    where e.text_hash <> excluded.text_hash;
end $$;
