-- One value for all errors with the same cause: numbers, ids and quoted names in the message do not matter.
create or replace function holdfast.fingerprint(p_component text, p_category text, p_error_type text, p_message text)
returns text language sql immutable as $$
    select md5(concat_ws('|', p_component, p_category, p_error_type,
        regexp_replace(regexp_replace(lower(left(p_message, 1000)), '''[^'']*''|"[^"]*"', '"…"', 'g'),
                       '[0-9a-f]{8}[0-9a-f-]*|[0-9]+', '#', 'g')))
$$;
