-- Who may come in from outside: keys, and the role of those who are confined to one organisation.
do $roles$
begin
    begin
        create role holdfast_tenant nologin;
    exception
        -- Roles are shared by all databases of a server; another one may be creating it right now.
        when duplicate_object or unique_violation then null;
    end;
    -- Whoever serves tenants acts as one of them for the length of a transaction.
    if not pg_has_role('holdfast_api', 'holdfast_tenant', 'member') then
        begin
            grant holdfast_tenant to holdfast_api;
        exception
            when unique_violation or internal_error then null;   -- "tuple concurrently updated", by another database
        end;
    end if;
    if not pg_has_role(current_user, 'holdfast_tenant', 'member') then
        execute format('grant holdfast_tenant to %I', current_user);
    end if;
end
$roles$;

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
