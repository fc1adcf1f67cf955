-- I10: what a budget's day has reserved, spent and overrun is the sum of its ledger. Costs one pass over the ledger.
select d.budget_id || '/' || to_char(d.day, 'YYYY-MM-DD') as id
from holdfast.budget_day d
left join (
    select budget_id, day, sum(reserved_usd) as reserved_usd, sum(spent_usd) as spent_usd, sum(overrun_usd) as overrun_usd
    from holdfast.budget_entry
    group by budget_id, day
) e on e.budget_id = d.budget_id and e.day = d.day
where (d.reserved_usd, d.spent_usd, d.overrun_usd)
   <> (coalesce(e.reserved_usd, 0), coalesce(e.spent_usd, 0), coalesce(e.overrun_usd, 0))
