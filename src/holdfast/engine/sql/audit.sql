-- Records an operator's act on a job and returns the record's id, which a reopening must carry.
create or replace function holdfast.audit(p_actor text, p_action text, p_job holdfast.pipeline_job, p_reason text, p_after jsonb)
returns bigint
language sql set search_path = holdfast, pg_temp as $$
    insert into audit_log (at, actor, action, job_id, reason, before, after)
    values (clock(), p_actor, p_action, p_job.id, p_reason,
            jsonb_build_object('state', p_job.state, 'status', p_job.status, 'phase', p_job.phase, 'run', p_job.run,
                               'retry_count', p_job.retry_count, 'token', p_job.token), p_after)
    returning id
$$;
