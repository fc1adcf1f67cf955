-- replaces bb75f611480493ac2271d3d4baa855a5f495bec79673863502122a0d2daf8096
-- Who may come in from outside: keys, and the role of those who are confined to one organisation.
set local role holdfast_owner;

-- A key's secret is never stored: `key_hash` is its SHA-256, `hint` the beginning that tells keys apart.
create table holdfast.api_key (
    id bigint generated always as identity primary key,
    organisation text check (length(organisation) between 1 and 255),   -- null: every organisation
    name text not null check (length(name) between 1 and 100),
    scope text not null check (scope in ('read', 'write', 'admin')),
    hint text not null,
    key_hash bytea not null unique check (length(key_hash) = 32),
    created_at timestamptz not null,
    created_by text not null,
    last_used_at timestamptz,
    revoked_at timestamptz
);

reset role;
