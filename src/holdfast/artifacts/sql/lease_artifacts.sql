-- Says that a holder is about to put these artifacts, and keeps them from being removed until their use is recorded, they are
-- released, or a day is over. Items: hash, size. Answers the hashes of those that are being removed at this moment: they are not
-- leased; whoever wants to put them asks again. To be called before the first byte is placed, so that every object has its row.
-- Idempotent.
create or replace function holdfast.lease_artifacts(p_organisation text, p_items jsonb, p_holder text) returns text[]
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_hashes text[];
    v_locked integer := -1;
    v_now timestamptz;
    v_refused text[];
    v_stale text[];
begin
    if not is_own(p_organisation) then
        raise exception 'there is no organisation %', p_organisation using errcode = 'HF404';
    end if;
    perform refuse_bad_artifacts(p_items);
    if p_holder is null then
        raise exception 'artifacts are leased by somebody: name the holder' using errcode = 'HF400';
    end if;
    v_hashes := array(select distinct i.hash from jsonb_to_recordset(p_items) as i(hash text) order by 1);
    -- Again where a removal ended between the two statements.
    while v_locked < cardinality(v_hashes) loop
        insert into artifact (organisation, hash, size, stored_at)
        select distinct on (i.hash) p_organisation, i.hash, i.size, clock()
        from jsonb_to_recordset(p_items) as i(hash text, size bigint)
        order by i.hash   -- one lock order for all
        on conflict do nothing;
        perform from artifact a where a.organisation = p_organisation and a.hash = any (v_hashes) order by a.hash for key share;
        get diagnostics v_locked = row_count;
    end loop;
    v_now := clock();
    v_refused := array(
        select a.hash from artifact a
        where a.organisation = p_organisation and a.hash = any (v_hashes) and a.removing_until > v_now
    );
    -- Left by a removal that died; and sizes that nobody vouches for: an object found in the store may have been cut short.
    v_stale := array(
        select a.hash
        from artifact a
        join jsonb_to_recordset(p_items) as i(hash text, size bigint) on i.hash = a.hash
        where a.organisation = p_organisation and a.hash = any (v_hashes) and a.hash <> all (v_refused)
          and (a.removing_until is not null or a.size <> i.size and not is_used(a.organisation, a.hash))
        order by a.hash
        for no key update of a
    );
    update artifact a
    set removing_until = null, size = i.size
    from jsonb_to_recordset(p_items) as i(hash text, size bigint)
    where a.organisation = p_organisation and a.hash = i.hash and a.hash = any (v_stale);
    insert into artifact_lease (organisation, hash, holder, leased_at)
    select p_organisation, h.hash, p_holder, v_now from unnest(v_hashes) as h(hash) where h.hash <> all (v_refused) order by h.hash
    on conflict (organisation, hash, holder) do update set leased_at = excluded.leased_at;
    return v_refused;
end $$;

-- Ends a holder's leases of these artifacts. Idempotent.
create or replace function holdfast.release_artifacts(p_organisation text, p_hashes text[], p_holder text) returns void
language sql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    delete from artifact_lease
    where organisation = p_organisation and hash = any (p_hashes) and holder = p_holder and is_own(p_organisation)
$$;

-- Ends up to p_limit leases whose holders died more than a day ago, and says how many: repeat until it is 0.
create or replace function holdfast.end_dead_leases(p_limit integer) returns bigint
language sql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with dead as (
        delete from artifact_lease
        where (organisation, hash, holder) in (
            select organisation, hash, holder from artifact_lease
            where leased_at < lease_is_dead_before()
            order by leased_at
            limit p_limit
            for update skip locked
        )
        returning 1
    )
    select count(*) from dead
$$;

-- Leases older than this keep nothing: no attempt and no upload lasts a day.
create or replace function holdfast.lease_is_dead_before() returns timestamptz
language sql volatile set search_path = holdfast, pg_temp as $$
    select clock() - interval '24 hours'
$$;

-- Whether a document needs an artifact.
create or replace function holdfast.is_used(p_organisation text, p_hash text) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select exists (select from artifact_use u where u.organisation = p_organisation and u.hash = p_hash)
$$;
