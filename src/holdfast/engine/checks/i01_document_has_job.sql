-- I1: a document that was accepted has a job. Costs one pass over documents and jobs.
select d.id
from holdfast.document d
where not exists (select from holdfast.pipeline_job j where j.document_id = d.id)
