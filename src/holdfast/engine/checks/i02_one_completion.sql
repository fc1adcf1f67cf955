-- I2: at most one completed attempt per job, run and phase. Costs one pass over the completed attempts.
select distinct job_id as id
from (
    select job_id
    from holdfast.pipeline_phase
    where outcome = 'completed'
    group by job_id, run, phase
    having count(*) > 1
) twice
