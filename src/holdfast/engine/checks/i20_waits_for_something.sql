-- I20: what waits, waits for a moment or for a hold that someone will end. Costs an index scan of waiting jobs.
select j.id
from holdfast.pipeline_job j
left join holdfast.hold h on h.id = j.hold_id and h.drained_at is null
where j.ready_at is null
  and j.flow = 'new'   -- the others wait for the old installation
  and ((j.state = 'held' and h.id is null) or (j.state = 'failed' and j.last_error ->> 'retryable' = 'true'))
