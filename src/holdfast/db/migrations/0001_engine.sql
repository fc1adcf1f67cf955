-- The engine's records. Everything belongs to holdfast_owner, a role nobody logs in as.

do $roles$
declare
    role_name text;
begin
    foreach role_name in array array['holdfast_owner', 'holdfast_worker', 'holdfast_api', 'holdfast_readonly'] loop
        begin
            execute format('create role %I nologin', role_name);
        exception
            -- Roles are shared by all databases of a server; another one may be creating them right now.
            when duplicate_object or unique_violation then null;
        end;
    end loop;
    if not pg_has_role(current_user, 'holdfast_owner', 'usage')
       or not pg_has_role(current_user, 'holdfast_owner', 'member') then
        execute format('grant holdfast_owner to %I', current_user);
    end if;
end
$roles$;

create schema if not exists holdfast;
alter schema holdfast owner to holdfast_owner;
set local role holdfast_owner;

-- ---------------------------------------------------------------------------------------------------------------------
-- Declarations: pipelines and policies are rows, so that functions read them and operators can change patience live.
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.policy (
    name text primary key,
    two_level boolean not null default false,   -- failures also count on the document, across jobs
    declaration jsonb not null
);

create table holdfast.policy_rule (
    policy text not null references holdfast.policy on delete cascade,
    category text not null,
    charged boolean not null default true,
    max_retries integer check (max_retries >= 0),        -- null: without end; 0: permanent
    document_limit integer check (document_limit > 0),   -- failures a document may have; null: any number
    wait_seconds double precision[] not null default '{}' check (0 <= all (wait_seconds)),
    jitter double precision not null default 0 check (jitter between 0 and 1),
    holds text check (holds in ('retry_after', 'budget_day', 'release')),
    hold_seconds double precision check (hold_seconds > 0),   -- a hold even when no Retry-After came
    primary key (policy, category)
);

