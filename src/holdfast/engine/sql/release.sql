-- An operator ends a hold: claims put its jobs back in the queue in batches. Audited. Returns how many were parked behind it.
create or replace function holdfast.release(p_hold_id bigint, p_actor text default holdfast.actor(), p_reason text default null)
returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    update hold set released_at = clock(), released_by = p_actor
    where id = p_hold_id and drained_at is null and released_at is null;
    if not found then
        raise exception 'there is no hold % in force: the holds listed are those that are', p_hold_id using errcode = 'HF404';
    end if;
    insert into audit_log (at, actor, action, reason, before)
    select clock(), p_actor, 'release', p_reason, to_jsonb(h) from hold h where h.id = p_hold_id;
    perform wake();
    return (select count(*) from pipeline_job where hold_id = p_hold_id and state = 'held');
end $$;
