-- Makes the table of vectors once pgvector is there, and says whether there is one. Idempotent; safe to call at any time.
create or replace function holdfast.ensure_vectors() returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if has_vectors() then
        return true;
    end if;
    if not may_name_vectors() then
        return false;
    end if;
    perform pg_advisory_xact_lock(hashtext('holdfast.ensure_vectors'));
    perform create_vectors();
    create index if not exists embedding_text on holdfast.embedding (organisation, embedder_id, text_hash);
    revoke all on holdfast.embedding from public;
    grant select on holdfast.embedding to holdfast_worker, holdfast_api, holdfast_readonly, holdfast_tenant;
    perform wall_off('embedding');
    return true;
end $$;

-- Makes the table, and the functions by which all others handle vectors. A schema is asked for when a name is looked up:
-- whoever owns this one may look into pgvector's (see zz_vectors.sql), holdfast_owner perhaps not, but may use what was found.
-- It runs with that login's rights, and members of holdfast_owner may create and replace what they like in this schema: so nothing
-- here is looked up in it unasked, and nothing of it is called.
drop function if exists holdfast.create_vectors();
create function holdfast.create_vectors() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    -- Without pgvector its column went, and with it all that the table was for.
    if to_regclass('holdfast.embedding') is not null and not exists (
        select from pg_attribute
        where attrelid = to_regclass('holdfast.embedding') and attname = 'vector' and not attisdropped
    ) then
        drop table holdfast.embedding;
    end if;
    -- Without a reference to embedder: checking it for every row costs as much as all the rest of writing one.
    -- Bodies after "return" are looked up now, and are put in the place of their calls: an index is found through them.
    execute format($make$
        create table if not exists holdfast.embedding (
            generation_id bigint not null,
            ordinal integer not null,
            embedder_id smallint not null,
            organisation text not null,
            text_hash text not null,
            vector %1$s.vector not null,
            primary key (generation_id, ordinal, embedder_id),
            foreign key (generation_id, ordinal) references holdfast.chunk on delete cascade
        );
        create or replace function holdfast.vectors(%1$s.vector[]) returns %1$s.vector[]
            language sql immutable parallel safe return $1;
        create or replace function holdfast.to_vector(real[]) returns %1$s.vector
            language sql immutable parallel safe return $1::%1$s.vector;
        create or replace function holdfast.distance(%1$s.vector, %1$s.vector) returns double precision
            language sql immutable parallel safe return $1 operator(%1$s.<=>) $2;
        create or replace function holdfast.half(%1$s.vector, integer) returns %1$s.halfvec
            language sql immutable parallel safe return %1$s.vector_to_halfvec($1, $2, true);
        create or replace function holdfast.half_distance(%1$s.halfvec, %1$s.halfvec) returns double precision
            language sql immutable parallel safe return $1 operator(%1$s.<=>) $2;

        alter table holdfast.embedding owner to holdfast_owner;
        alter function holdfast.vectors(%1$s.vector[]) owner to holdfast_owner;
        alter function holdfast.to_vector(real[]) owner to holdfast_owner;
        alter function holdfast.distance(%1$s.vector, %1$s.vector) owner to holdfast_owner;
        alter function holdfast.half(%1$s.vector, integer) owner to holdfast_owner;
        alter function holdfast.half_distance(%1$s.halfvec, %1$s.halfvec) owner to holdfast_owner;
        revoke all on function
            holdfast.vectors(%1$s.vector[]), holdfast.to_vector(real[]), holdfast.distance(%1$s.vector, %1$s.vector),
            holdfast.half(%1$s.vector, integer), holdfast.half_distance(%1$s.halfvec, %1$s.halfvec)
        from public;
        grant execute on function holdfast.vectors(%1$s.vector[]) to holdfast_worker, holdfast_api$make$,
        (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;

-- Whether vectors can be stored and compared.
create or replace function holdfast.has_vectors() returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select to_regclass('holdfast.embedding') is not null
       and exists (select from pg_proc where pronamespace = 'holdfast'::regnamespace and proname = 'half_distance')
$$;

-- Whether the owner of create_vectors() and create_nearest_index() may look up pgvector's names, and still acts for holdfast_owner.
create or replace function holdfast.may_name_vectors() returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select coalesce((
        select has_schema_privilege(p.proowner, e.extnamespace, 'usage') and pg_has_role(p.proowner, 'holdfast_owner', 'usage')
        from pg_extension e
        cross join pg_proc p
        where e.extname = 'vector' and p.oid = 'holdfast.create_vectors()'::regprocedure
    ), false) and vector_schema() is not null
$$;

-- The schema that pgvector was installed in, quoted; null where it is absent or older than 0.8, whose index loses filtered
-- answers.
create or replace function holdfast.vector_schema() returns text
language sql stable set search_path = holdfast, pg_temp as $$
    select quote_ident(n.nspname)
    from pg_extension e
    join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector' and string_to_array(regexp_replace(e.extversion, '[^0-9.].*', ''), '.')::integer[] >= '{0,8}'
$$;
