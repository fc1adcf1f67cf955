-- Builds the index of nearest vectors of a model that needs one; says whether it did. Whoever would store vectors meanwhile is
-- refused, some seconds once in the life of a model; searching goes on. Of callers at once one builds.
create or replace function holdfast.index_embedder(p_embedder smallint) returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp set maintenance_work_mem = '256MB' as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('holdfast.index_embedder'), p_embedder) or not needs_index(p_embedder) then
        return false;
    end if;
    perform pg_advisory_xact_lock(hashtext('holdfast.store_vectors'), 0);   -- waits for those that store some right now
    perform create_nearest_index(p_embedder, (select dimension from embedder where id = p_embedder));
    return true;
end $$;

-- The index itself. Belongs to whoever may look up pgvector's names (see zz_vectors.sql): its operator class must be named.
-- With that login's rights: like create_vectors() it calls nothing that members of holdfast_owner may replace. What the table's
-- columns need is run with the rights of the table's owner.
drop function if exists holdfast.create_nearest_index(smallint, integer);
create function holdfast.create_nearest_index(p_embedder smallint, p_dimension integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- Half precision: half the size, the same neighbours; the answers' distances are computed from the whole vectors.
    execute format($index$
        create index embedding_nearest_%1$s on holdfast.embedding
        using hnsw ((vector::%2$s.halfvec(%3$s)) %2$s.halfvec_cosine_ops)
        where embedder_id = %1$s$index$,
        p_embedder,
        (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'),
        p_dimension);
end $$;

-- Whether a model has no index and should have one: comparing with every vector takes long where they fill more than 30 MB,
-- about 20 ms for 30,000 of 256 numbers. Longer vectors than 4,000 numbers cannot have one.
create or replace function holdfast.needs_index(p_embedder smallint) returns boolean
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select m.dimension <= 4000
           and to_regclass('holdfast.' || nearest_index(m.id)) is null
           and case
                   -- Asked after every document: mostly the size of all says enough.
                   when pg_table_size('holdfast.embedding') < 30000 * 1024 then false
                   else may_name_vectors()
                        and exists (select from embedding where embedder_id = m.id offset 30000 * 256 / m.dimension limit 1)
               end
    from embedder m
    where m.id = p_embedder
$$;

-- The name of a model's index.
create or replace function holdfast.nearest_index(p_embedder smallint) returns text
language sql immutable as $$ select 'embedding_nearest_' || p_embedder $$;

-- Refuses (55P03, "try again") to store vectors while an index of them is built: waiting for that would take longer than a
-- worker may be silent, and all its connections.
create or replace function holdfast.refuse_while_indexing() returns void
language plpgsql as $$
begin
    if not pg_try_advisory_xact_lock_shared(hashtext('holdfast.store_vectors'), 0) then
        raise exception 'an index of vectors is being built' using errcode = 'lock_not_available', hint = 'try again';
    end if;
end $$;
