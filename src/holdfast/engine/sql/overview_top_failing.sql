-- The documents with the most charged errors, each with its newest.
create or replace function holdfast.overview_top_failing(p_limit integer, p_days integer)
returns table (document_id bigint, source_name text, organisation text, platform text, failure_state text,
               failure_count integer, errors bigint, last_at timestamptz, category text, error text)
language plpgsql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
    v_confined_to text := confined_to();
begin
    return query
        with failing as materialized (
            select e.document_id, count(*) as errors, max(e.id) as newest
            from error_log e
            where e.charged and e.at >= v_since and is_own(e.organisation, v_confined_to)
            group by 1
            order by 2 desc, 3 desc
            limit overview_limit(p_limit)
        )
        select d.id, d.source_name, d.organisation, d.source_platform, d.failure_state, d.failure_count, f.errors, e.at, e.category,
               e.message
        from failing f
        join document d on d.id = f.document_id
        join error_log e on e.id = f.newest
        order by f.errors desc, e.id desc;
end $$;

grant execute on function holdfast.overview_top_failing(integer, integer) to holdfast_api, holdfast_readonly;
