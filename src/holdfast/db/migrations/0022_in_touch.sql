-- Since when each worker has answered without a gap: a worker that declares another lost must itself have been in touch for as long.
set local role holdfast_owner;

alter table holdfast.worker add column in_touch_since timestamptz;
update holdfast.worker set in_touch_since = seen_at where true;
alter table holdfast.worker alter column in_touch_since set not null;

-- By which what is kept on a worker's disk is known to belong to this database.
insert into holdfast.schema_state (key, checksum) values ('installation', gen_random_uuid()::text);

-- Their successors are asked otherwise.
drop function if exists holdfast.heartbeat(text, jsonb);
drop function if exists holdfast.sweep(double precision);
drop function if exists holdfast.check_timeouts();
drop function if exists holdfast.lock_for_ending(bigint[]);
drop function if exists holdfast.locked_for_ending(bigint[]);

reset role;
