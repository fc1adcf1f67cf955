-- The patience in force: a row per policy and category, as operators may have changed it since it was declared.
create or replace function holdfast.overview_policies()
returns table (policy text, two_level boolean, category text, charged boolean, max_retries integer, document_limit integer,
               wait_seconds double precision[], jitter double precision, holds text, hold_seconds double precision)
language sql stable set search_path = holdfast, pg_temp as $$
    select r.policy, y.two_level, r.category, r.charged, r.max_retries, r.document_limit, r.wait_seconds, r.jitter, r.holds,
           r.hold_seconds
    from policy y
    join policy_rule r on r.policy = y.name
    order by r.policy, r.category
$$;

grant execute on function holdfast.overview_policies() to holdfast_api, holdfast_readonly;
