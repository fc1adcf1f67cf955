-- Documents that failed at least so often with one and the same cause: a bug, most likely.
create or replace function holdfast.overview_repeat_offenders(p_times integer, p_days integer)
returns table (document_id bigint, source_name text, organisation text, platform text, fingerprint text, component text,
               category text, times bigint, first_at timestamptz, last_at timestamptz, error text)
language plpgsql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
    v_confined_to text := confined_to();
begin
    if p_times is null or p_times < 1 then
        raise exception 'failing % times makes no sense: name 1 or more', p_times using errcode = 'HF400';
    end if;
    return query
        with offence as materialized (
            select e.document_id, e.fingerprint, count(*) as times, min(e.at) as first_at, max(e.id) as newest
            from error_log e
            where e.charged and e.at >= v_since and is_own(e.organisation, v_confined_to)
            group by 1, 2
            having count(*) >= p_times
        )
        select d.id, d.source_name, d.organisation, d.source_platform, o.fingerprint, e.component, e.category, o.times, o.first_at,
               e.at, e.message
        from offence o
        join document d on d.id = o.document_id
        join error_log e on e.id = o.newest
        order by o.times desc, e.id desc;
end $$;

grant execute on function holdfast.overview_repeat_offenders(integer, integer) to holdfast_api, holdfast_readonly;
