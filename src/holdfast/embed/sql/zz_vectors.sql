-- Who may look up pgvector's names: holdfast_owner where it was let, else the login that migrates. Never a superuser, who can
-- let the owner: what a superuser owns would lend its rights to whoever may change what it calls.
reset role;
do $owner$
declare
    v_schema oid := (select extnamespace from pg_extension where extname = 'vector');
begin
    if v_schema is not null then
        begin
            execute format('grant usage on schema %s to holdfast_owner', v_schema::regnamespace);
        exception
            when insufficient_privilege then null;
        end;
    end if;
    if not (select rolsuper from pg_roles where rolname = current_user)
       and not coalesce(has_schema_privilege('holdfast_owner', v_schema, 'usage'), false)
       and coalesce(has_schema_privilege(v_schema, 'usage'), true) then
        execute format('alter function holdfast.create_vectors() owner to %I', current_user);
        execute format('alter function holdfast.create_nearest_index(smallint, integer) owner to %I', current_user);
        grant execute on function holdfast.create_vectors(), holdfast.create_nearest_index(smallint, integer) to holdfast_owner;
    end if;
end
$owner$;
set local role holdfast_owner;

-- Where pgvector is installed by now, its table is made; where that is there already, the functions are made anew.
select holdfast.create_vectors() where to_regclass('holdfast.embedding') is not null and holdfast.may_name_vectors();
select holdfast.ensure_vectors();
