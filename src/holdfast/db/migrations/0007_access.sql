-- Who may come in from outside, and the walls between organisations: a tenant sees its own rows even if a query forgets.
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

-- Everyone else is kept to what the functions and grants allow; for them the wall costs nothing, the planner drops it.
do $walls$
declare
    table_name text;
begin
    foreach table_name in array array['document', 'pipeline_job', 'pipeline_phase', 'artifact', 'artifact_use', 'chunk', 'entity',
                                      'entity_mention', 'relation', 'hold'] loop
        execute format('alter table holdfast.%I enable row level security', table_name);
        execute format('alter table holdfast.%I force row level security', table_name);
        execute format('create policy trusted on holdfast.%I to holdfast_owner, holdfast_worker, holdfast_api, holdfast_readonly'
                       ' using (true) with check (true)', table_name);
        execute format('create policy own on holdfast.%I for select to holdfast_tenant'
                       ' using (organisation = current_setting(''holdfast.organisation'', true))', table_name);
    end loop;
    -- What holds everyone holds a tenant too, and it may know why it waits.
    create policy everyones on holdfast.hold for select to holdfast_tenant using (organisation is null);
end
$walls$;

reset role;
