-- Locks jobs to mend. Those a live worker holds are left alone, and those locked by others are for another time.
select j.id
from holdfast.pipeline_job j
where j.id = any ($1::bigint[])
  and (
      j.state <> 'working'
      or not exists (
          select from holdfast.worker w
          where w.id = j.worker_id and w.lost_at is null and w.stopped_at is null
            and w.seen_at >= holdfast.clock() - interval '30 seconds'
      )
  )
order by j.id
for update skip locked
