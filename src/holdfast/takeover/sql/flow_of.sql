-- Which flow a row of an old table belongs to, also one that is yet to come: "new" when Holdfast carries it, else "old". What
-- Holdfast has begun to carry stays with it until it is given back. The products of both flows ask this before they work on a document. The table is
-- named as in SQL; HF404 for one that nobody takes over while others are: who misspells it would work on rows of Holdfast's.
create or replace function holdfast.flow_of(p_table text, p_key text) returns text
language plpgsql stable security definer set search_path = holdfast, pg_temp as $$
declare
    v_parts text[] := parse_ident(p_table);
    v_table text := format('%I.%I', case when cardinality(v_parts) > 1 then v_parts[1] else 'public' end,
                           v_parts[cardinality(v_parts)]);
    v_takeover takeover;
begin
    select * into v_takeover from takeover where table_name = v_table order by undone_at desc nulls first, id desc limit 1;
    if not found and exists (select from takeover) then
        raise exception 'no takeover is of a table %', v_table using errcode = 'HF404',
            hint = (select 'name one of ' || string_agg(distinct table_name, ', ') from takeover);
    end if;
    if v_takeover.id is null or v_takeover.undone_at is not null then
        return 'old';
    end if;
    return coalesce(
        (select flow from taken_row where takeover_id = v_takeover.id and key = p_key and let_go_at is null),
        chosen_flow(v_takeover.share, v_takeover.chosen, p_key));
end $$;

-- What was decided for a row: by its key, or by the share. A larger share takes in all that a smaller one did.
create or replace function holdfast.chosen_flow(p_share integer, p_chosen jsonb, p_key text) returns text
language sql immutable set search_path = holdfast, pg_temp as $$
    select coalesce(p_chosen ->> p_key,
                    case when ('x' || left(md5(p_key), 8))::bit(32)::bigint % 100 < p_share then 'new' else 'old' end)
$$;

-- The takeover of a table that is in force, or null.
create or replace function holdfast.takeover_of(p_source text, p_table text) returns bigint
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select id from takeover where source = p_source and table_name = p_table and undone_at is null
$$;

-- The takeovers in force of tables of that name, from whichever database.
create or replace function holdfast.takeovers_named(p_schema text, p_name text) returns table (takeover_id bigint, table_name text, source text)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select id, table_name, source from takeover where table_name = format('%I.%I', p_schema, p_name) and undone_at is null order by id
$$;

-- What is known of these rows: the flow chosen for each, whether by its key, and, of those read before, the flow they are in and what was read. A share
-- or choices that are not in force yet count as if they were.
create or replace function holdfast.known_rows(p_takeover bigint, p_share integer, p_chosen jsonb, p_keys text[])
returns table (key text, chosen text, is_known boolean, flow text, row_before text, is_changed boolean, is_named boolean)
language sql stable security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
    select k.key, chosen_flow(coalesce(p_share, t.share, 100), coalesce(t.chosen, '{}') || p_chosen, k.key),
           r.key is not null, r.flow, r.row_before::text, r.changed_at is not null,
           (coalesce(t.chosen, '{}') || p_chosen) ? k.key
    from unnest(p_keys) as k(key)
    left join takeover t on t.id = p_takeover
    left join taken_row r on r.takeover_id = t.id and r.key = k.key and r.let_go_at is null
$$;
