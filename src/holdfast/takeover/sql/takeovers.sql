-- Every takeover, the newest first: what it reads, how far it is, and how many rows are in which flow. Costs a pass over the backup.
-- Whoever is confined to an organisation sees none.
create or replace function holdfast.takeovers()
returns table (takeover_id bigint, source text, table_name text, pipeline text, share integer, reading boolean, taken bigint,
               old_flow bigint, left_behind bigint, started_at timestamptz, finished_at timestamptz, undone_at timestamptz)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select t.id, t.source, t.table_name, t.pipeline, t.share::integer, t.cursor is not null, c.taken, c.old_flow, c.left_behind,
           t.started_at, t.finished_at, t.undone_at
    from takeover t
    cross join lateral (
        select count(*) filter (where r.flow = 'new') as taken, count(*) filter (where r.flow = 'old') as old_flow,
               count(*) filter (where r.flow is null) as left_behind
        from taken_row r
        where r.takeover_id = t.id and r.gone_at is null and r.let_go_at is null
    ) c
    where confined_to() is null
    order by t.id desc
$$;

-- What the backup and the jobs hold, by what the old table says and by where the jobs stand: for comparison with that table.
-- "without_source" are jobs that will run and have nothing to go on with.
create or replace function holdfast.takeover_counts(p_takeover bigint)
returns table (status text, state text, flow text, job_status text, job_state text, reason text, rows bigint, jobs bigint,
               changed bigint, without_source bigint)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select case when r.changed_at is null then r.original_status else r.changed_status end, r.original_state, r.flow, j.status, j.state,
           case when r.flow is distinct from 'new' then r.reason end, count(*), count(j.id), count(r.changed_at),
           count(*) filter (where r.flow = 'new' and j.token = 0 and j.input is null and j.state in ('queued', 'failed'))
    from taken_row r
    left join pipeline_job j on j.id = r.job_id and j.document_id = r.document_id
    where r.takeover_id = p_takeover and r.gone_at is null
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6
$$;

-- Some of the rows that were left where they are, and why.
create or replace function holdfast.left_rows(p_takeover bigint, p_limit integer) returns table (key text, reason text)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select r.key, r.reason from taken_row r
    where r.takeover_id = p_takeover and r.flow is null and r.gone_at is null
    order by r.key
    limit p_limit
$$;

-- Notes what the old installation did to rows that Holdfast carries. Items: key, changed, status.
create or replace function holdfast.note_changed(p_takeover bigint, p_items jsonb) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    update taken_row r
    set changed_at = case when i.changed then clock() end, changed_status = i.status
    from jsonb_to_recordset(p_items) as i(key text, changed boolean, status text)
    where r.takeover_id = p_takeover and r.key = i.key and r.flow = 'new'
$$;

-- The keys of rows read before, in pages: whether they are still in the old table is for the caller to find out.
create or replace function holdfast.taken_keys(p_takeover bigint, p_after text, p_limit integer) returns setof text
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select key from taken_row
    where takeover_id = p_takeover and gone_at is null and key > p_after
    order by key
    limit p_limit
$$;

-- Notes that rows are no longer in the old table. What became of them here stays.
create or replace function holdfast.note_gone(p_takeover bigint, p_keys text[]) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    update taken_row set gone_at = clock() where takeover_id = p_takeover and key = any (p_keys)
$$;
