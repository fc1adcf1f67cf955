-- Writes the operators' error log. Whatever goes wrong here is only a warning: a failure to log never fails the work.
create or replace function holdfast.log_error(p_job holdfast.pipeline_job, p_error jsonb, p_charged boolean) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set lock_timeout = '200ms' as $$   -- a log that someone keeps locked must not keep the work waiting
begin
    insert into error_log (at, organisation, document_id, job_id, pipeline, phase, platform, component, category, error_type,
                           error_code, message, attempt, charged, fingerprint)
    select clock(), p_job.organisation, p_job.document_id, p_job.id, p_job.pipeline, p_job.phase, d.source_platform,
           p_error ->> 'component', p_error ->> 'category', p_error ->> 'error_type', p_error ->> 'error_code',
           left(p_error ->> 'error', 1000), p_job.retry_count + 1, p_charged,
           fingerprint(p_error ->> 'component', p_error ->> 'category', p_error ->> 'error_type', p_error ->> 'error')
    from document d
    where d.id = p_job.document_id;
exception
    when others then
        raise warning 'the error of job % could not be logged: %', p_job.id, sqlerrm;
end $$;