create table holdfast.pipeline (
    name text primary key check (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    version integer not null check (version > 0),
    starts text not null,
    front double precision not null default 0,   -- virtual time the queue has reached
    declaration jsonb not null,
    registered_at timestamptz not null
);

-- A phase that left the declaration stays here, retired, placed behind the last phase before it that is still declared:
-- "the next phase" of a job under way is then the same rule for all.
create table holdfast.phase (
    pipeline text not null references holdfast.pipeline,
    name text not null check (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    position integer not null check (position >= 0),
    retired_at timestamptz,
    resumes_from text not null,
    queued_status text not null,
    working_status text not null,
    done_status text not null,
    component text not null,
    policy text not null references holdfast.policy,
    limit_seconds double precision not null check (limit_seconds > 0),
    provider text,
    budget text,
    primary key (pipeline, name)
);

create table holdfast.pipeline_status (
    pipeline text not null references holdfast.pipeline,
    status text not null,
    progress smallint not null check (progress between -1 and 100),
    primary key (pipeline, status)
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Operators' acts
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    actor text not null,
    action text not null,
    job_id bigint,
    reason text,
    before jsonb,
    after jsonb,
    unique (job_id, id)
);

create table holdfast.hold (
    id bigint generated always as identity primary key,
    provider text,
    organisation text,
    pipeline text,
    phase text,
    budget text,
    until timestamptz not null,
    reason text not null,
    needs_usd numeric,
    created_at timestamptz not null,
    created_by text not null,
    released_at timestamptz,
    released_by text,
    drained_at timestamptz,   -- over, and no job waits for it any more
    check (num_nonnulls(provider, organisation, pipeline, phase, budget) > 0)
);
create unique index hold_scope on holdfast.hold (provider, organisation, pipeline, phase, budget)
    nulls not distinct where drained_at is null;

-- ---------------------------------------------------------------------------------------------------------------------
-- What it is
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.document (
    id bigint generated by default as identity primary key,
    organisation text not null check (length(organisation) between 1 and 255),
    source_name text not null,
    source_platform text not null default 'upload',
    source_location text,
    content_hash text check (length(content_hash) between 1 and 255),
    duplicate_of bigint references holdfast.document,
    parent_id bigint references holdfast.document,
    idempotency_key text check (length(idempotency_key) between 1 and 255),
    metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    failure_state text check (failure_state in ('pending', 'success', 'permanent_failure')),
    failure_count integer not null default 0 check (failure_count >= 0),
    failures jsonb not null default '{}',   -- charged failures by category
    last_failure jsonb,
    cool_down_until timestamptz,
    created_at timestamptz not null
);
create unique index document_content on holdfast.document (organisation, content_hash)
    where duplicate_of is null and content_hash is not null;
create unique index document_idempotency on holdfast.document (organisation, idempotency_key)
    where idempotency_key is not null;
create index document_metadata on holdfast.document using gin (metadata jsonb_path_ops);
create index document_parent on holdfast.document (parent_id) where parent_id is not null;
create index document_organisation on holdfast.document (organisation, id);
create index document_platform on holdfast.document (source_platform, id);

-- ---------------------------------------------------------------------------------------------------------------------
-- Where it stands; also the queue entry
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.pipeline_job (
    id bigint generated by default as identity primary key,
    document_id bigint not null references holdfast.document,
    organisation text not null,
    pipeline text not null,
    phase text not null,
    run integer not null default 1 check (run > 0),
    status text not null,
    state text not null check (state in ('queued', 'working', 'failed', 'held', 'done', 'deadletter', 'cancelled')),
    priority smallint not null default 0,
    vtime double precision not null,
    token bigint not null default 0 check (token >= 0),
    worker_id text,
    started_at timestamptz,
    progress real check (progress between 0 and 1),
    progress_at timestamptz,
    ready_at timestamptz,               -- a retry or a cool-down is over
    hold_id bigint references holdfast.hold,
    retry_count integer not null default 0 check (retry_count >= 0),
    max_retries integer not null default 3 check (max_retries >= 0),
    crash_count integer not null default 0 check (crash_count >= 0),
    last_retry_at timestamptz,
    retry_reason text,
    error_code text,
    error_meta jsonb,
    last_error jsonb,
    retried_phase_id bigint,            -- the attempt that the next one retries
    input jsonb,
    total_cost_usd numeric not null default 0 check (total_cost_usd >= 0),
    submitted_at timestamptz not null,
    queued_at timestamptz,
    finished_at timestamptz,
    audit_id bigint,
    foreign key (id, audit_id) references holdfast.audit_log (job_id, id),
    constraint working_has_worker_and_start check (
        (state = 'working') = (worker_id is not null)
        and (state = 'working') = (started_at is not null)
        and (state <> 'working' or token > 0)
    ),
    constraint only_waiting_jobs_wait check (
        (ready_at is null or state in ('failed', 'held')) and (hold_id is null or state = 'held')
    )
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

create unique index pipeline_job_live on holdfast.pipeline_job (document_id, pipeline)
    where state not in ('done', 'deadletter', 'cancelled');
create index pipeline_job_done on holdfast.pipeline_job (pipeline, status, document_id, id) where state = 'done';
create index pipeline_job_ended on holdfast.pipeline_job (pipeline, phase, document_id, id)
    where state in ('deadletter', 'cancelled');
-- Carries queued_at, so that counting a queue and finding its oldest job never touches the table.
create index pipeline_job_ready on holdfast.pipeline_job (pipeline, phase, priority desc, vtime, id) include (queued_at)
    where state = 'queued' and crash_count < 2;
create index pipeline_job_suspect on holdfast.pipeline_job (pipeline, phase, priority desc, vtime, id)
    where state = 'queued' and crash_count >= 2;
create index pipeline_job_working on holdfast.pipeline_job (worker_id) where state = 'working';
create index pipeline_job_due on holdfast.pipeline_job (ready_at) where state in ('failed', 'held') and ready_at is not null;
create index pipeline_job_held on holdfast.pipeline_job (hold_id) where state = 'held';
create index pipeline_job_failed on holdfast.pipeline_job ((last_error ->> 'component'), id) where state = 'failed';
create index pipeline_job_retryable on holdfast.pipeline_job ((last_error ->> 'retryable'), id) where state = 'failed';
create index pipeline_job_deadletter on holdfast.pipeline_job (id) where state = 'deadletter';
create index pipeline_job_troubled on holdfast.pipeline_job (pipeline, phase, state)
    where state in ('failed', 'held', 'deadletter');

-- ---------------------------------------------------------------------------------------------------------------------
-- What happened: one row per finished attempt, insert only
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.pipeline_phase (
    id bigint generated always as identity primary key,
    job_id bigint not null references holdfast.pipeline_job,
    document_id bigint not null,
    organisation text not null,
    pipeline text not null,
    phase text not null,
    run integer not null,
    token bigint not null,
    parent_phase_id bigint references holdfast.pipeline_phase,
    outcome text not null check (outcome in ('completed', 'failed', 'timeout', 'lost', 'released', 'cancelled')),
    attempt integer not null,
    worker_id text not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    input jsonb,
    output jsonb,
    category text,
    error jsonb,
    cost_usd numeric not null default 0 check (cost_usd >= 0),
    unique (job_id, token),
    check ((outcome = 'completed') = (error is null))
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
create unique index pipeline_phase_completed on holdfast.pipeline_phase (job_id, run, phase) where outcome = 'completed';
create index pipeline_phase_ended on holdfast.pipeline_phase (ended_at);
create index pipeline_phase_failed on holdfast.pipeline_phase (ended_at) where outcome <> 'completed';
create index pipeline_phase_paid on holdfast.pipeline_phase (ended_at) where cost_usd > 0;
create index pipeline_phase_retry on holdfast.pipeline_phase (ended_at) where parent_phase_id is not null;
create index pipeline_phase_parent on holdfast.pipeline_phase (parent_phase_id) where parent_phase_id is not null;

-- ---------------------------------------------------------------------------------------------------------------------
-- Workers, fair order, money, errors
-- ---------------------------------------------------------------------------------------------------------------------

create table holdfast.worker (
    id text primary key check (length(id) between 1 and 255),
    host text not null,
    pid integer not null,
    lanes jsonb not null default '[]',
    started_at timestamptz not null,
    seen_at timestamptz not null,
    lost_at timestamptz,
    stopped_at timestamptz
) with (fillfactor = 50);

create table holdfast.organisation (
    name text primary key,
    weight double precision not null default 1 check (weight > 0)
);

-- Where an organisation's next job would stand. Several rows per organisation exist only while several transactions
-- submit for it at once: each takes a row of its own, so that nobody waits for another's commit.
create table holdfast.fair_share (
    id bigint generated always as identity primary key,
    pipeline text not null,
    organisation text not null,
    last_vtime double precision not null
) with (fillfactor = 50);
create index fair_share_organisation on holdfast.fair_share (pipeline, organisation);

create sequence holdfast.last_wake minvalue 0 start 0;

create table holdfast.budget (
    id bigint generated always as identity primary key,
    name text not null,
    organisation text,   -- null: shared by all that have none of their own
    daily_limit_usd numeric not null default 5 check (daily_limit_usd >= 0),
    time_zone text not null default 'UTC',
    unique nulls not distinct (name, organisation)
);

create table holdfast.budget_day (
    budget_id bigint not null references holdfast.budget,
    day date not null,
    limit_usd numeric not null check (limit_usd >= 0),
    reserved_usd numeric not null default 0 check (reserved_usd >= 0),
    spent_usd numeric not null default 0 check (spent_usd >= 0),
    overrun_usd numeric not null default 0 check (overrun_usd >= 0),   -- billed beyond what was reserved and left
    refusals integer not null default 0 check (refusals >= 0),
    primary key (budget_id, day),
    constraint budget_is_never_passed check (reserved_usd + spent_usd <= limit_usd)
) with (fillfactor = 50);

create table holdfast.budget_entry (
    job_id bigint not null references holdfast.pipeline_job,
    token bigint not null,
    budget_id bigint not null,
    day date not null,
    reserved_usd numeric not null check (reserved_usd >= 0),   -- back to 0 when settled
    spent_usd numeric not null default 0 check (spent_usd >= 0),
    overrun_usd numeric not null default 0 check (overrun_usd >= 0),
    settled_at timestamptz,
    primary key (job_id, token),
    foreign key (budget_id, day) references holdfast.budget_day
);
create index budget_entry_day on holdfast.budget_entry (budget_id, day);

-- An operators' table: other roles reach it through functions only.
create table holdfast.error_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    organisation text,
    document_id bigint,
    job_id bigint,
    pipeline text,
    phase text,
    platform text,
    component text,
    category text not null,
    error_type text,
    error_code text,
    message text not null check (length(message) <= 1000),
    attempt integer,
    charged boolean,
    fingerprint text not null
);
create index error_log_at on holdfast.error_log (at);
create index error_log_fingerprint on holdfast.error_log (fingerprint, at);
create index error_log_document on holdfast.error_log (document_id, at);

create table holdfast.maintenance (
    only_row boolean primary key default true check (only_row),
    cleaned_at timestamptz not null default '-infinity'
);
insert into holdfast.maintenance default values;

-- ---------------------------------------------------------------------------------------------------------------------
-- What the database refuses. A row trigger's WHEN is evaluated without calling a function, so a legal move costs nothing.
-- ---------------------------------------------------------------------------------------------------------------------

create function holdfast.refuse_illegal_move() returns trigger language plpgsql as $$
begin
    if new.token < old.token then
        raise exception 'job % may not go back from token % to %', old.id, old.token, new.token using errcode = 'HF409';
    end if;
    raise exception 'job % may not go from % to %', old.id, old.state, new.state
        using errcode = 'HF409',
              hint = case when old.state in ('deadletter', 'cancelled')
                          then 'reopen it with holdfast.retry or holdfast.reset, which write the audit log'
                          else 'move jobs through the functions of schema holdfast only' end;
end $$;

create trigger refuse_illegal_move before update on holdfast.pipeline_job for each row
when (
    new.token < old.token
    or (
        new.state <> old.state
        and old.state || ' ' || new.state <> all (array[
            'queued working', 'queued failed', 'queued done', 'queued held', 'queued cancelled',
            'working queued', 'working done', 'working failed', 'working held', 'working deadletter', 'working cancelled',
            'failed queued', 'failed done', 'failed deadletter', 'failed cancelled',
            'held queued', 'held cancelled'
        ])
        and not (
            -- The foreign key of audit_id proves that the reopening of this very job is on record.
            old.state in ('deadletter', 'cancelled') and new.state = 'queued'
            and new.audit_id is not null and new.audit_id > coalesce(old.audit_id, 0)
        )
    )
)
execute function holdfast.refuse_illegal_move();

create function holdfast.refuse_unknown_status() returns trigger language plpgsql
set search_path = holdfast, pg_temp as $$
declare
    stranger record;
begin
    select n.id, n.pipeline, n.phase, n.status,
           exists (select from pipeline_status s where s.pipeline = n.pipeline and s.status = n.status) as status_known
    into stranger
    from written n
    where not exists (select from pipeline_status s where s.pipeline = n.pipeline and s.status = n.status)
       or not exists (select from phase p where p.pipeline = n.pipeline and p.name = n.phase)
    limit 1;
    if found and not stranger.status_known then
        raise exception 'pipeline "%" has no status "%" (job %)', stranger.pipeline, stranger.status, stranger.id
            using errcode = 'HF400', hint = 'see holdfast.pipeline_status for the ones it has';
    elsif found then
        raise exception 'pipeline "%" has no phase "%" (job %)', stranger.pipeline, stranger.phase, stranger.id
            using errcode = 'HF400', hint = 'see holdfast.phase for the ones it has';
    end if;
    return null;
end $$;

create trigger refuse_unknown_status_on_insert after insert on holdfast.pipeline_job
referencing new table as written for each statement execute function holdfast.refuse_unknown_status();
create trigger refuse_unknown_status_on_update after update on holdfast.pipeline_job
referencing new table as written for each statement execute function holdfast.refuse_unknown_status();

create function holdfast.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only: % refused', tg_table_name, lower(tg_op) using errcode = 'HF409';
end $$;

create trigger refuse_change before update on holdfast.pipeline_phase for each row
execute function holdfast.refuse_change();
create trigger refuse_delete before delete on holdfast.pipeline_phase for each row
when (pg_trigger_depth() = 0) execute function holdfast.refuse_change();
create trigger refuse_change before update or delete on holdfast.audit_log for each row
execute function holdfast.refuse_change();

create function holdfast.refuse_foreign_parent() returns trigger language plpgsql
set search_path = holdfast, pg_temp as $$
begin
    if (select organisation from document where id = new.parent_id) is distinct from new.organisation then
        raise exception 'document % of organisation "%" is not in organisation "%": a child belongs to its parent''s',
            new.parent_id, (select organisation from document where id = new.parent_id), new.organisation
            using errcode = 'HF409';
    end if;
    return new;
end $$;
create trigger refuse_foreign_parent before insert or update of parent_id, organisation on holdfast.document
for each row when (new.parent_id is not null) execute function holdfast.refuse_foreign_parent();

create function holdfast.refuse_other_organisation() returns trigger language plpgsql as $$
begin
    raise exception 'document % belongs to organisation "%" for good', old.id, old.organisation using errcode = 'HF409';
end $$;
create trigger refuse_other_organisation before update of organisation on holdfast.document
for each row when (new.organisation is distinct from old.organisation)
execute function holdfast.refuse_other_organisation();

reset role;
