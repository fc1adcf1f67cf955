-- Removes answers after 30 days, at most 10,000 a call. Safe at any time, by any number of callers.
create or replace function holdfast.remove_old_answers() returns bigint
language sql volatile security definer set search_path = holdfast, pg_temp as $$
    with removed as (
        delete from paid_answer
        where (organisation, key) in (
            select organisation, key
            from paid_answer
            where kept_at < clock() - interval '30 days'
            order by kept_at
            limit 10000
            for update skip locked
        )
        returning 1
    )
    select count(*) from removed
$$;
