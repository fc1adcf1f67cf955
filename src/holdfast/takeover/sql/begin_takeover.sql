-- Begins to take a table over, or goes on with it. Without a share the one in force stays; flows chosen before stay chosen.
-- Audited.
create or replace function holdfast.begin_takeover(
    p_source text, p_table text, p_columns jsonb, p_pipeline text, p_organisation text, p_share integer, p_chosen jsonb, p_actor text
) returns holdfast.takeover
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_takeover takeover;
begin
    insert into takeover as t (source, table_name, columns, pipeline, organisation, share, chosen, first_vtime, started_at)
    values (p_source, p_table, p_columns, p_pipeline, p_organisation, coalesce(p_share, 100), p_chosen, entry_vtime(p_pipeline, 0), clock())
    on conflict (source, table_name) where undone_at is null do update set
        columns = excluded.columns, organisation = excluded.organisation, share = coalesce(p_share, t.share),
        chosen = t.chosen || excluded.chosen
    returning * into v_takeover;
    if v_takeover.pipeline <> p_pipeline then
        raise exception '% is being taken over into pipeline "%", not "%": undo that first', p_table, v_takeover.pipeline, p_pipeline
            using errcode = 'HF409';
    end if;
    perform audit_takeover(v_takeover, 'takeover', p_actor, jsonb_build_object('goes_on_after', v_takeover.cursor));
    return v_takeover;
end $$;

-- Tells the planner how much there is by now: tables that were empty a moment ago would be searched as if they still were.
create or replace function holdfast.measure_takeover() returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
    analyze taken_row;
    analyze document;
    analyze pipeline_job;
end $$;

-- Ends a pass: every row has been read. The next one begins with the first row again. Copies that were read before their original
-- point to it from now on.
create or replace function holdfast.finish_takeover(p_takeover bigint, p_actor text, p_counts jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_takeover takeover;
begin
    update document d
    set duplicate_of = o.id, content_hash = o.content_hash
    from taken_row r, document c, document o
    where r.takeover_id = p_takeover and r.original_status = 'duplicate' and c.id = r.document_id and d.id = c.id
      and c.duplicate_of is null and c.content_hash is null
      and o.organisation = c.organisation and o.content_hash = c.metadata -> 'takeover' ->> 'content_hash' and o.id <> c.id
      and o.duplicate_of is null and o.purged_at is null;
    update takeover set cursor = null, finished_at = clock() where id = p_takeover returning * into v_takeover;
    perform audit_takeover(v_takeover, 'takeover_finished', p_actor, p_counts);
end $$;

create or replace function holdfast.audit_takeover(p_takeover holdfast.takeover, p_action text, p_actor text, p_more jsonb) returns void
language sql set search_path = holdfast, pg_temp as $$
    insert into audit_log (at, actor, action, reason, after)
    values (clock(), p_actor, p_action, p_takeover.table_name, p_more || jsonb_build_object(
        'takeover', p_takeover.id, 'source', p_takeover.source, 'pipeline', p_takeover.pipeline, 'share', p_takeover.share))
$$;
