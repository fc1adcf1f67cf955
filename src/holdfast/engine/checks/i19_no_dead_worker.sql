-- I19: nothing stays with a dead worker. A worker is lost after at most 15 s of silence; twice that is granted until a sweep
-- has come by. seen_at stands still once a worker is lost or has stopped. Costs an index scan of working jobs.
select j.id
from holdfast.pipeline_job j
cross join moment
left join holdfast.worker w on w.id = j.worker_id
where j.state = 'working'
  and j.worker_id is not null
  and (w.id is null or w.seen_at < moment.at - interval '30 seconds')
