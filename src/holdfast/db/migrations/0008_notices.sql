-- Telling others: who wants to hear of what, what happened, whom it reached, and the alerts that are on.
set local role holdfast_owner;

-- Whom to tell: a webhook, or an address for mail. Rows stay: what happens never waits for, or fails on, one that goes.
-- A webhook's secrets are kept as they are, for they sign: nobody but the owner reads this table.
create table holdfast.receiver (
    id bigint generated always as identity primary key,
    organisation text check (length(organisation) between 1 and 255),   -- null: told of every organisation
    kind text not null check (kind in ('webhook', 'mail')),
    url text not null check (length(url) between 1 and 2000),
    events text[] not null check (cardinality(events) > 0),
    secret text,
    previous_secret text,
    previous_until timestamptz,   -- until then the previous secret signs too
    created_at timestamptz not null,
    created_by text not null,
    disabled_at timestamptz,
    disabled_reason text,
    removed_at timestamptz,
    constraint webhook_signs_until_removed check ((kind = 'webhook' and removed_at is null) = (secret is not null))
);
create unique index receiver_mail on holdfast.receiver (url) where kind = 'mail' and disabled_at is null and removed_at is null;

-- What happened, written in the transaction in which it did. `message_id` is the same for whoever is told, each time.
create table holdfast.notice (
    id bigint generated always as identity primary key,
    message_id uuid not null default gen_random_uuid(),
    at timestamptz not null,
    event text not null,
    organisation text,
    document_id bigint,
    body jsonb not null
);
create index notice_at on holdfast.notice (at);
create index notice_document on holdfast.notice (document_id) where document_id is not null;

-- One notice on its way to one receiver. Whoever delivers takes it for a while and names its token to end it.
create table holdfast.delivery (
    id bigint generated always as identity primary key,
    notice_id bigint not null references holdfast.notice on delete cascade,
    receiver_id bigint not null references holdfast.receiver,
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'given_up')),
    attempts integer not null default 0 check (attempts >= 0),
    next_at timestamptz,
    taken_until timestamptz,
    token bigint not null default 0,
    last_at timestamptz,
    last_status integer,
    last_answer text,
    unique (notice_id, receiver_id),
    check ((state = 'waiting') = (next_at is not null))
) with (fillfactor = 70);
create index delivery_due on holdfast.delivery (receiver_id, next_at) where state = 'waiting';
create index delivery_receiver on holdfast.delivery (receiver_id, id);
create index delivery_not_delivered on holdfast.delivery (state, id) where state <> 'delivered';

-- An alert, from when it went on until it went off. One of a kind and scope can be on.
create table holdfast.incident (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('error_rate', 'stuck_jobs', 'budget_spent', 'dead_letters')),
    scope text not null,
    organisation text,
    opened_at timestamptz not null,
    closed_at timestamptz,
    message text not null,
    figures jsonb not null
);
create unique index incident_open on holdfast.incident (kind, scope, organisation) nulls not distinct where closed_at is null;

alter table holdfast.maintenance add column alerts_checked_at timestamptz not null default '-infinity';
alter table holdfast.hold add column in_force_since timestamptz;

-- Those of the last hour are counted, however many there are.
create index pipeline_job_deadletter_at on holdfast.pipeline_job (finished_at) where state = 'deadletter';

reset role;
