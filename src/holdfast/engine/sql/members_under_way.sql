-- How many documents came out of this one, how many of them are still under way, and for how long the first of those. One
-- that failed is under way as long as it is retried by itself.
create or replace function holdfast.members_under_way(p_document bigint)
returns table (members bigint, under_way bigint, seconds double precision)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select count(*), count(j.id), extract(epoch from clock() - min(j.submitted_at))::double precision
    from document d
    left join pipeline_job j on j.document_id = coalesce(d.duplicate_of, d.id) and j.state not in ('done', 'deadletter', 'cancelled')
                             and (j.state <> 'failed' or j.ready_at is not null)
    where d.parent_id = p_document
$$;
