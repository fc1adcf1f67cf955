-- Holds a scope until a moment; on a scope already held the later moment counts. Returns the hold's id.
-- A provider that was not held before is announced.
create or replace function holdfast.place_hold(
    p_provider text, p_organisation text, p_pipeline text, p_phase text, p_budget text,
    p_until timestamptz, p_reason text, p_by text, p_needs_usd numeric default null
) returns bigint
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
    v_hold hold;
begin
    insert into hold as h (provider, organisation, pipeline, phase, budget, until, reason, created_at, created_by, needs_usd,
                           in_force_since)
    values (p_provider, p_organisation, p_pipeline, p_phase, p_budget, p_until, left(p_reason, 1000), v_now, p_by, p_needs_usd, v_now)
    on conflict (provider, organisation, pipeline, phase, budget) where drained_at is null do update set
        until = case when h.released_at is null then greatest(h.until, excluded.until) else excluded.until end,
        reason = excluded.reason,
        needs_usd = case when h.released_at is null and h.until > clock()
                         then least(h.needs_usd, excluded.needs_usd) else excluded.needs_usd end,
        in_force_since = case when h.released_at is null and h.until > v_now then h.in_force_since else v_now end,
        released_at = null, released_by = null
    returning * into v_hold;
    if v_hold.provider is not null and v_hold.in_force_since = v_now and v_hold.until > v_now then
        perform announce_held(v_hold);
    end if;
    return v_hold.id;
end $$;

create or replace function holdfast.announce_held(p_hold holdfast.hold) returns void
language sql set search_path = holdfast, pg_temp as $$
    select announce('provider.held', jsonb_build_array(jsonb_build_object(
        'organisation', p_hold.organisation,
        'body', jsonb_build_object(
            'hold_id', p_hold.id, 'provider', p_hold.provider, 'organisation', p_hold.organisation, 'pipeline', p_hold.pipeline,
            'phase', p_hold.phase, 'until', nullif(p_hold.until, 'infinity'), 'reason', p_hold.reason, 'held_by', p_hold.created_by))))
$$;
