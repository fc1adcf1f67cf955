-- Databases of the older kind, taken over: what was read there, what became of it, and who carries which document meanwhile.
set local role holdfast_owner;

-- A job may have patience of its own, and may still be carried by the old installation: then it is shown here and nobody
-- claims it.
alter table holdfast.pipeline_job
    add column policy text references holdfast.policy,   -- null: its phase's
    add column flow text not null default 'new' check (flow in ('new', 'old')),
    add constraint old_flow_is_only_shown check (
        flow = 'new' or (state in ('held', 'failed', 'done', 'deadletter') and ready_at is null and hold_id is null)
    );

-- What the old installation does to a document of its own is not for us to refuse.
create or replace trigger refuse_illegal_move before update on holdfast.pipeline_job for each row
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
        and old.flow = 'new'
    )
)
execute function holdfast.refuse_illegal_move();

create table holdfast.takeover (
    id bigint generated always as identity primary key,
    source text not null,        -- which database, without any password
    table_name text not null,
    columns jsonb not null,      -- field -> column
    pipeline text not null references holdfast.pipeline,
    organisation text not null,  -- of rows that name none
    share smallint not null default 100 check (share between 0 and 100),
    chosen jsonb not null default '{}' check (jsonb_typeof(chosen) = 'object'),   -- key -> flow, whatever the share says
    first_vtime double precision not null,
    turns bigint not null default 0,    -- places in the fair order given so far
    cursor text,                        -- the pass under way has read up to this key
    started_at timestamptz not null,
    finished_at timestamptz,            -- the last pass has read every row
    undone_at timestamptz
);
create unique index takeover_in_force on holdfast.takeover (source, table_name) where undone_at is null;

-- The backup: every row as it was when it was last read.
create table holdfast.taken_row (
    takeover_id bigint not null references holdfast.takeover,
    key text not null,
    flow text check (flow in ('new', 'old')),   -- null: left where it is
    document_id bigint references holdfast.document,
    job_id bigint,
    original_status text,
    original_state text,
    retry_count integer not null default 0,     -- what the job began with
    reason text,                                -- why it was left, or stays with the old flow
    row_before json not null,                   -- its text is kept as it came
    read_at timestamptz not null,
    changed_at timestamptz,                     -- since Holdfast carries it, the old installation has changed it …
    changed_status text,                        -- … to this status
    gone_at timestamptz,                        -- no longer in the old table
    let_go_at timestamptz,                      -- undone, but what is left of its document stays
    primary key (takeover_id, key),
    check ((flow is null) = (document_id is null) and (flow is null) = (job_id is null))
);
create unique index taken_row_document on holdfast.taken_row (document_id) where document_id is not null;

reset role;
