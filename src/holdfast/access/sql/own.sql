-- The organisation that this transaction was confined to by `holdfast.organisation`; null: it was not.
create or replace function holdfast.confined_to() returns text
language sql stable as $$
    select nullif(current_setting('holdfast.organisation', true), '')
$$;

-- Whether this transaction may touch what belongs to an organisation. Functions with their owner's rights ask, because
-- they pass the walls of the tables.
create or replace function holdfast.is_own(p_organisation text) returns boolean
language sql stable as $$
    select coalesce(nullif(current_setting('holdfast.organisation', true), ''), p_organisation) is not distinct from p_organisation
$$;
