-- Answers that come later: a phase handed its work to a provider, who calls back.
set local role holdfast_owner;

-- One row per reference of a provider, asked for, answered, or both. An answer may come before the ask is on record.
create table holdfast.awaited_answer (
    id bigint generated always as identity primary key,
    provider text not null check (length(provider) between 1 and 63),
    reference text not null check (length(reference) between 1 and 255),
    job_id bigint references holdfast.pipeline_job,   -- null: it came, and nobody is known to wait for it
    token bigint,                                     -- of the attempt that asked
    run integer,
    phase text,
    asked_at timestamptz,
    deadline timestamptz,
    message_id text check (length(message_id) between 1 and 255),
    outcome text check (outcome in ('completed', 'failed')),
    body jsonb,
    answered_at timestamptz,
    unique (provider, reference),
    unique (job_id, token),
    constraint asked_as_a_whole check (num_nulls(job_id, token, run, phase, asked_at, deadline) in (0, 6)),
    constraint asked_or_answered check (job_id is not null or answered_at is not null),
    constraint answered_with_an_outcome check ((outcome is null) = (answered_at is null))
);
create index awaited_answer_unasked on holdfast.awaited_answer (provider, answered_at) where job_id is null;
create index awaited_answer_deadline on holdfast.awaited_answer (deadline) where job_id is not null;

reset role;
