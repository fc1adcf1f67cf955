-- Records which artifacts a document needs, and as what; one it needed as the same thing before is let go.
-- Items: kind, hash, size. Called in the transaction that settles an attempt or takes a document in. Each must be leased by the
-- holder, or in use already: then its object is in the store, and stays. HF410 where it may have been removed meanwhile: put it
-- again. The holder's leases of them end with it.
create or replace function holdfast.use_artifacts(p_document bigint, p_items jsonb, p_holder text default null) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_organisation text;
    v_hashes text[];
    v_leased text[];
    v_lost text[];
begin
    select organisation into v_organisation from document where id = p_document and deleted_at is null;
    if not found or not is_own(v_organisation) then
        raise exception 'there is no document %, so it can use no artifacts', p_document using errcode = 'HF404';
    end if;
    perform refuse_bad_artifacts(p_items);
    perform refuse_bad_kinds(p_items);
    v_hashes := array(select distinct i.hash from jsonb_to_recordset(p_items) as i(hash text) order by 1);
    perform from artifact a where a.organisation = v_organisation and a.hash = any (v_hashes) order by a.hash for key share;
    -- Statements of their own, under the lock: now nobody begins to remove what is found here.
    v_leased := array(
        select l.hash from artifact_lease l
        where l.organisation = v_organisation and l.hash = any (v_hashes) and l.holder = p_holder
    );
    v_lost := array(
        select h.hash from unnest(v_hashes) as h(hash) where h.hash <> all (v_leased) and not is_used(v_organisation, h.hash)
        union
        select a.hash from artifact a
        where a.organisation = v_organisation and a.hash = any (v_hashes) and a.removing_until is not null
    );
    if v_lost <> '{}' then
        raise exception 'artifact % is not leased any more, so it may have been removed: put it again', v_lost[1] using errcode = 'HF410';
    end if;
    perform refuse_other_sizes(v_organisation, p_items);
    insert into artifact_use (document_id, kind, organisation, hash, used_at)
    select p_document, i.kind, v_organisation, i.hash, clock() from jsonb_to_recordset(p_items) as i(kind text, hash text)
    on conflict (document_id, kind) do update set hash = excluded.hash, used_at = excluded.used_at;
    delete from artifact_lease where organisation = v_organisation and hash = any (v_hashes) and holder = p_holder;
end $$;

-- Refuses items that name no artifact.
create or replace function holdfast.refuse_bad_artifacts(p_items jsonb) returns void
language plpgsql immutable set search_path = holdfast, pg_temp as $$
begin
    if jsonb_typeof(p_items) is distinct from 'array' then
        raise exception 'artifacts are named in a JSON array, not %', coalesce(jsonb_typeof(p_items), 'null')
            using errcode = 'HF400';
    end if;
    if exists (
        select from jsonb_to_recordset(p_items) as i(hash text, size bigint)
        where i.hash is null or i.hash !~ '^[0-9a-f]{64}$' or i.size is null or i.size < 0
    ) then
        raise exception 'an artifact is named without its SHA-256 hash or size' using errcode = 'HF400';
    end if;
end $$;

-- Refuses items that do not say what an artifact is used as, or name two as the same thing.
create or replace function holdfast.refuse_bad_kinds(p_items jsonb) returns void
language plpgsql immutable set search_path = holdfast, pg_temp as $$
begin
    if exists (select from jsonb_to_recordset(p_items) as i(kind text) where i.kind is null) then
        raise exception 'an artifact is named without its kind' using errcode = 'HF400';
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
      -- Said twice, so that without statistics too nothing else is read.
      and a.hash = any (array(select n.hash from jsonb_to_recordset(p_items) as n(hash text)))
    limit 1;
    if found then
        raise exception 'artifact % has % bytes, not %', v_odd.hash, v_odd.recorded, v_odd.named using errcode = 'HF409';
    end if;
end $$;
