-- Forgets those of an organisation's artifacts that no document uses, and names them: their objects may go next.
-- Whoever is just recording a use of one either comes first, and it stays, or waits and records it anew.
create or replace function holdfast.forget_unused_artifacts(p_organisation text, p_hashes text[])
returns table (hash text, size bigint, stored_at timestamptz)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
begin
    perform from artifact a where a.organisation = p_organisation and a.hash = any (p_hashes) order by a.hash for update;
    -- A statement of its own: only now are the uses visible that were recorded while the lock was waited for.
    return query
        delete from artifact a
        where a.organisation = p_organisation and a.hash = any (p_hashes)
          and not exists (select from artifact_use u where u.organisation = a.organisation and u.hash = a.hash)
        returning a.hash, a.size, a.stored_at;
end $$;
