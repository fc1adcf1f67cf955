-- I17: a child belongs to its parent's organisation. Costs a look-up per child.
select c.id
from holdfast.document c
left join holdfast.document p on p.id = c.parent_id
where c.parent_id is not null
  and p.organisation is distinct from c.organisation
