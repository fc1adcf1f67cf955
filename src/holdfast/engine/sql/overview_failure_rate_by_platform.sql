-- Of the attempts that ended, how many failed, by where their documents came from.
create or replace function holdfast.overview_failure_rate_by_platform(p_days integer)
returns table (platform text, attempts bigint, failed bigint, failure_rate double precision)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    v_since timestamptz := overview_since(p_days, 'days');
begin
    return query
        with ended as materialized (
            select a.document_id, count(*) as attempts, count(*) filter (where a.outcome <> 'completed') as failed
            from pipeline_phase a
            where a.ended_at >= v_since and a.outcome in ('completed', 'failed', 'timeout')
            group by 1
        ),
        -- Looked up as one sorted array: documents of one time lie side by side.
        origin as materialized (
            select d.id, d.source_platform from document d where d.id = any (array(select document_id from ended))
        )
        select o.source_platform, sum(e.attempts)::bigint, sum(e.failed)::bigint, (sum(e.failed) / sum(e.attempts))::double precision
        from ended e
        join origin o on o.id = e.document_id
        group by 1
        order by 4 desc, 1;
end $$;

grant execute on function holdfast.overview_failure_rate_by_platform(integer) to holdfast_api, holdfast_readonly;
