-- I3: a job is done when its last phase is. Judged by the declaration in force, so only for jobs that ended under it
-- (a minute after it was registered nobody works by an older one). Costs one pass over done jobs, a look-up each.
select j.id
from holdfast.pipeline_job j
join holdfast.pipeline l on l.name = j.pipeline
join holdfast.phase p on p.pipeline = j.pipeline and p.name = j.phase
where j.state = 'done'
  and j.status <> 'duplicate'
  and j.finished_at > l.registered_at + interval '1 minute'
  and p.retired_at is null
  -- What an older installation finished has no attempts here.
  and not exists (select from holdfast.taken_row t where t.document_id = j.document_id and j.token = 0)
  and exists (
      select from holdfast.phase f
      where f.pipeline = j.pipeline and f.retired_at is null and f.position >= p.position
        and not exists (
            select from holdfast.pipeline_phase a
            where a.job_id = j.id and a.run = j.run and a.phase = f.name and a.outcome = 'completed'
        )
  )
