-- Holds a scope until a moment; on a scope already held the later moment counts. Returns the hold's id.
create or replace function holdfast.place_hold(
    p_provider text, p_organisation text, p_pipeline text, p_phase text, p_budget text,
    p_until timestamptz, p_reason text, p_by text, p_needs_usd numeric default null
) returns bigint
language sql set search_path = holdfast, pg_temp as $$
    insert into hold as h (provider, organisation, pipeline, phase, budget, until, reason, created_at, created_by, needs_usd)
    values (p_provider, p_organisation, p_pipeline, p_phase, p_budget, p_until, left(p_reason, 1000), clock(), p_by, p_needs_usd)
    on conflict (provider, organisation, pipeline, phase, budget) where drained_at is null do update set
        until = case when h.released_at is null then greatest(h.until, excluded.until) else excluded.until end,
        reason = excluded.reason,
        needs_usd = case when h.released_at is null and h.until > clock()
                         then least(h.needs_usd, excluded.needs_usd) else excluded.needs_usd end,
        released_at = null, released_by = null
    returning id
$$;
