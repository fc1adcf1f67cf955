-- Deliveries, the newest first; of one receiver, or in one state, if these are named.
create or replace function holdfast.deliveries(p_receiver bigint, p_state text, p_limit integer)
returns table (delivery_id bigint, receiver_id bigint, message_id uuid, event text, at timestamptz, organisation text, state text,
               attempts integer, next_at timestamptz, last_at timestamptz, last_status integer, last_answer text)
language plpgsql stable security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
set jit = off as $$
begin
    if p_state is not null and p_state not in ('waiting', 'delivered', 'given_up') then
        raise exception 'there is no state "%": name waiting, delivered or given_up', p_state using errcode = 'HF400';
    elsif p_receiver is not null and not exists (
        select from receiver r where r.id = p_receiver and r.removed_at is null and is_own(r.organisation)) then
        raise exception 'there is no webhook %', p_receiver using errcode = 'HF404';
    end if;
    return query
        select d.id, d.receiver_id, n.message_id, n.event, n.at, n.organisation, d.state, d.attempts, d.next_at, d.last_at,
               d.last_status, d.last_answer
        from delivery d
        join receiver r on r.id = d.receiver_id
        join notice n on n.id = d.notice_id
        where (p_receiver is null or d.receiver_id = p_receiver) and (p_state is null or d.state = p_state)
          and r.removed_at is null and is_own(r.organisation)
        order by d.id desc
        limit overview_limit(p_limit);
end $$;

-- Has something delivered again, or at once, as if it had just happened; under the same id, so that the other side may know it.
-- Audited.
create or replace function holdfast.redeliver(p_delivery bigint, p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_delivery delivery;
    v_receiver receiver;
begin
    select * into v_delivery from delivery where id = p_delivery for update;
    select * into v_receiver from receiver where id = v_delivery.receiver_id and removed_at is null;
    if not found or not is_own(v_receiver.organisation) then
        raise exception 'there is no delivery %', p_delivery using errcode = 'HF404';
    elsif v_receiver.disabled_at is not null then
        raise exception 'receiver % is disabled (%): add it anew', v_receiver.id, v_receiver.disabled_reason using errcode = 'HF409';
    elsif v_delivery.taken_until > clock() then
        raise exception 'delivery % is under way just now: see what comes of it', p_delivery using errcode = 'HF409';
    end if;
    update delivery set state = 'waiting', attempts = 0, next_at = clock(), taken_until = null where id = p_delivery;
    insert into audit_log (at, actor, action, after)
    values (clock(), p_actor, 'redeliver', jsonb_build_object('delivery', p_delivery, 'receiver', v_receiver.id));
end $$;

-- Makes a ping for one receiver, whatever it wants to hear of, and takes it for the caller, who delivers it. Audited.
create or replace function holdfast.ping(p_receiver bigint, p_actor text)
returns table (delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid,
               event text, sent_at timestamptz, payload text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_receiver receiver := own_receiver(p_receiver);
    v_now timestamptz := clock();
    v_notice bigint;
    v_delivery bigint;
begin
    if v_receiver.disabled_at is not null then
        raise exception 'receiver % is disabled (%): add it anew', p_receiver, v_receiver.disabled_reason using errcode = 'HF409';
    end if;
    insert into notice (at, event, organisation, body)
    values (v_now, 'ping', v_receiver.organisation, jsonb_build_object('receiver_id', p_receiver)) returning id into v_notice;
    insert into delivery (notice_id, receiver_id, next_at) values (v_notice, p_receiver, v_now) returning id into v_delivery;
    perform audit_receiver(p_actor, 'ping', p_receiver);
    return query select * from take(array[v_delivery], v_now);
end $$;
