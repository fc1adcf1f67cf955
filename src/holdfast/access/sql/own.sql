-- The organization that this transaction is confined to; null: to none, it may touch all; '': to one that cannot exist, it may touch
-- nothing. Who calls is whoever the role was set to, or else who logged in: within functions with their owner's rights the current
-- user says nothing. The setting confines; it frees nobody, because any caller may set it.
create or replace function holdfast.confined_to() returns text
language sql stable as $$
    select case
        when current_setting('role') = 'holdfast_tenant' then coalesce(current_setting('holdfast.organisation', true), '')
        when holdfast.is_trusted(case current_setting('role') when 'none' then session_user else current_setting('role')::name end)
        then nullif(current_setting('holdfast.organisation', true), '')
        else ''
    end
$$;

-- Whether a role has the rights of one of ours that see every organization.
create or replace function holdfast.is_trusted(p_role name) returns boolean
language sql stable as $$
    select pg_has_role(p_role, 'holdfast_owner', 'usage') or pg_has_role(p_role, 'holdfast_api', 'usage')
        or pg_has_role(p_role, 'holdfast_worker', 'usage') or pg_has_role(p_role, 'holdfast_readonly', 'usage')
$$;

-- Whether this transaction may touch what belongs to an organisation. Functions with their owner's rights ask, because
-- they pass the walls of the tables.
create or replace function holdfast.is_own(p_organisation text) returns boolean
language sql stable as $$
    select coalesce(holdfast.confined_to(), p_organisation) is not distinct from p_organisation
$$;

-- The same for many rows: whoever asks finds out once what it is confined to, which takes longer than all the rest.
create or replace function holdfast.is_own(p_organisation text, p_confined_to text) returns boolean
language sql immutable as $$
    select coalesce(p_confined_to, p_organisation) is not distinct from p_organisation
$$;

-- Puts up the wall before a table that holds rows of organisations: a tenant reads its own. The others are kept to what grants
-- allow; for them the wall costs nothing, the planner drops it. Idempotent.
create or replace function holdfast.wall_off(p_table regclass) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    if (select relrowsecurity from pg_class where oid = p_table) then
        return;
    end if;
    execute format('alter table %s enable row level security', p_table);
    execute format('alter table %s force row level security', p_table);
    execute format('create policy trusted on %s to holdfast_owner, holdfast_worker, holdfast_api, holdfast_readonly'
                   ' using (true) with check (true)', p_table);
    execute format('create policy own on %s for select to holdfast_tenant'
                   ' using (organisation = current_setting(''holdfast.organisation'', true))', p_table);
end $$;
