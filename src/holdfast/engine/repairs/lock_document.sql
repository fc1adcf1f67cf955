-- Locks documents to mend; those locked by others are for another time.
select id
from holdfast.document
where id = any ($1::bigint[])
order by id
for no key update skip locked
