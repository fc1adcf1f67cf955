-- Makes the table of vectors once pgvector is there, and says whether there is one. Idempotent; safe to call at any time.
create or replace function holdfast.ensure_vectors() returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_schema text := vector_schema();
begin
    if to_regclass('holdfast.embedding') is not null then
        return true;
    end if;
    if v_schema is null then
        return false;
    end if;
    perform pg_advisory_xact_lock(hashtext('holdfast.ensure_vectors'));
    -- Without a reference to embedder: checking it for every row costs as much as all the rest of writing one.
    execute format($table$
        create table if not exists holdfast.embedding (
            document_id bigint not null,
            ordinal integer not null,
            embedder_id smallint not null,
            organisation text not null,
            text_hash text not null,
            vector %s.vector not null,
            primary key (document_id, ordinal, embedder_id),
            foreign key (document_id, ordinal) references holdfast.chunk on delete cascade
        )$table$, v_schema);
    create index if not exists embedding_text on holdfast.embedding (organisation, embedder_id, text_hash);
    revoke all on holdfast.embedding from public;
    grant select on holdfast.embedding to holdfast_worker, holdfast_api, holdfast_readonly, holdfast_tenant;
    perform wall_off('embedding');
    return true;
end $$;

-- The schema that pgvector was installed in, quoted; null where it is absent or older than 0.8, whose index loses filtered
-- answers.
create or replace function holdfast.vector_schema() returns text
language sql stable set search_path = holdfast, pg_temp as $$
    select quote_ident(n.nspname)
    from pg_extension e
    join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector' and string_to_array(regexp_replace(e.extversion, '[^0-9.].*', ''), '.')::integer[] >= '{0,8}'
$$;
