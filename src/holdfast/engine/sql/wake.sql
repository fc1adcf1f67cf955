-- Wakes idle workers, at most once in 20 ms: a NOTIFY takes a lock at commit that would line up all committers.
-- Whoever is told too little polls. The sequence is a clock that no transaction locks.
create or replace function holdfast.wake() returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_now_ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
    v_since_ms bigint := v_now_ms - (select last_value from last_wake);
begin
    if v_since_ms >= 20 or v_since_ms < 0 then
        perform setval('holdfast.last_wake', v_now_ms);
        perform pg_notify('holdfast', 'work');
    end if;
end $$;
