-- Makes a model known and tells whether it takes new vectors. The first one becomes the active one. Idempotent; HF409 when
-- the name is known with another dimension. vector_type is how pgvector's type is named here, null where it is absent.
create or replace function holdfast.register_embedder(
    p_name text, p_dimension integer,
    out id smallint, out takes_vectors boolean, out active_name text, out vector_type text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_dimension integer;
begin
    if ensure_vectors() then
        vector_type := vector_schema() || '.vector';
    end if;
    -- Looked for first: an insert that finds a row would use up a number of the few that there are.
    if not exists (select from embedder where name = p_name) then
        perform pg_advisory_xact_lock(hashtext('holdfast.register_embedder'));
        insert into embedder (name, dimension, active, created_at)
        select p_name, p_dimension, not exists (select from embedder where active), clock()
        where not exists (select from embedder where name = p_name);
    end if;
    select e.id, e.active and e.closed_at is null, e.dimension, (select a.name from embedder a where a.active)
    into register_embedder.id, register_embedder.takes_vectors, v_dimension, register_embedder.active_name
    from embedder e
    where e.name = p_name;
    if v_dimension <> p_dimension then
        raise exception 'model "%" has vectors of % numbers stored, not of %', p_name, v_dimension, p_dimension
        using errcode = 'HF409', hint = 'give the model that makes other vectors another name';
    end if;
end $$;
