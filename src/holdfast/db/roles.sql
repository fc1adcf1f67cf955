-- The roles of Holdfast: creates those that are missing and grants what is missing. Safe to repeat, and to run for several
-- databases of one server at once. On PostgreSQL 16 and newer whoever creates a role may not act as it before it is granted.
do $roles$
declare
    c_logins constant text[] := array[{logins}];
    c_graded constant boolean := current_setting('server_version_num')::integer >= 160000;   -- memberships have options
    v_role text;
    v_member text;
begin
    foreach v_role in array array[{roles}] loop
        continue when to_regrole(v_role) is not null;
        begin
            execute format('create role %I nologin', v_role);
        exception
            -- Roles are shared by all databases of a server: another one may have created it just now.
            when duplicate_object or unique_violation then null;
        end;
    end loop;
    for v_role, v_member in
        -- Whoever serves tenants acts as one of them for the length of a transaction.
        values ('holdfast_tenant', 'holdfast_api'), ('holdfast_tenant', 'holdfast_owner')
        union all
        select 'holdfast_owner', login from unnest(c_logins) login
    loop
        continue when pg_has_role(v_member, v_role, case when c_graded then 'set' else 'member' end)
            and (v_role <> 'holdfast_owner' or pg_has_role(v_member, v_role, 'usage'));
        begin
            execute format('grant %I to %I', v_role, v_member) || case when c_graded then ' with inherit true, set true' else '' end;
        exception
            -- "tuple concurrently updated": another database grants the same.
            when unique_violation or internal_error then null;
        end;
    end loop;
end
$roles$;
