-- Records which artifacts a document needs, and as what; one it needed as the same thing before is let go.
-- Items: kind, hash, size. The objects must be in the store by now. Called in the transaction that settles an attempt or
-- takes a document in. An artifact that is being forgotten at this moment is recorded anew, never pointed to in vain.
create or replace function holdfast.use_artifacts(p_document bigint, p_items jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_organisation text;
    v_hashes text[];
    v_locked integer := -1;
begin
    select organisation into v_organisation from document where id = p_document and deleted_at is null;
    if not found or not is_own(v_organisation) then
        raise exception 'there is no document %, so it can use no artifacts', p_document using errcode = 'HF404';
    end if;
    perform refuse_bad_uses(p_items);
    v_hashes := array(select distinct i.hash from jsonb_to_recordset(p_items) as i(hash text) order by 1);
    while v_locked < cardinality(v_hashes) loop
        insert into artifact (organisation, hash, size, stored_at)
        select distinct on (i.hash) v_organisation, i.hash, i.size, clock()
        from jsonb_to_recordset(p_items) as i(hash text, size bigint)
        order by i.hash   -- one lock order for all
        on conflict do nothing;
        perform from artifact a where a.organisation = v_organisation and a.hash = any (v_hashes) order by a.hash for key share;
        get diagnostics v_locked = row_count;
    end loop;
    perform refuse_other_sizes(v_organisation, p_items);
    insert into artifact_use (document_id, kind, organisation, hash, used_at)
    select p_document, i.kind, v_organisation, i.hash, clock() from jsonb_to_recordset(p_items) as i(kind text, hash text)
    on conflict (document_id, kind) do update set hash = excluded.hash, used_at = excluded.used_at;
end $$;

-- Refuses items that are malformed, or name two artifacts as the same thing.
create or replace function holdfast.refuse_bad_uses(p_items jsonb) returns void
language plpgsql immutable set search_path = holdfast, pg_temp as $$
begin
    if jsonb_typeof(p_items) is distinct from 'array' then
        raise exception 'artifacts are named in a JSON array, not %', coalesce(jsonb_typeof(p_items), 'null')
            using errcode = 'HF400';
    end if;
    if exists (
        select from jsonb_to_recordset(p_items) as i(kind text, hash text, size bigint)
        where i.kind is null or i.hash is null or i.hash !~ '^[0-9a-f]{64}$' or i.size is null or i.size < 0
    ) then
        raise exception 'an artifact is named without its kind, SHA-256 hash or size' using errcode = 'HF400';
    end if;
    if exists (select from jsonb_to_recordset(p_items) as i(kind text) group by i.kind having count(*) > 1) then
        raise exception 'two artifacts are named as the same kind' using errcode = 'HF400';
    end if;
end $$;

-- Refuses an artifact whose size is recorded differently: the same content cannot have two.
create or replace function holdfast.refuse_other_sizes(p_organisation text, p_items jsonb) returns void
language plpgsql stable set search_path = holdfast, pg_temp as $$
declare
    v_odd record;
begin
    select i.hash, i.size as named, a.size as recorded into v_odd
    from jsonb_to_recordset(p_items) as i(hash text, size bigint)
    join artifact a on a.organisation = p_organisation and a.hash = i.hash
    where a.size <> i.size
    limit 1;
    if found then
        raise exception 'artifact % has % bytes, not %', v_odd.hash, v_odd.recorded, v_odd.named using errcode = 'HF409';
    end if;
end $$;
