-- What a fair queue and an exact budget need to know, and how often the queue's tables are vacuumed.
set local role holdfast_owner;

-- The day that was being spent when the time zone changed, and how long it goes on.
alter table holdfast.budget
    add column kept_day date,
    add column kept_until timestamptz,
    add constraint kept_day_ends check ((kept_day is null) = (kept_until is null));

-- The attempt that paid; answers kept before this was noted have none.
alter table holdfast.paid_answer
    add column job_id bigint,
    add column token bigint;

-- Of thousands of holds a claim looks at those of the organisations it meets, and at those that are over.
create index hold_organisation on holdfast.hold (organisation) where drained_at is null;
create index hold_over on holdfast.hold ((case when released_at is null then until else '-infinity'::timestamptz end))
    where drained_at is null;

-- A share of all rows alone means for every few rows of a small table, and for millions of a large one whose queue is short.
alter table holdfast.pipeline_job set (
    autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.001,
    autovacuum_vacuum_insert_threshold = 10000, autovacuum_vacuum_insert_scale_factor = 0.01,
    autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.01);
alter table holdfast.document set (
    autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.005,
    autovacuum_vacuum_insert_threshold = 10000, autovacuum_vacuum_insert_scale_factor = 0.01,
    autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.02);
alter table holdfast.pipeline_phase set (
    autovacuum_vacuum_insert_threshold = 10000, autovacuum_vacuum_insert_scale_factor = 0.01,
    autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.02);
alter table holdfast.budget_entry set (
    autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.005);

-- Their successors are asked otherwise.
drop function if exists holdfast.pick(text, text, text, text, integer, text, timestamptz);
drop function if exists holdfast.park(bigint[], bigint[]);
drop function if exists holdfast.pick_suspect(text, text, text, bigint[]);
drop function if exists holdfast.submit_known(holdfast.phase, jsonb, double precision, timestamptz);
drop function if exists holdfast.submit_again(holdfast.phase, holdfast.document, jsonb, double precision, timestamptz);
drop function if exists holdfast.keep_answer(text, bigint, text, jsonb, numeric);
drop function if exists holdfast.next_budget_day(text);

reset role;
