-- Which of a worker's heartbeats was the last: one that was overtaken on its way says nothing about now. And which of its jobs have
-- ended and wait to be written: no limit counts for these.
set local role holdfast_owner;

alter table holdfast.worker
    add column heartbeat_number bigint not null default 0,
    add column ended_jobs bigint[] not null default '{}';

-- Whether a phase pays someone whom it does not name: then what an attempt cost that was broken off is unknown.
alter table holdfast.phase add column paid boolean not null default false;

-- Their successors are asked otherwise.
drop function if exists holdfast.heartbeat(text, jsonb, boolean, double precision);
drop function if exists holdfast.lock_budgets_and_holds(bigint[], bigint[]);

reset role;
