-- The organization that the caller's token names, as PostgREST and Realtime hand its claims on; null where there is none, or what
-- is there is not a text of 1 to 255 characters. Whatever is wrong with the claims, this raises nothing.
create or replace function holdfast.claimed_org() returns text
language plpgsql stable security definer set search_path = holdfast, pg_temp as $$
declare
    v_claims jsonb;
begin
    v_claims := nullif(current_setting('request.jwt.claims', true), '');
    return (
        select v_claims #>> c.path from claim_path c
        where jsonb_typeof(v_claims #> c.path) = 'string' and length(v_claims #>> c.path) between 1 and 255
        order by c.position
        limit 1
    );
exception
    when others then return null;
end $$;

-- Who acts, for the audit: whom the token is about where the call comes through PostgREST, whose login says nothing; else the login.
create or replace function holdfast.actor() returns text
language plpgsql stable set search_path = holdfast, pg_temp as $$
begin
    if coalesce(current_setting('request.jwt.claims', true), '') = '' then
        return session_user;
    end if;
    return left(coalesce(
        nullif(current_setting('request.jwt.claims')::jsonb ->> 'sub', ''), nullif(current_setting('role'), 'none'), session_user), 255);
exception
    when others then return session_user;
end $$;

-- Lets holders of a token read the documents and the progress of the organization that their token names: these columns, these rows
-- and nothing else. Takes back whatever else was granted to them meanwhile. Idempotent.
-- Logins with more rights than holdfast_owner call it: so it looks nothing up in this schema unasked.
create or replace function holdfast.allow_claims() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    v_role text;
    v_table regclass;
begin
    foreach v_role in array array['holdfast_claims', 'authenticated', 'anon'] loop
        continue when to_regrole(v_role) is null;
        execute format('revoke all on schema holdfast from %I', v_role);
        execute format('revoke all on all tables in schema holdfast from %I', v_role);
        execute format('revoke all on all sequences in schema holdfast from %I', v_role);
        execute format('revoke all on all routines in schema holdfast from %I', v_role);
    end loop;
    grant usage on schema holdfast to holdfast_claims;
    grant execute on function holdfast.claimed_org() to holdfast_claims;
    grant select (id, organisation, source_name, source_platform, parent_id, root_id, duplicate_of, failure_state, searchable_at, superseded_at,
                  deleted_at, created_at) on holdfast.document to holdfast_claims;
    grant select (id, document_id, organisation, pipeline, phase, run, status, state, progress, retry_count, error_code, submitted_at,
                  queued_at, started_at, ready_at, finished_at) on holdfast.pipeline_job to holdfast_claims;
    -- What a status means in per cent.
    grant select on holdfast.job_progress to holdfast_claims;
    grant select (pipeline, status, progress) on holdfast.pipeline_status to holdfast_claims;
    grant select (pipeline, name, done_status) on holdfast.phase to holdfast_claims;
    foreach v_table in array array['holdfast.document', 'holdfast.pipeline_job']::regclass[] loop
        continue when exists (select from pg_policy where polrelid = v_table and polname = 'claimed');
        execute format('create policy claimed on %s for select to holdfast_claims'
                       ' using (organisation = (select holdfast.claimed_org()))', v_table);
    end loop;
end $$;
