-- The organisation that this transaction was confined to by `holdfast.organisation`; null: it was not.
create or replace function holdfast.confined_to() returns text
language sql stable as $$
    select nullif(current_setting('holdfast.organisation', true), '')
$$;

-- Whether this transaction may touch what belongs to an organisation. Functions with their owner's rights ask, because
-- they pass the walls of the tables.
create or replace function holdfast.is_own(p_organisation text) returns boolean
language sql stable as $$
    select coalesce(holdfast.confined_to(), p_organisation) is not distinct from p_organisation
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
