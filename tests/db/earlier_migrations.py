# ruff: noqa: E501
"""What earlier texts of some migrations held that the present ones do not, and after which of their lines."""

TAKEN_OUT = {
    "0001_engine.sql": (
        2,
        """do $roles$
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
""",
    ),
    "0004_embeddings.sql": (
        3,
        """do $extension$
begin
    -- A schema of its own: whoever empties "public" would take the vectors along.
    if exists (select from pg_available_extensions where name = 'vector' and installed_version is null) then
        create schema if not exists extensions;
        create extension vector schema extensions;
    end if;
exception
    when insufficient_privilege then
        raise notice 'pgvector is not installed: as a superuser run `create extension vector`';
end
$extension$;

-- Functions act as the owner, who must be able to name the type wherever it was installed.
do $usage$
declare
    v_schema text := (select extnamespace::regnamespace::text from pg_extension where extname = 'vector');
begin
    if v_schema is not null then
        execute format('grant usage on schema %s to holdfast_owner, holdfast_worker, holdfast_api, holdfast_readonly', v_schema);
    end if;
exception
    when insufficient_privilege then
        raise notice 'the roles of Holdfast may not use schema %: as a superuser grant it, unless it is open to all', v_schema;
end
$usage$;

""",
    ),
    "0007_access.sql": (
        1,
        """do $roles$
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

""",
    ),
}
