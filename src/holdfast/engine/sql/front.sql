-- The virtual time a pipeline's queue has reached: nobody who arrives now may stand before it. The least of all queued
-- jobs, found by one look at the index per phase and priority: an urgent job far back does not move the front.
create or replace function holdfast.front(p_pipeline text) returns double precision
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
    with recursive head as (
        select ph.name as phase, 32768 as priority, 'infinity'::double precision as vtime
        from phase ph
        where ph.pipeline = p_pipeline
        union all
        select h.phase, j.priority::integer, j.vtime
        from head h
        cross join lateral (
            select q.priority, q.vtime
            from pipeline_job q
            where q.pipeline = p_pipeline and q.phase = h.phase and q.state = 'queued' and q.crash_count < 2
              and q.priority < h.priority
            order by q.priority desc, q.vtime, q.id
            limit 1
        ) j
    )
    select greatest(p.front, (select nullif(min(vtime), 'infinity') from head))
    from pipeline p
    where p.name = p_pipeline
$$;
