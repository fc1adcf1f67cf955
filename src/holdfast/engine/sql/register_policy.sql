-- Upserts a policy. The same declaration again changes nothing, so what an operator changed in the rows stays.
-- A rule for category "unknown" is required: it decides for every category that has no rule.
create or replace function holdfast.register_policy(p_declaration jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_name text := p_declaration ->> 'name';
begin
    if not exists (select from jsonb_array_elements(p_declaration -> 'rules') r where r ->> 'category' = 'unknown') then
        raise exception 'policy "%" has no rule for category "unknown": add one', v_name using errcode = 'HF400';
    end if;
    perform pg_advisory_xact_lock(hashtext('holdfast.register'));
    if exists (select from policy where name = v_name and declaration = p_declaration) then
        return;
    end if;
    insert into policy (name, two_level, declaration)
    values (v_name, coalesce((p_declaration ->> 'two_level')::boolean, false), p_declaration)
    on conflict (name) do update set two_level = excluded.two_level, declaration = excluded.declaration;
    delete from policy_rule where policy = v_name;
    insert into policy_rule (policy, category, charged, max_retries, document_limit, wait_seconds, jitter, holds, hold_seconds)
    select v_name, r.category, coalesce(r.charged, true), r.max_retries, r.document_limit,
           coalesce(r.wait_seconds, '{}'), coalesce(r.jitter, 0), r.holds, r.hold_seconds
    from jsonb_to_recordset(p_declaration -> 'rules') as r(
        category text, charged boolean, max_retries integer, document_limit integer,
        wait_seconds double precision[], jitter double precision, holds text, hold_seconds double precision);
exception
    when not_null_violation or check_violation then
        raise exception 'policy "%" has a missing or malformed field: %', v_name, sqlerrm using errcode = 'HF400';
end $$;
