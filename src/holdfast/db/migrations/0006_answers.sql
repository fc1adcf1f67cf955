-- Answers of paid services, kept at once, so that an attempt that was cut off need not pay for them again.
set local role holdfast_owner;

create table holdfast.paid_answer (
    organisation text not null,
    key text not null check (key ~ '^[0-9a-f]{64}$'),
    document_id bigint not null references holdfast.document,
    answer jsonb not null,
    cost_usd numeric not null check (cost_usd >= 0 and cost_usd < 'infinity'),
    kept_at timestamptz not null,
    primary key (organisation, key)
);
create index paid_answer_document on holdfast.paid_answer (document_id);
create index paid_answer_age on holdfast.paid_answer (kept_at);

reset role;
