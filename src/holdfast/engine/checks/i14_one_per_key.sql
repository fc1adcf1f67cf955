-- I14: one document per organisation and idempotency key; names those after the first. Costs a sort of keyed documents.
select id
from (
    select id, row_number() over (partition by organisation, idempotency_key order by id) as nth
    from holdfast.document
    where idempotency_key is not null
) keyed
where nth > 1
