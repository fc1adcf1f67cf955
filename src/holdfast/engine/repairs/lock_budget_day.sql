-- Locks budget days to mend. Whoever writes a day's ledger holds its row, so the ledger stands still meanwhile.
select budget_id || '/' || to_char(day, 'YYYY-MM-DD') as id
from holdfast.budget_day
where budget_id || '/' || to_char(day, 'YYYY-MM-DD') = any ($1::text[])
order by budget_id, day
for update skip locked
