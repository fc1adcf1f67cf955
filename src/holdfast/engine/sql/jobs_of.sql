-- Every job a document ever had. Asked state by state, because each state has an index of its own and the hot path
-- pays for none that covers them all.
create or replace function holdfast.jobs_of(p_document bigint) returns setof holdfast.pipeline_job
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select j.* from pipeline_job j
    where j.document_id = p_document and j.state not in ('done', 'deadletter', 'cancelled')
    union all
    select j.* from phase p
    join pipeline_job j on j.pipeline = p.pipeline and j.phase = p.name and j.document_id = p_document
                       and j.state in ('deadletter', 'cancelled')
    union all
    select j.* from pipeline_status s
    join pipeline_job j on j.pipeline = s.pipeline and j.status = s.status and j.document_id = p_document
                       and j.state = 'done'
$$;

grant execute on function holdfast.jobs_of(bigint) to holdfast_api, holdfast_readonly;
