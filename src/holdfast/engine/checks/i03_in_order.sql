-- I3: a phase is opened only after the one before it completed. Judged by the declaration in force, so only where the
-- move before was made under it (a minute after it was registered nobody works by an older one); jobs leave a retired
-- phase without completing it. Costs a sort of attempts and live jobs.
with opening as (
    select job_id, pipeline, run, phase, token, outcome, ended_at
    from holdfast.pipeline_phase
    union all
    select id, pipeline, run, phase, token + (state <> 'working')::integer, null, null
    from holdfast.pipeline_job
    where state not in ('done', 'deadletter', 'cancelled')
),
move as (
    select job_id, pipeline, run, phase, token,
           lag(run) over job as left_run,
           lag(phase) over job as left_phase,
           lag(outcome) over job as left_outcome,
           lag(ended_at) over job as left_at
    from opening
    window job as (partition by job_id order by token)
)
select distinct m.job_id as id
from move m
join holdfast.pipeline l on l.name = m.pipeline
join holdfast.phase opened on opened.pipeline = m.pipeline and opened.name = m.phase
join holdfast.pipeline_job j on j.id = m.job_id
left join holdfast.phase left_one on left_one.pipeline = m.pipeline and left_one.name = m.left_phase
where coalesce(m.left_at, j.submitted_at) > l.registered_at + interval '1 minute'
  and (m.left_run is null or (m.left_run = m.run and m.left_phase <> m.phase))
  -- What was taken over goes on where it stood.
  and not (m.left_run is null and exists (select from holdfast.taken_row t where t.document_id = j.document_id))
  and (
      (m.left_outcome <> 'completed' and left_one.retired_at is null)
      or opened.position <= left_one.position
      or exists (
          select from holdfast.phase f
          where f.pipeline = m.pipeline and f.retired_at is null
            and f.position > coalesce(left_one.position, -1) and f.position < opened.position
            and not exists (
                select from holdfast.pipeline_phase a
                where a.job_id = m.job_id and a.run = m.run and a.phase = f.name and a.outcome = 'completed'
                  and a.token < m.token
            )
      )
  )
