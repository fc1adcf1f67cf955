-- I17: a job belongs to its document's organisation. Costs one pass over documents and jobs.
select j.id
from holdfast.pipeline_job j
left join holdfast.document d on d.id = j.document_id
where d.organisation is distinct from j.organisation
