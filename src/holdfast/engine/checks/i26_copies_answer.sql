-- I26: a copy answers with what was made of its original as soon as that does. Costs an index scan of copies.
select c.id
from holdfast.document c
join holdfast.document o on o.id = c.duplicate_of
where c.duplicate_of is not null and c.superseded_at is null and c.deleted_at is null
  and o.searchable_at is not null
  and (c.searchable_at is null or c.generation_id is distinct from o.generation_id)
