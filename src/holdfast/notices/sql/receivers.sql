-- Makes a webhook known. Without an organisation it is told of all of them. Audited.
create or replace function holdfast.add_webhook(
    p_organisation text, p_url text, p_events text[], p_secret text, p_actor text
) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_id bigint;
begin
    if not is_own(p_organisation) then
        raise exception 'organisation "%" is not yours', p_organisation using errcode = 'HF404';
    end if;
    perform refuse_unknown_events(p_events);
    insert into receiver (organisation, kind, url, events, secret, created_at, created_by)
    values (p_organisation, 'webhook', p_url, p_events, p_secret, clock(), p_actor)
    returning id into v_id;
    perform audit_receiver(p_actor, 'add webhook', v_id);
    return v_id;
exception
    when check_violation then
        raise exception 'a webhook needs a URL of 1 to 2000 characters, and an organisation of 1 to 255 if any' using errcode = 'HF400';
end $$;

-- Has mail about alerts sent to exactly these addresses. Idempotent; audited where it changes something.
create or replace function holdfast.mail_alerts_to(p_addresses text[], p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_id bigint;
begin
    for v_id in
        update receiver set disabled_at = clock(), disabled_reason = 'the settings no longer name it'
        where kind = 'mail' and disabled_at is null and removed_at is null and url <> all (p_addresses)
        returning id
    loop
        perform give_up_waiting(v_id, 'the settings no longer name this address');
        perform audit_receiver(p_actor, 'end mail', v_id);
    end loop;
    for v_id in
        insert into receiver (kind, url, events, created_at, created_by)
        select 'mail', address, array['alert.opened', 'alert.closed'], clock(), p_actor from unnest(p_addresses) address
        on conflict (url) where kind = 'mail' and disabled_at is null and removed_at is null do nothing
        returning id
    loop
        perform audit_receiver(p_actor, 'add mail', v_id);
    end loop;
end $$;

-- Whoever is told, the newest first, without their secrets.
create or replace function holdfast.receivers()
returns table (receiver_id bigint, organisation text, kind text, url text, events text[], created_at timestamptz, created_by text,
               disabled_at timestamptz, disabled_reason text, waiting bigint)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select r.id, r.organisation, r.kind, r.url, r.events, r.created_at, r.created_by, r.disabled_at, r.disabled_reason,
           (select count(*) from delivery d where d.receiver_id = r.id and d.state = 'waiting')
    from receiver r
    where r.removed_at is null and is_own(r.organisation)
    order by r.id desc
$$;

-- Ends a receiver for good: its secrets are gone, what waits for it is given up. Audited.
create or replace function holdfast.remove_receiver(p_receiver bigint, p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    perform own_receiver(p_receiver);
    perform audit_receiver(p_actor, 'remove receiver', p_receiver);
    update receiver set removed_at = clock(), secret = null, previous_secret = null where id = p_receiver;
    perform give_up_waiting(p_receiver, 'its receiver was removed');
end $$;

-- Gives a webhook a new secret. For a day the one before signs too, so that the other side can change over. Audited.
create or replace function holdfast.rotate_secret(p_receiver bigint, p_secret text, p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if (own_receiver(p_receiver)).kind <> 'webhook' then
        raise exception 'receiver % has no secret: it gets mail', p_receiver using errcode = 'HF400';
    end if;
    update receiver set previous_secret = secret, previous_until = clock() + interval '24 hours', secret = p_secret
    where id = p_receiver;
    perform audit_receiver(p_actor, 'rotate secret', p_receiver);
end $$;

-- The receiver, locked, if it is the caller's.
create or replace function holdfast.own_receiver(p_receiver bigint) returns holdfast.receiver
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_receiver receiver;
begin
    select * into v_receiver from receiver where id = p_receiver and removed_at is null for no key update;
    if not found or not is_own(v_receiver.organisation) then
        raise exception 'there is no webhook %', p_receiver using errcode = 'HF404';
    end if;
    return v_receiver;
end $$;

create or replace function holdfast.give_up_waiting(p_receiver bigint, p_reason text) returns void
language sql set search_path = holdfast, pg_temp as $$
    update delivery set state = 'given_up', next_at = null, taken_until = null, last_answer = p_reason
    where receiver_id = p_receiver and state = 'waiting'
$$;

create or replace function holdfast.refuse_unknown_events(p_events text[]) returns void
language plpgsql immutable as $$
declare
    c_events constant text[] := array['job.done', 'job.failed', 'job.deadletter', 'budget.exhausted', 'provider.held',
                                      'alert.opened', 'alert.closed'];
    v_stranger text := (select e from unnest(p_events) e where e <> all (c_events) limit 1);
begin
    if v_stranger is not null or coalesce(cardinality(p_events), 0) = 0 then
        raise exception 'there is no event "%": name one or more of %', v_stranger, array_to_string(c_events, ', ')
            using errcode = 'HF400';
    end if;
end $$;

create or replace function holdfast.audit_receiver(p_actor text, p_action text, p_receiver bigint) returns void
language sql set search_path = holdfast, pg_temp as $$
    insert into audit_log (at, actor, action, after)
    select clock(), p_actor, p_action, jsonb_build_object(
        'receiver', id, 'organisation', organisation, 'kind', kind, 'url', url, 'events', events)
    from receiver where id = p_receiver
$$;
