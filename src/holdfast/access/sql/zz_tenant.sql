-- Keys open doors: nobody reads the table, whoever serves asks by hash.
revoke all on holdfast.api_key from holdfast_worker, holdfast_api, holdfast_readonly;

grant execute on function
    holdfast.create_key(text, text, text, text, bytea, text), holdfast.revoke_key(bigint, text), holdfast.key_with(bytea),
    holdfast.keys(), holdfast.has_keys()
to holdfast_api;

do $walls$
declare
    v_table regclass;
begin
    for v_table in
        select to_regclass('holdfast.' || name) from unnest(array[
            'document', 'pipeline_job', 'pipeline_phase', 'artifact', 'artifact_use', 'artifact_lease', 'chunk', 'embedding', 'entity', 'entity_mention',
            'relation', 'hold', 'trial', 'story', 'story_entity', 'story_entity_total', 'reading', 'config_file', 'config_stanza',
            'config_setting', 'config_parse_error', 'reindexed_cost']) as name
        where to_regclass('holdfast.' || name) is not null
    loop
        perform holdfast.wall_off(v_table);
        execute format('grant select on %s to holdfast_tenant', v_table);
    end loop;
    -- What holds everyone holds a tenant too, and it may know why it waits.
    if not exists (select from pg_policy where polrelid = 'holdfast.hold'::regclass and polname = 'everyones') then
        create policy everyones on holdfast.hold for select to holdfast_tenant using (organisation is null);
    end if;
end
$walls$;

-- A tenant reads declarations and its own rows, and calls what asks for its organisation. The questions are those that
-- readers may ask: they see what the tables show.
grant usage on schema holdfast to holdfast_tenant;
grant select on
    holdfast.pipeline, holdfast.phase, holdfast.pipeline_status, holdfast.policy, holdfast.policy_rule, holdfast.attempt,
    holdfast.job_progress
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
    holdfast.reset(bigint[], text, text), holdfast.try_first(jsonb, integer, text, text), holdfast.current_documents(text, text, text, text[]),
    holdfast.merge_metadata(text, jsonb), holdfast.begin_reading(),
    holdfast.lease_artifacts(text, jsonb, text), holdfast.release_artifacts(text, text[], text),
    holdfast.use_artifacts(bigint, jsonb, text), holdfast.begin_removal(text, text[]), holdfast.finish_removal(text, text[], timestamptz),
    holdfast.publish_document(bigint, bigint), holdfast.delete_document(bigint, text)
to holdfast_tenant;
