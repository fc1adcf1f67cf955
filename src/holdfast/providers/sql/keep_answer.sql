-- Keeps what a paid call of an attempt answered, in a transaction of its own. Idempotent: of two answers to one request the first stays.
-- Where the attempt has ended and nobody knew what it cost, it cost at least this. Nothing is kept of a document that was deleted.
create or replace function holdfast.keep_answer(
    p_organisation text, p_document bigint, p_key text, p_answer jsonb, p_cost_usd numeric, p_job bigint, p_token bigint
) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_token bigint;
    v_document document;
    v_attempt pipeline_phase;
begin
    perform from pipeline_job where id = p_job for no key update;   -- nobody ends it, renews it or deletes its document meanwhile
    v_token := coalesce(token_after(p_job, p_token), p_token);
    select * into v_document from document where id = p_document and organisation = p_organisation;
    if not found then
        raise exception 'organisation "%" has no document %: its answers are not kept', p_organisation, p_document
            using errcode = 'HF404';
    end if;
    if v_document.deleted_at is not null then
        return;
    end if;
    insert into paid_answer (organisation, key, document_id, answer, cost_usd, kept_at, job_id, token)
    values (p_organisation, p_key, p_document, p_answer, p_cost_usd, clock(), p_job, v_token)
    on conflict (organisation, key) do nothing;
    if not found then
        return;
    end if;
    select * into v_attempt from pipeline_phase where job_id = p_job and token = v_token;
    if found and may_become_known(v_attempt) then
        update pipeline_phase set cost_usd = cost_usd + p_cost_usd where id = v_attempt.id;
        update pipeline_job set total_cost_usd = total_cost_usd + p_cost_usd where id = p_job;
    end if;
end $$;
