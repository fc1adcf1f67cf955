-- What is known of the cost of an attempt that could not say it itself: the answers that it paid for itself and kept. At least
-- that much was paid. The call under way, if there was one, may have been billed as well.
create or replace function holdfast.known_cost(p_job holdfast.pipeline_job) returns numeric
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select coalesce(sum(cost_usd), 0)
    from paid_answer
    where document_id = p_job.document_id and job_id = p_job.id and token = p_job.token
$$;

-- Says of an error that its attempt may have cost more than is recorded, where its phase can have cost anything.
create or replace function holdfast.told_cost_unknown(p_error jsonb, p_phase holdfast.phase) returns jsonb
language sql immutable set search_path = holdfast, pg_temp as $$
    select case when p_phase.provider is null and p_phase.budget is null and not p_phase.paid then p_error
                else p_error || jsonb_build_object('details',
                         coalesce(nullif(p_error -> 'details', 'null'), '{}') || '{"cost_is_known": false}') end
$$;
