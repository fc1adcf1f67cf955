-- I20: nothing ready waits while a capable worker idles. Idle is who, alive, had nothing to do for 30 s; ready is what might
-- have run all that time: no hold ended since. Costs an index scan of recent attempts and of what the idle could take.
with idle as (
    select w.lanes
    from holdfast.worker w
    cross join moment
    where w.lost_at is null and w.stopped_at is null
      and w.seen_at > moment.at - interval '15 seconds' and w.started_at < moment.at - interval '30 seconds'
      and not exists (select from holdfast.pipeline_job j where j.worker_id = w.id and j.state = 'working')
      and not exists (
          select from holdfast.pipeline_phase a
          where a.worker_id = w.id and a.ended_at > moment.at - interval '30 seconds'
      )
),
lane as (
    select distinct l.pipeline, l.phase
    from idle
    cross join lateral jsonb_to_recordset(idle.lanes) as l(pipeline text, phase text)
)
select j.id
from lane
cross join moment
join holdfast.phase p on p.pipeline = lane.pipeline and p.name = lane.phase
join holdfast.pipeline_job j on j.pipeline = p.pipeline and j.phase = p.name
where ((j.state = 'queued' and j.crash_count < 2 and j.queued_at < moment.at - interval '30 seconds')
       or (j.state in ('failed', 'held') and j.ready_at < moment.at - interval '30 seconds'))
  and not exists (
      select from holdfast.hold h
      where least(h.until, h.released_at) > moment.at - interval '30 seconds'
        and (h.provider is null or h.provider = p.provider) and (h.budget is null or h.budget = p.budget)
        and (h.pipeline is null or h.pipeline = p.pipeline) and (h.phase is null or h.phase = p.name)
        and (h.organisation is null or h.organisation = j.organisation)
  )
