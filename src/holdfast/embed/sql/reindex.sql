-- Replacing the model that answers searches, while it answers them. Reindexing fills the new one's vectors; then the old one
-- is closed, what came in meanwhile is filled too, and the new one becomes active in a transaction that proves nothing lacks.

-- Passages that must have a vector of this model before it may answer: of documents that are searchable, or have vectors of
-- the active model and may become so. After one place, in order, up to another (see next_place), at most p_limit; known vectors
-- are copied first. While it is called again within 30 days, the model's vectors are not removed.
create or replace function holdfast.take_for_reindexing(
    p_embedder smallint, p_organisation text, p_generation bigint, p_ordinal integer, p_last_generation bigint,
    p_last_ordinal integer, p_limit integer)
returns table (generation_id bigint, ordinal integer, text_hash text, passage text, reused boolean)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_generations bigint[];
    v_ordinals integer[];
begin
    update embedder set reindexed_at = clock() where id = p_embedder and not active;
    select array_agg(l.generation_id), array_agg(l.ordinal)
    into v_generations, v_ordinals
    from lacking_vectors(
        p_embedder, p_organisation, p_generation, p_ordinal, p_last_generation, p_last_ordinal, p_limit) l;
    perform reuse_vectors(p_embedder, v_generations, v_ordinals);
    return query
        select c.generation_id, c.ordinal, c.text_hash, passage_of(c), e.generation_id is not null
        from unnest(v_generations, v_ordinals) with ordinality as l(generation_id, ordinal, position)
        join chunk c using (generation_id, ordinal)
        left join embedding e
            on e.generation_id = c.generation_id and e.ordinal = c.ordinal and e.embedder_id = p_embedder
            and e.text_hash = c.text_hash
        order by l.position;
end $$;

-- The place so many passages after another, or the last one of all; no row where none follows. So that each step of reindexing
-- looks at so many, however many are done.
create or replace function holdfast.next_place(p_generation bigint, p_ordinal integer, p_passages integer)
returns table (generation_id bigint, ordinal integer)
language sql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
    select n.generation_id, n.ordinal
    from (
        select c.generation_id, c.ordinal
        from chunk c
        where (c.generation_id, c.ordinal) > (p_generation, p_ordinal)
        order by c.generation_id, c.ordinal
        limit p_passages
    ) n
    order by n.generation_id desc, n.ordinal desc
    limit 1
$$;

create or replace function holdfast.lacking_vectors(
    p_embedder smallint, p_organisation text, p_generation bigint, p_ordinal integer, p_last_generation bigint,
    p_last_ordinal integer, p_limit integer)
returns table (generation_id bigint, ordinal integer)
language sql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select c.generation_id, c.ordinal
    from chunk c
    where (c.generation_id, c.ordinal) > (p_generation, p_ordinal)
      and (c.generation_id, c.ordinal) <= (p_last_generation, p_last_ordinal)
      and (p_organisation is null or c.organisation = p_organisation)
      and (
          -- Looked up one by one: "exists" might read them all.
          (select true from document d
           where d.generation_id = c.generation_id and d.deleted_at is null and d.superseded_at is null
           limit 1)
          or (select true from pipeline_job j
              join document d on d.id = j.document_id and d.deleted_at is null and d.superseded_at is null
              join embedding a on a.generation_id = j.id
              join embedder m on m.id = a.embedder_id and m.active
              where j.id = c.generation_id and j.state <> 'done'
              limit 1)
      )
      and not exists (
          select from embedding e
          where e.generation_id = c.generation_id and e.ordinal = c.ordinal and e.embedder_id = p_embedder
            and e.text_hash = c.text_hash)
    order by c.generation_id, c.ordinal
    limit p_limit
$$;

-- Writes vectors of a model that does not answer yet, for passages of any documents, and what the call cost that made them.
create or replace function holdfast.store_reindexed(
    p_embedder smallint, p_generations bigint[], p_ordinals integer[], p_hashes text[], p_cost_usd numeric, p_vectors anyarray)
returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    perform charge_reindexed(p_embedder, p_generations, p_cost_usd, 0);
    perform write_embeddings(p_embedder, p_generations, p_ordinals, p_hashes, p_vectors);
end $$;

-- From here on the active model takes no new vectors: those that embed with it wait until another one is active.
create or replace function holdfast.close_embedder() returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    update embedder set closed_at = clock() where active and closed_at is null
$$;

-- Lets this model answer searches and says true; false, and nothing changes, while a passage lacks its vector of it. Whoever has
-- looked at every passage since a moment names it: then only the documents that an attempt may have changed since are looked at.
create or replace function holdfast.activate_embedder(p_embedder smallint, p_since timestamptz default null) returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    c_committed constant interval := '2 minutes';   -- after so long, what an attempt wrote under its time can be seen
    c_last constant integer := 2147483647;
begin
    perform from embedder order by id for update;   -- waits for those that store vectors or end a phase right now
    if p_since is null and exists (
        select from lacking_vectors(p_embedder, null, 0, -1, 9223372036854775807, c_last, 1)
    ) then
        return false;
    end if;
    if exists (
        select
        from (
            select job_id as id from pipeline_phase where ended_at >= p_since - c_committed
            union
            select id from pipeline_job where state = 'working'
        ) changed
        cross join lateral lacking_vectors(p_embedder, null, changed.id, -1, changed.id, c_last, 1)
    ) then
        return false;
    end if;
    update embedder set active = false, closed_at = null where active and id <> p_embedder;
    update embedder set active = true, closed_at = null, reindexed_at = null where id = p_embedder;
    return true;
end $$;

-- Removes a batch of the vectors of models that answer no searches and says how many; 0 when none is left. Those that a
-- reindexing has made or looked at in the last 30 days stay: it would pay for them again.
create or replace function holdfast.remove_inactive_vectors(p_limit integer) returns integer
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_model smallint;
    v_count integer;
begin
    -- Locked: no reindexing begins with them meanwhile.
    perform from embedder m where is_disused(m) order by m.id for update;
    delete from embedding
    where ctid = any (array(
        select e.ctid
        from embedding e
        join embedder m on m.id = e.embedder_id and is_disused(m)
        limit p_limit));
    get diagnostics v_count = row_count;
    if v_count < p_limit then
        for v_model in select m.id from embedder m where is_disused(m) loop
            execute format('drop index if exists %I', nearest_index(v_model));
        end loop;
    end if;
    return v_count;
end $$;

-- Whether a model answers no searches and is not about to.
create or replace function holdfast.is_disused(p_model holdfast.embedder) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select not p_model.active and coalesce(p_model.reindexed_at < clock() - interval '30 days', true)
$$;
