-- I1: a document has one live job per pipeline; names those after the first. Costs a sort of the live jobs.
select id
from (
    select id, row_number() over (partition by document_id, pipeline order by id) as nth
    from holdfast.pipeline_job
    where state not in ('done', 'deadletter', 'cancelled')
) live
where nth > 1
