-- What a policy answers to a failure; it does not act. action: retry (after wait_seconds), requeue (at once, uncharged),
-- hold (uncharged, see holds), fail (permanent), deadletter (patience exhausted).
create or replace function holdfast.decide(
    p_policy text, p_category text, p_retry_count integer, p_document_failures integer, p_retry_after_seconds double precision,
    out action text, out charged boolean, out wait_seconds double precision, out max_retries integer,
    out document_permanent boolean, out holds text, out hold_seconds double precision
)
language sql volatile set search_path = holdfast, pg_temp as $$
    select d.action,
           d.action in ('retry', 'fail', 'deadletter'),
           coalesce(r.wait_seconds[least(p_retry_count + 1, cardinality(r.wait_seconds))], 0) * (1 + r.jitter * random()),
           coalesce(r.max_retries, p_retry_count + 1),
           y.two_level and (d.action = 'fail' or p_document_failures + 1 >= r.document_limit),
           case when d.action = 'hold' then r.holds when r.hold_seconds is not null then 'retry_after' end,
           -- An absurd Retry-After must not park work for years.
           case when p_retry_after_seconds is null then r.hold_seconds
                else least(greatest(p_retry_after_seconds, 0.001, case r.holds when 'document' then r.wait_seconds[1] end), 86400) end
    from policy y
    join policy_rule r on r.policy = y.name
    cross join lateral (select case
        when r.holds in ('budget_day', 'release') then 'hold'
        when r.holds in ('retry_after', 'document') and p_retry_after_seconds is not null then 'hold'
        when not r.charged then 'requeue'
        when r.max_retries = 0 then 'fail'
        when y.two_level and p_document_failures + 1 >= r.document_limit then 'deadletter'
        when p_retry_count >= r.max_retries then 'deadletter'
        else 'retry' end as action) d
    where y.name = p_policy and r.category in (p_category, 'unknown')
    order by r.category = 'unknown' and p_category <> 'unknown'
    limit 1
$$;
