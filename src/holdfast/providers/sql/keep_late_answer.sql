-- The same for an answer that waited on a worker's disk. Item: organisation, document_id, key, answer, cost_usd, job_id, token.
create or replace function holdfast.keep_late_answer(p_item jsonb) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    select keep_answer(p_item ->> 'organisation', (p_item ->> 'document_id')::bigint, p_item ->> 'key', p_item -> 'answer',
                       (p_item ->> 'cost_usd')::numeric, (p_item ->> 'job_id')::bigint, (p_item ->> 'token')::bigint)
$$;
