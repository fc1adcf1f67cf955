-- I26: what answers searches is there: the chunks of its generation, from the first to the last that its run made, and nobody is
-- about to remove them. Costs an index scan of searchable documents, with some look-ups for each.
select d.id
from holdfast.document d
cross join lateral (
    select (a.output ->> 'chunks')::integer as chunks
    from holdfast.pipeline_phase a
    where a.job_id = d.generation_id and a.outcome = 'completed' and a.output ? 'chunks'
    order by a.token desc
    limit 1
) made
where d.searchable_at is not null and d.superseded_at is null and d.deleted_at is null
  and made.chunks > 0
  and (not exists (select from holdfast.chunk c where c.generation_id = d.generation_id and c.ordinal = 0)
       or not exists (select from holdfast.chunk c where c.generation_id = d.generation_id and c.ordinal = made.chunks - 1))
