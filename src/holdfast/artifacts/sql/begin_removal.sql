-- Begins to remove those of an organisation's artifacts that no document uses and nobody leases: for ten minutes nobody puts them,
-- and their objects may go. Answers those that no document uses; `until` is null where somebody leases, puts or removes them, so
-- that they stay. Whoever has begun stops within half of that time, and says when he is done with finish_removal.
create or replace function holdfast.begin_removal(p_organisation text, p_hashes text[])
returns table (hash text, size bigint, until timestamptz)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_free text[];
    v_now timestamptz;
begin
    if not is_own(p_organisation) then
        return;
    end if;
    -- Whatever is locked is in somebody's hands, so there is nothing to wait for.
    v_free := array(
        select a.hash from artifact a
        where a.organisation = p_organisation and a.hash = any (p_hashes) and is_free(a)
        order by a.hash
        for update skip locked
    );
    v_now := clock();
    -- A statement of its own: only now are the uses and leases visible that were recorded before the locks were taken.
    update artifact a
    set removing_until = v_now + interval '10 minutes'
    where a.organisation = p_organisation and a.hash = any (v_free) and is_free(a);
    return query
        select a.hash, a.size, case when a.hash = any (v_free) and a.removing_until = v_now + interval '10 minutes'
                                    then a.removing_until end
        from artifact a
        where a.organisation = p_organisation and a.hash = any (p_hashes) and not is_used(a.organisation, a.hash);
end $$;

-- Forgets the artifacts whose objects are gone, by whoever began to remove them `until` then. What was put anew since, or is removed by
-- somebody else, because that time had passed, is left alone.
create or replace function holdfast.finish_removal(p_organisation text, p_hashes text[], p_until timestamptz) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_gone text[];
begin
    if not is_own(p_organisation) then
        return;
    end if;
    v_gone := array(
        select a.hash from artifact a
        where a.organisation = p_organisation and a.hash = any (p_hashes) and a.removing_until = p_until
        order by a.hash
        for update
    );
    delete from artifact_lease l where l.organisation = p_organisation and l.hash = any (v_gone);
    delete from artifact a where a.organisation = p_organisation and a.hash = any (v_gone);
end $$;

-- Whether nobody uses, leases or removes an artifact.
create or replace function holdfast.is_free(p_artifact holdfast.artifact) returns boolean
language sql volatile set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select (p_artifact.removing_until is null or p_artifact.removing_until <= clock())
       and not is_used(p_artifact.organisation, p_artifact.hash)
       and not exists (
           select from artifact_lease l
           where l.organisation = p_artifact.organisation and l.hash = p_artifact.hash and l.leased_at >= lease_is_dead_before()
       )
$$;

-- Records objects that were found in the store and that no row speaks of, used by nobody: so they can be removed as all others are.
-- Items: hash, size.
create or replace function holdfast.record_orphans(p_organisation text, p_items jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    perform refuse_bad_artifacts(p_items);
    insert into artifact (organisation, hash, size, stored_at)
    select p_organisation, i.hash, i.size, clock() from jsonb_to_recordset(p_items) as i(hash text, size bigint)
    order by i.hash
    on conflict do nothing;
end $$;
