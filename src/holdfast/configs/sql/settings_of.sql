-- Settings of a run in their order, after a place (file, stanza, line): file by file, stanza by stanza. A stanza without
-- settings is one row whose key is null. p_file is a path in the archive or the last part of one. Reads only, and no more than
-- it shows: the stanzas come in the order of their key, so that a page ends where its limit is reached.
create or replace function holdfast.settings_of(
    p_run bigint, p_file text, p_stanza text, p_after integer[], p_limit integer)
returns table (file_number integer, stanza_number integer, line integer, source_path text, file text, stanza text, key text,
               value text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
    select s.file_number, s.number, coalesce(t.line, s.line), s.source_path, s.file, s.name, t.key, t.value
    from config_stanza s
    -- In the order of the index: a plan made while the tables were empty might read the whole run for every stanza.
    left join lateral (
        select c.line, c.key, c.value
        from config_setting c
        where c.document_id = p_run and c.file_number = s.file_number and c.stanza_number = s.number
        order by c.document_id, c.file_number, c.stanza_number, c.line
    ) t on true
    where s.document_id = p_run
      and (s.file_number, s.number) >= (p_after[1], p_after[2])
      and (s.file_number, s.number, coalesce(t.line, s.line)) > (p_after[1], p_after[2], p_after[3])
      and (p_stanza is null or s.name = p_stanza)
      and (p_file is null or p_file in (s.file, s.source_path))
    order by s.file_number, s.number, t.line
    limit p_limit
$$;

-- The lines of a run that could not be read, or not as they stand, in their order.
create or replace function holdfast.parse_errors_of(p_run bigint, p_file text, p_limit integer)
returns table (source_path text, line integer, message text, text text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select f.source_path, e.line, e.message, e.text
    from config_parse_error e
    join config_file f on f.document_id = e.document_id and f.number = e.file_number
    where e.document_id = p_run and (p_file is null or p_file in (f.file, f.source_path))
    order by e.file_number, e.line
    limit p_limit
$$;

grant execute on function
    holdfast.settings_of(bigint, text, text, integer[], integer), holdfast.parse_errors_of(bigint, text, integer)
to holdfast_api, holdfast_readonly;
