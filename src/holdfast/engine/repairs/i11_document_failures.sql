-- Sets a document's failures to their sum by category. A permanent failure stays one until someone resets it.
with recount as (
    select d.id, to_jsonb(d) as before,
           coalesce(sum(case jsonb_typeof(c.value) when 'number' then c.value::numeric end), 0) as failures
    from holdfast.document d
    left join lateral jsonb_each(d.failures) c on true
    where d.id = any ($1::bigint[])
      and jsonb_typeof(d.failures) = 'object'
    group by d.id
),
mended as (
    update holdfast.document d
    set failure_count = r.failures,
        failure_state = case when d.failure_state = 'permanent_failure' then d.failure_state
                             when r.failures > 0 then 'pending'
                             else nullif(d.failure_state, 'pending') end
    from recount r
    where d.id = r.id
      and r.failures >= 0
      and (d.failure_count <> r.failures or (r.failures > 0) <> (coalesce(d.failure_state, 'success') <> 'success'))
    returning d.id, r.before, d.failure_count, d.failure_state
),
noted as (
    insert into holdfast.audit_log (at, actor, action, reason, before, after)
    select holdfast.clock(), $2, 'repair', 'I11: its failures did not add up',
           jsonb_build_object('document_id', id, 'failure_count', before -> 'failure_count',
                              'failure_state', before -> 'failure_state'),
           jsonb_build_object('document_id', id, 'failure_count', failure_count, 'failure_state', failure_state)
    from mended
)
select id from mended
