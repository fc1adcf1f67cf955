-- Ends one try of a delivery, under the token with which it was taken; a stale one changes nothing. p_outcome is delivered, failed
-- (tried again with growing patience, in the end given up) or gone (the receiver wants nothing more: it is disabled).
-- Answers where the delivery stands now; null: it was taken by someone else.
create or replace function holdfast.end_delivery(
    p_delivery bigint, p_token bigint, p_outcome text, p_status integer, p_answer text, p_retry_after_seconds double precision
) returns text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    c_waits constant double precision[] := array[5, 30, 120, 600, 3600, 21600, 86400];
    c_longest_wait constant double precision := 86400;
    v_now timestamptz := clock();
    v_delivery delivery;
    v_state text;
    v_wait double precision;
begin
    select * into v_delivery from delivery where id = p_delivery and token = p_token and state = 'waiting' for update;
    if not found then
        return null;
    end if;
    v_state := case when p_outcome = 'delivered' then 'delivered'
                    when p_outcome = 'failed' and v_delivery.attempts < cardinality(c_waits) then 'waiting'
                    else 'given_up' end;
    if v_state = 'waiting' then
        -- Spread out, or all that failed together would come again together. What the other side asks for counts, within reason.
        v_wait := greatest(c_waits[v_delivery.attempts + 1] * (1 + 0.2 * random()),
                           least(coalesce(p_retry_after_seconds, 0), c_longest_wait));
    end if;
    update delivery
    set state = v_state,
        attempts = attempts + 1, next_at = v_now + make_interval(secs => v_wait), taken_until = null,
        last_at = v_now, last_status = p_status, last_answer = left(p_answer, 500)
    where id = p_delivery;
    if p_outcome = 'gone' then
        perform disable_receiver(v_delivery.receiver_id, p_answer);
    end if;
    return v_state;
end $$;

-- Tells a receiver nothing more, because it asked for that.
create or replace function holdfast.disable_receiver(p_receiver bigint, p_reason text) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    update receiver set disabled_at = clock(), disabled_reason = left(p_reason, 500) where id = p_receiver and disabled_at is null;
    if found then
        perform give_up_waiting(p_receiver, 'its receiver was disabled');
        perform audit_receiver('holdfast', 'disable receiver', p_receiver);
    end if;
end $$;
