-- Opens a migrated database to the front ends of a Supabase project. Run by a login that may act as holdfast_owner, create roles and
-- create views in "public"; in one transaction; idempotent. What is granted is in allow_claims(), which every migration repeats.

-- Roles are shared by all databases of a server; another one may be creating it right now.
do $role$
begin
    if to_regrole('holdfast_claims') is null then
        create role holdfast_claims nologin;
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$role$;

set local role holdfast_owner;
select holdfast.allow_claims();
reset role;

-- Where memberships have options, a role of an older project that does not inherit is given these rights all the same.
do $members$
declare
    c_options constant text := case when current_setting('server_version_num')::integer >= 160000 then ' with inherit true' else '' end;
begin
    if not pg_has_role('authenticated', 'holdfast_claims', 'usage') then
        execute 'grant holdfast_claims to authenticated' || c_options;
    end if;
    if not pg_has_role('service_role', 'holdfast_api', 'usage') then
        execute 'grant holdfast_api to service_role' || c_options;
    end if;
end
$members$;

-- A row for every job of a document. Asked state by state, as jobs_of() does: each has an index of its own.
create or replace view public.holdfast_documents with (security_invoker = true) as
    select d.id as document_id, d.organisation as org, d.source_name as name, d.source_platform as platform, d.parent_id, d.duplicate_of,
           d.created_at, d.searchable_at, coalesce(d.superseded_at, r.superseded_at) as superseded_at, j.id as job_id, j.pipeline, j.phase, j.run, j.status, j.state,
           g.percent, j.error_code, j.retry_count, j.ready_at as retry_at, j.submitted_at, j.started_at, j.finished_at
    from holdfast.document d
    left join holdfast.document r on r.id = d.root_id
    cross join lateral (
        select l.id, l.pipeline, l.phase, l.run, l.status, l.state, l.error_code, l.retry_count, l.ready_at, l.submitted_at,
               l.started_at, l.finished_at
        from holdfast.pipeline_job l
        where l.document_id = d.id and l.state not in ('done', 'deadletter', 'cancelled')
        union all
        select l.id, l.pipeline, l.phase, l.run, l.status, l.state, l.error_code, l.retry_count, l.ready_at, l.submitted_at,
               l.started_at, l.finished_at
        from holdfast.phase p
        join holdfast.pipeline_job l on l.pipeline = p.pipeline and l.phase = p.name and l.document_id = d.id
                                    and l.state in ('deadletter', 'cancelled')
        union all
        select l.id, l.pipeline, l.phase, l.run, l.status, l.state, l.error_code, l.retry_count, l.ready_at, l.submitted_at,
               l.started_at, l.finished_at
        from holdfast.pipeline_status t
        join holdfast.pipeline_job l on l.pipeline = t.pipeline and l.status = t.status and l.document_id = d.id and l.state = 'done'
    ) j
    join holdfast.job_progress g on g.job_id = j.id
    where d.deleted_at is null;

-- The defaults of "public" give everything to everyone.
revoke all on public.holdfast_documents from public, anon, authenticated, service_role;
grant select on public.holdfast_documents to authenticated, service_role;

do $realtime$
declare
    v_table regclass;
begin
    foreach v_table in array array['holdfast.document', 'holdfast.pipeline_job']::regclass[] loop
        if exists (select from pg_publication where pubname = 'supabase_realtime' and not puballtables)
           and not exists (
               select from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
               where p.pubname = 'supabase_realtime' and r.prrelid = v_table
           ) then
            execute format('alter publication supabase_realtime add table %s', v_table);
        end if;
    end loop;
end
$realtime$;
