-- Announces a worker; again under the same id only renews it. An id that has stopped is used up: take a new one.
create or replace function holdfast.register_worker(p_worker text, p_host text, p_pid integer, p_lanes jsonb default '[]')
returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    insert into worker (id, host, pid, lanes, started_at, seen_at, in_touch_since)
    values (p_worker, p_host, p_pid, p_lanes, clock(), clock(), clock())
    on conflict (id) do update
    set seen_at = excluded.seen_at, in_touch_since = excluded.in_touch_since, lanes = excluded.lanes, lost_at = null,
        heartbeat_number = 0
    where worker.stopped_at is null;
    if not found then
        raise exception 'worker "%" has stopped: register under a new id', p_worker
            using errcode = 'HF409';
    end if;
exception
    when not_null_violation or check_violation then
        raise exception 'worker "%" cannot be registered: %', left(p_worker, 50), sqlerrm
            using errcode = 'HF400', hint = 'name it in 1 to 255 characters and say on which host and as which process it runs';
end $$;

-- A worker's orderly end; what it still holds is taken back by the next sweep.
create or replace function holdfast.stop_worker(p_worker text) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    update worker set stopped_at = clock() where id = p_worker and stopped_at is null
$$;
