-- Sets a budget's day to the sums of its ledger. If they pass the limit, the money is gone: the limit follows, as for an
-- operator who sets it below what is spent.
with ledger as (
    select d.budget_id, d.day, to_jsonb(d) as before,
           coalesce(sum(e.reserved_usd), 0) as reserved_usd,
           coalesce(sum(e.spent_usd), 0) as spent_usd,
           coalesce(sum(e.overrun_usd), 0) as overrun_usd
    from holdfast.budget_day d
    left join holdfast.budget_entry e on e.budget_id = d.budget_id and e.day = d.day
    where d.budget_id || '/' || to_char(d.day, 'YYYY-MM-DD') = any ($1::text[])
    group by d.budget_id, d.day
),
mended as (
    update holdfast.budget_day d
    set reserved_usd = l.reserved_usd, spent_usd = l.spent_usd, overrun_usd = l.overrun_usd,
        limit_usd = greatest(d.limit_usd, l.reserved_usd + l.spent_usd)
    from ledger l
    where d.budget_id = l.budget_id and d.day = l.day
      and (d.reserved_usd, d.spent_usd, d.overrun_usd) <> (l.reserved_usd, l.spent_usd, l.overrun_usd)
    returning d.budget_id || '/' || to_char(d.day, 'YYYY-MM-DD') as id, l.before, to_jsonb(d) as after
),
noted as (
    insert into holdfast.audit_log (at, actor, action, reason, before, after)
    select holdfast.clock(), $2, 'repair', 'I10: the day differed from its ledger', before, after
    from mended
)
select id from mended
