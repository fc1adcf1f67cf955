-- Every worker known, the newest first: alive, silent (no heartbeat for 15 s), lost or stopped; and what it has in hand.
create or replace function holdfast.overview_workers()
returns table (worker_id text, condition text, host text, pid integer, lanes jsonb, working bigint, started_at timestamptz,
               seen_at timestamptz, ended_at timestamptz)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    select w.id,
           case when w.stopped_at is not null then 'stopped' when w.lost_at is not null then 'lost'
                when w.seen_at < clock() - interval '15 seconds' then 'silent' else 'alive' end,
           w.host, w.pid, w.lanes, (select count(*) from pipeline_job j where j.worker_id = w.id and j.state = 'working'),
           w.started_at, w.seen_at, coalesce(w.stopped_at, w.lost_at)
    from worker w
    order by w.started_at desc, w.id
$$;

grant execute on function holdfast.overview_workers() to holdfast_api, holdfast_readonly;
