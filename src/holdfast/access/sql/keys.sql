-- Makes a key known by the SHA-256 of its secret. Without an organisation it is for all of them. Audited.
create or replace function holdfast.create_key(
    p_organisation text, p_name text, p_scope text, p_hint text, p_hash bytea, p_actor text
) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_id bigint;
begin
    if length(p_organisation) not between 1 and 255 then
        raise exception 'an organisation has a name of 1 to 255 characters, not %: leave it out for a key of all organisations',
            length(p_organisation) using errcode = 'HF400';
    end if;
    insert into api_key (organisation, name, scope, hint, key_hash, created_at, created_by)
    values (p_organisation, p_name, p_scope, p_hint, p_hash, clock(), p_actor)
    returning id into v_id;
    perform audit_key(p_actor, 'create key', v_id);
    return v_id;
exception
    when check_violation then
        raise exception 'a key needs a name of 1 to 100 characters and a scope: read, write or admin' using errcode = 'HF400';
end $$;

-- Ends a key for good. A second time changes nothing. Audited.
create or replace function holdfast.revoke_key(p_key bigint, p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    update api_key set revoked_at = clock() where id = p_key and revoked_at is null;
    if found then
        perform audit_key(p_actor, 'revoke key', p_key);
    elsif not exists (select from api_key where id = p_key) then
        raise exception 'there is no key %', p_key using errcode = 'HF404';
    end if;
end $$;

-- The key that is good for this secret's hash, if any. Its use is noted at most once a minute.
create or replace function holdfast.key_with(p_hash bytea) returns table (id bigint, organisation text, name text, scope text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
begin
    update api_key set last_used_at = clock()
    where key_hash = p_hash and revoked_at is null and coalesce(last_used_at < clock() - interval '1 minute', true);
    return query select k.id, k.organisation, k.name, k.scope from api_key k where k.key_hash = p_hash and k.revoked_at is null;
end $$;

-- Every key, the newest first, without what would let one in.
create or replace function holdfast.keys()
returns table (key_id bigint, organisation text, name text, scope text, hint text, created_at timestamptz, created_by text,
               last_used_at timestamptz, revoked_at timestamptz)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select id, organisation, name, scope, hint, created_at, created_by, last_used_at, revoked_at from api_key order by id desc
$$;

-- Whether any key opens something.
create or replace function holdfast.has_keys() returns boolean
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select exists (select from api_key where revoked_at is null)
$$;

create or replace function holdfast.audit_key(p_actor text, p_action text, p_key bigint) returns void
language sql set search_path = holdfast, pg_temp as $$
    insert into audit_log (at, actor, action, after)
    select clock(), p_actor, p_action, jsonb_build_object('key', id, 'organisation', organisation, 'name', name, 'scope', scope)
    from api_key where id = p_key
$$;
