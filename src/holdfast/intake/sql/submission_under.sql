-- What was answered when a document came in under this idempotency key, and what came: a link or a content. No row: the key
-- is new. What came when its content was known already got a finished job that no worker ever claimed.
create or replace function holdfast.submission_under(p_organisation text, p_key text)
returns table (document_id bigint, job_id bigint, result text, source_location text, content_hash text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select d.id, j.id, case when j.status = 'duplicate' and j.token = 0 then 'duplicate' else 'created' end,
           d.source_location, d.content_hash
    from document d
    cross join lateral (select o.id, o.status, o.token from jobs_of(d.id) o order by o.id limit 1) j
    where d.organisation = p_organisation and d.idempotency_key = p_key
$$;
