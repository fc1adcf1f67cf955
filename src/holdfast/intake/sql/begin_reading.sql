-- A number for a reader that begins at some location: of what is read there, the reading that began last is the newest version,
-- whenever it is submitted. What comes without such a number is numbered when it is submitted.
create or replace function holdfast.begin_reading() returns bigint
language sql volatile security definer set search_path = holdfast, pg_temp as $$
    select nextval('version_number')
$$;
