-- Removes everything that was made from a document's content, and says how much of each kind. Idempotent.
-- The rooms that made it know how; a room that is not there has nothing to remove.
create or replace function holdfast.remove_derived(p_document bigint) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_remove text;
    v_removed jsonb;
    v_counts jsonb;
begin
    select coalesce(jsonb_object_agg(key, total), '{}') into v_counts
    from (
        select c.key, sum(c.value::numeric) as total
        from jobs_of(p_document) j
        cross join lateral jsonb_each(remove_part_of_generation(j.id, null)) c
        group by c.key
    ) t;
    foreach v_remove in array array[
        'remove_story', 'remove_reading', 'remove_configs', 'remove_answers', 'remove_awaited_answers'
    ] loop
        if to_regprocedure(format('holdfast.%I(bigint)', v_remove)) is not null then
            execute format('select holdfast.%I($1)', v_remove) into v_removed using p_document;
            v_counts := add_counts(v_counts, v_removed);
        end if;
    end loop;
    return v_counts;
end $$;

-- Two sets of counts as one.
create or replace function holdfast.add_counts(p_one jsonb, p_other jsonb) returns jsonb
language sql immutable set search_path = holdfast, pg_temp as $$
    select coalesce(jsonb_object_agg(key, total), '{}')
    from (
        select key, sum(value::numeric) as total
        from (select * from jsonb_each(p_one) union all select * from jsonb_each(p_other)) c
        group by key
    ) t
$$;
