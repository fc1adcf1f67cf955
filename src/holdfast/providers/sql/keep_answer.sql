-- Keeps what a paid call of an attempt answered, in a transaction of its own. Idempotent: of two answers to one request the first stays.
create or replace function holdfast.keep_answer(
    p_organisation text, p_document bigint, p_key text, p_answer jsonb, p_cost_usd numeric, p_job bigint, p_token bigint
) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    if not exists (select from document where id = p_document and organisation = p_organisation) then
        raise exception 'organisation "%" has no document %: its answers are not kept', p_organisation, p_document
            using errcode = 'HF404';
    end if;
    insert into paid_answer (organisation, key, document_id, answer, cost_usd, kept_at, job_id, token)
    values (p_organisation, p_key, p_document, p_answer, p_cost_usd, clock(), p_job, p_token)
    on conflict (organisation, key) do nothing;
end $$;
