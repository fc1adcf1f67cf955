-- I10: no budget's day is negative or passed. Costs one pass over the days.
select budget_id || '/' || to_char(day, 'YYYY-MM-DD') as id
from holdfast.budget_day
where reserved_usd < 0
   or spent_usd < 0
   or reserved_usd + spent_usd > limit_usd
