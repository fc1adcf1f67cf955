-- Tries everything on everything, as whoever calls. On columns one by one: whoever may read some of a table may not read all of it.
create schema probe;
create function probe.columns() returns table (relation text, attribute text, held text) language plpgsql as $$
declare
    v_one record;
begin
    for v_one in
        select c.oid::regclass::text as relation, a.attname as attribute
        from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
        where c.relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    loop
        relation := v_one.relation;
        attribute := v_one.attribute;
        begin
            execute format('select coalesce(string_agg(%I::text, '' ''), '''') from %s', attribute, relation) into held;
            return next;
        exception
            when insufficient_privilege or object_not_in_prerequisite_state then null;
        end;
    end loop;
end $$;
create function probe.writes() returns setof text language plpgsql as $$
declare
    v_one record;
    v_try text;
begin
    for v_one in
        select c.oid::regclass::text as relation, a.attname as attribute, c.relkind
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    loop
        foreach v_try in array array[
            'update %1$s set %2$I = %2$I', 'update %1$s set %2$I = null where false', 'insert into %1$s (%2$I) values (null)',
            'insert into %1$s default values', 'delete from %1$s where true', 'truncate %1$s', 'select %2$I from %1$s for update',
            'lock table %1$s in exclusive mode', 'alter table %1$s rename to mine', 'drop table %1$s', 'select nextval(%1$L)',
            'select setval(%1$L, 1)', 'create policy mine on %1$s using (true)']
        loop
            begin
                execute format(v_try, v_one.relation, v_one.attribute);
                return next format(v_try, v_one.relation, v_one.attribute);
            exception
                when others then null;
            end;
        end loop;
    end loop;
end $$;
create function probe.rights_to_write() returns setof text language sql as $$
    select format('%s on %s', r.deed, c.oid::regclass)
    from pg_class c, unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) r(deed)
    where c.relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f')
          and (has_table_privilege(c.oid, r.deed)
               or r.deed in ('insert', 'update', 'references') and has_any_column_privilege(c.oid, r.deed))
    union all
    select format('use of %s', c.oid::regclass) from pg_class c
    where c.relnamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and case c.relkind when 'S' then has_sequence_privilege(c.oid, 'select, usage, update') end
    union all
    select format('create in %s', n.nspname) from pg_namespace n where n.nspname in ('holdfast', 'public') and has_schema_privilege(n.oid, 'create')
$$;
create function probe.calls() returns table (function regprocedure, allowed boolean, failure text) language plpgsql as $$
declare
    v_one record;
begin
    for v_one in
        select p.oid, format('%s(%s)', p.oid::regproc, (
                   select string_agg(case a.kind when 'anyarray'::regtype then 'null::text[]' else format('null::%s', a.kind) end, ', ' order by a.n)
                   from unnest(p.proargtypes::regtype[]) with ordinality a(kind, n))) as call
        from pg_proc p
        where p.pronamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and p.prorettype <> 'trigger'::regtype
              and not p.proisstrict   -- of these PostgreSQL knows what they make of null, and asks for no right
    loop
        function := v_one.oid;
        allowed := has_function_privilege(v_one.oid, 'execute');
        failure := null;
        begin
            execute 'select ' || v_one.call;
        exception
            when others then failure := sqlstate;
        end;
        return next;
    end loop;
    for function in
        select p.oid from pg_proc p
        where p.pronamespace in ('holdfast'::regnamespace, 'public'::regnamespace) and has_function_privilege(p.oid, 'execute')
    loop
        allowed := true;
        failure := null;
        return next;
    end loop;
end $$;
grant usage on schema probe to public;
