-- Keys open doors: nobody reads the table, whoever serves asks by hash.
revoke all on holdfast.api_key from holdfast_worker, holdfast_api, holdfast_readonly;

grant execute on function
    holdfast.create_key(text, text, text, text, bytea, text), holdfast.revoke_key(bigint, text), holdfast.key_with(bytea),
    holdfast.keys()
to holdfast_api;

-- A tenant reads declarations and its own rows, and calls what asks for its organisation. The questions are those that
-- readers may ask: they see what the tables show.
grant usage on schema holdfast to holdfast_tenant;
grant select on
    holdfast.pipeline, holdfast.phase, holdfast.pipeline_status, holdfast.policy, holdfast.policy_rule, holdfast.document,
    holdfast.pipeline_job, holdfast.pipeline_phase, holdfast.artifact, holdfast.artifact_use, holdfast.chunk, holdfast.entity,
    holdfast.entity_mention, holdfast.relation, holdfast.attempt, holdfast.job_progress, holdfast.hold
to holdfast_tenant;
-- Whether someone runs a phase, not where.
grant select (id, lanes, seen_at, lost_at, stopped_at) on holdfast.worker to holdfast_tenant;

do $grants$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid from pg_proc p
        where p.pronamespace = 'holdfast'::regnamespace and has_function_privilege('holdfast_readonly', p.oid, 'execute')
    loop
        execute format('grant execute on function %s to holdfast_tenant', v_function);
    end loop;
end
$grants$;

grant execute on function
    holdfast.submit(text, jsonb), holdfast.cancel(bigint[], text, text), holdfast.retry(bigint[], text, text, text),
    holdfast.reset(bigint[], text, text), holdfast.current_documents(text, text, text, text[]),
    holdfast.use_artifacts(bigint, jsonb), holdfast.publish_document(bigint), holdfast.delete_document(bigint, text)
to holdfast_tenant;
