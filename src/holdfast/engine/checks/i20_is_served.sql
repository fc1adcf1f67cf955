-- I20: nothing ready waits in a phase that none of the living workers runs. Where nobody lives, all of it was stopped, and everyone
-- knows. Costs an index scan of what waits there.
with living as (
    select w.lanes
    from holdfast.worker w
    cross join moment
    where w.lost_at is null and w.stopped_at is null and w.seen_at > moment.at - interval '30 seconds'
)
select j.id
from holdfast.phase p
cross join moment
join holdfast.pipeline_job j on j.pipeline = p.pipeline and j.phase = p.name
where p.retired_at is null and exists (select from living)
  and not exists (
      select from living
      where living.lanes @> jsonb_build_array(jsonb_build_object('pipeline', p.pipeline, 'phase', p.name))
  )
  and j.state = 'queued' and j.queued_at < moment.at - interval '5 minutes'
