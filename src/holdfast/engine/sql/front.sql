-- The virtual time a pipeline's queue has passed: nobody who arrives now may stand before it. The least of the jobs queued in
-- phases that are served, found by one look at the index per phase and priority: an urgent job far back does not move it.
create or replace function holdfast.front(p_pipeline text) returns double precision
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
declare
    v_now timestamptz := clock();
begin
    return (
        with recursive head as (
            select ph.name as phase, 32768 as priority, 'infinity'::double precision as vtime
            from phase ph
            where ph.pipeline = p_pipeline and is_served(ph, v_now)
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
        where p.name = p_pipeline);
end $$;

-- Where whoever arrives now with this priority begins: beside those of the same priority who are served. Others do not
-- count: what a hold keeps, what nobody serves or what more urgent jobs keep waiting would let newcomers pass everyone.
create or replace function holdfast.entry_vtime(p_pipeline text, p_priority integer) returns double precision
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
declare
    v_now timestamptz := clock();
    v_holds_exist boolean := exists (select from hold where drained_at is null and organisation is null);
begin
    return (
        -- First who is there, then whether it counts: most phases have nobody waiting.
        with head as materialized (
            select ph, j.vtime
            from phase ph
            cross join lateral (
                select q.vtime
                from pipeline_job q
                where q.pipeline = p_pipeline and q.phase = ph.name and q.state = 'queued' and q.crash_count < 2
                  and q.priority = p_priority::smallint
                order by q.vtime, q.id
                limit 1
            ) j
            where ph.pipeline = p_pipeline
        )
        select greatest(p.front, (
            select min(h.vtime) from head h
            where is_served(h.ph, v_now) and not (v_holds_exist and is_held(h.ph, v_now))))
        from pipeline p
        where p.name = p_pipeline);
end $$;

-- Whether some worker runs a phase, or ran it minutes ago: a restart does not change who waits for whom.
create or replace function holdfast.is_served(p_phase holdfast.phase, p_now timestamptz) returns boolean
language sql stable as $$
    select exists (
        select from holdfast.worker w
        where w.seen_at > p_now - interval '10 minutes'
          and w.lanes @> jsonb_build_array(jsonb_build_object('pipeline', p_phase.pipeline, 'phase', p_phase.name)))
$$;
