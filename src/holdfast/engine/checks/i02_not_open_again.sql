-- I2: a job does not wait for, or work on, a phase that this run has completed. Costs a look-up per live job.
select j.id
from holdfast.pipeline_job j
where j.state not in ('done', 'deadletter', 'cancelled')
  and exists (
      select from holdfast.pipeline_phase a
      where a.job_id = j.id and a.run = j.run and a.phase = j.phase and a.outcome = 'completed'
  )
