-- A page of the artifacts that nobody uses, leases or removes, in the order of their keys.
-- Reads only; whoever acts on it must ask again under a lock.
create or replace function holdfast.unused_artifacts(p_after_organisation text, p_after_hash text, p_limit integer)
returns table (organisation text, hash text)
language plpgsql security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock();
    v_dead_before timestamptz := lease_is_dead_before();
begin
    return query
        select a.organisation, a.hash
        from artifact a
        where (a.organisation, a.hash) > (p_after_organisation, p_after_hash)
          and (a.removing_until is null or a.removing_until <= v_now)
          and not exists (select from artifact_use u where u.organisation = a.organisation and u.hash = a.hash)
          and not exists (
              select from artifact_lease l where l.organisation = a.organisation and l.hash = a.hash and l.leased_at >= v_dead_before
          )
        order by a.organisation, a.hash
        limit p_limit;
end $$;
