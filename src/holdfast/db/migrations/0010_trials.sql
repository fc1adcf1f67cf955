-- Failures in groups: found by their cause, tried on a few before the rest; and documents found by the words of their name.
set local role holdfast_owner;

-- Indexes are built on the next two functions, so whoever changes one must build its index again.

-- One value for all errors with the same cause: numbers, ids and quoted names in the message do not matter.
create or replace function holdfast.fingerprint(p_component text, p_category text, p_error_type text, p_message text)
returns text language sql immutable as $$
    select md5(concat_ws('|', p_component, p_category, p_error_type,
        regexp_replace(regexp_replace(lower(left(p_message, 1000)), '''[^'']*''|"[^"]*"', '"…"', 'g'),
                       '[0-9a-f]{8}[0-9a-f-]*|[0-9]+', '#', 'g')))
$$;

-- The words of a name; whatever punctuates it parts them. Of a name without end, its beginning: a word too long for the index
-- would be left out.
create function holdfast.name_words(p_name text) returns tsvector language sql immutable as $$
    select to_tsvector('simple', translate(left(p_name, 500), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
$$;

create index pipeline_job_cause on holdfast.pipeline_job (
    holdfast.fingerprint(last_error ->> 'component', last_error ->> 'category', last_error ->> 'error_type', last_error ->> 'error'), id
) where state in ('failed', 'deadletter');
create index document_name on holdfast.document using gin (holdfast.name_words(source_name));

-- A few jobs of many that failed alike, retried first: if they get past where they failed, the rest is retried too.
create table holdfast.trial (
    id bigint generated always as identity primary key,
    organisation text,   -- whose jobs; null: everyone's
    filter jsonb not null,
    first_jobs bigint[] not null check (cardinality(first_jobs) > 0),
    first_tokens bigint[] not null check (cardinality(first_tokens) = cardinality(first_jobs)),   -- what comes after them is the trial
    created_at timestamptz not null,
    created_by text not null,
    reason text,
    state text not null default 'trying' check (state in ('trying', 'passed', 'stopped')),
    reached bigint not null default 0,   -- the rest is retried in the order of its ids, so far up to this one
    retried bigint not null default 0 check (retried >= 0),
    ended_at timestamptz,                -- stopped, or passed and the rest retried
    why text,
    check (case state when 'trying' then ended_at is null when 'stopped' then ended_at is not null else true end)
);
create index trial_open on holdfast.trial (id) where ended_at is null;

reset role;
