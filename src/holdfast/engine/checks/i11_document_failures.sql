-- I11: a document's failures add up by category, and its state says whether there are any. Costs one pass over documents.
select d.id
from holdfast.document d
where (d.failure_count > 0 or d.failures <> '{}' or d.failure_state = 'pending')
  and (
      d.failure_count is distinct from case jsonb_typeof(d.failures) when 'object' then (
          select coalesce(sum(case jsonb_typeof(c.value) when 'number' then c.value::numeric end), 0)
          from jsonb_each(d.failures) c
      ) end
      or (d.failure_count > 0) <> (coalesce(d.failure_state, 'success') <> 'success')
  )
