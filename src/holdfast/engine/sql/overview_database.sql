-- The database's own figures that tell of trouble before it comes, in one row. The server hides what other roles' sessions do from
-- whoever may not read statistics: hidden_sessions counts them, and the oldest transaction is then the oldest that can be seen, null
-- when none can. "tables" are the three that change most.
create or replace function holdfast.overview_database()
returns table (oldest_transaction_seconds double precision, hidden_sessions bigint, connections_used bigint, connections_max integer,
               database_bytes bigint, oldest_xid_age bigint, live_rows bigint, dead_rows bigint, autovacuumed_at timestamptz,
               tables jsonb)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    with hot as (
        select s.relname as name, s.n_live_tup as live_rows, s.n_dead_tup as dead_rows, s.last_autovacuum as autovacuumed_at,
               t.place
        from unnest(array['document', 'pipeline_job', 'pipeline_phase']) with ordinality as t(name, place)
        join pg_stat_user_tables s on s.schemaname = 'holdfast' and s.relname = t.name
    ),
    rows as (
        select sum(live_rows)::bigint as live, sum(dead_rows)::bigint as dead,
               max(autovacuumed_at) filter (where name = 'pipeline_job') as autovacuumed_at,
               jsonb_agg(to_jsonb(hot) - 'place' order by place) as tables
        from hot
    ),
    session as (
        select a.datname, a.xact_start,
               pg_has_role('pg_read_all_stats', 'usage') or pg_has_role(a.usesysid, 'usage') as visible
        from pg_stat_activity a
        -- What kind a hidden session is, is hidden too.
        where a.datname is not null and coalesce(a.backend_type, 'client backend') = 'client backend' and a.pid <> pg_backend_pid()
    ),
    other as (
        select max(extract(epoch from clock() - s.xact_start)) as oldest_seconds, count(*) filter (where not s.visible) as hidden
        from session s
        where s.datname = current_database()
    )
    select coalesce(o.oldest_seconds, case when o.hidden = 0 then 0 end)::double precision, o.hidden,
           (select count(*) + 1 from session), current_setting('max_connections')::integer,
           case when has_database_privilege(current_database(), 'connect') then pg_database_size(current_database()) end,
           (select age(d.datfrozenxid)::bigint from pg_database d where d.datname = current_database()),
           r.live, r.dead, r.autovacuumed_at, r.tables
    from other o, rows r
$$;

grant execute on function holdfast.overview_database() to holdfast_api, holdfast_readonly;
