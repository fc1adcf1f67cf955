-- Which settings one run has otherwise than another: how many of each kind, and those from one place on, in the order of
-- their places, with the value and line on either side. Of a key that its stanza sets several times, the last setting counts.
-- Its cost grows with the two runs and nothing else. Reads only.
create or replace function holdfast.diff_configs(p_run bigint, p_other bigint, p_first integer, p_limit integer)
returns table (added bigint, removed bigint, changed bigint, changes jsonb)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    with difference as materialized (
        select case when o.key is null then 'added' when n.key is null then 'removed' else 'changed' end as change,
               source_path, stanza, key, o.value as old_value, o.line as old_line, n.value as new_value, n.line as new_line
        from effective_settings(p_run) o
        full join effective_settings(p_other) n using (source_path, stanza, key)
        where o.value is distinct from n.value
    )
    select count(*) filter (where change = 'added'), count(*) filter (where change = 'removed'),
           count(*) filter (where change = 'changed'),
           (select coalesce(jsonb_agg(to_jsonb(p) order by p.source_path, p.stanza, p.key), '[]')
            from (select * from difference order by source_path, stanza, key offset p_first limit p_limit) p)
    from difference
$$;

-- The setting that counts for every key of every stanza of a run.
create or replace function holdfast.effective_settings(p_run bigint)
returns table (source_path text, stanza text, key text, value text, line integer)
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select distinct on (s.file_number, s.number, t.key) s.source_path, s.name, t.key, t.value, t.line
    from config_stanza s
    -- In the order of the index: a plan made while the tables were empty might read the whole run for every stanza.
    cross join lateral (
        select c.line, c.key, c.value
        from config_setting c
        where c.document_id = p_run and c.file_number = s.file_number and c.stanza_number = s.number
        order by c.document_id, c.file_number, c.stanza_number, c.line
    ) t
    where s.document_id = p_run
    order by s.file_number, s.number, t.key, t.line desc
$$;

grant execute on function
    holdfast.diff_configs(bigint, bigint, integer, integer), holdfast.effective_settings(bigint)
to holdfast_api, holdfast_readonly;
