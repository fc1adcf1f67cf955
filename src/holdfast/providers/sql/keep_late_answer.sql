-- Keeps an answer that was paid for while the database was away, by an attempt that has perhaps ended without anyone knowing
-- what it cost: then it cost at least this. Item: organisation, document_id, key, answer, cost_usd, job_id, token. Idempotent.
create or replace function holdfast.keep_late_answer(p_item jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_job bigint := (p_item ->> 'job_id')::bigint;
    v_cost numeric := (p_item ->> 'cost_usd')::numeric;
    v_attempt pipeline_phase;
begin
    perform from pipeline_job where id = v_job for update;
    if exists (select from recall_answers(p_item ->> 'organisation', array[p_item ->> 'key'])) then
        return;
    end if;
    perform keep_answer(p_item ->> 'organisation', (p_item ->> 'document_id')::bigint, p_item ->> 'key', p_item -> 'answer',
                        v_cost, v_job, (p_item ->> 'token')::bigint);
    select * into v_attempt from pipeline_phase where job_id = v_job and token = (p_item ->> 'token')::bigint for update;
    if found and may_become_known(v_attempt) then
        update pipeline_phase set cost_usd = cost_usd + v_cost where id = v_attempt.id;
        update pipeline_job set total_cost_usd = total_cost_usd + v_cost where id = v_job;
    end if;
end $$;
