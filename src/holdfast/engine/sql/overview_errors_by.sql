-- The logged errors in groups, the largest first, each with its newest message as an example.
create or replace function holdfast.overview_errors_by(p_group text, p_days integer)
returns table (key text, errors bigint, charged bigint, documents bigint, first_at timestamptz, last_at timestamptz,
               component text, category text, example text)
language plpgsql stable security definer set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
declare
    v_since timestamptz := overview_since(p_days, 'days');
    v_confined_to text := confined_to();
begin
    if p_group is null or p_group not in ('category', 'component', 'platform', 'fingerprint', 'organisation') then
        raise exception 'errors are not grouped by "%": name category, component, platform, fingerprint or organisation', p_group
            using errcode = 'HF400';
    end if;
    return query
        with error as (
            select case p_group when 'category' then e.category when 'component' then e.component
                                when 'platform' then e.platform when 'fingerprint' then e.fingerprint
                                else e.organisation end as key, e.*
            from error_log e
            where e.at >= v_since and is_own(e.organisation, v_confined_to)
        ),
        newest as (
            select distinct on (e.key) e.key, e.component, e.category, e.message from error e order by e.key, e.at desc, e.id desc
        ),
        counted as (
            select e.key, count(*) as errors, count(*) filter (where e.charged) as charged,
                   count(distinct e.document_id) as documents, min(e.at) as first_at, max(e.at) as last_at
            from error e
            group by e.key
        )
        select c.key, c.errors, c.charged, c.documents, c.first_at, c.last_at, n.component, n.category, n.message
        from counted c
        join newest n on n.key is not distinct from c.key
        order by c.errors desc, c.key;
end $$;

grant execute on function holdfast.overview_errors_by(text, integer) to holdfast_api, holdfast_readonly;
