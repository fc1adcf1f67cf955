-- Adds a story that does not count yet to its organisation's totals. The caller holds the lock.
create or replace function holdfast.count_story(p_document bigint) returns void
language sql set search_path = holdfast, pg_temp as $$
    with named as (
        select s.organisation, left(lower(regexp_replace(btrim(e.key), '\s+', ' ', 'g')), 255) as normalised_name,
               min(btrim(e.key)) as name, sum(e.value::integer) as mentions
        from story s
        cross join lateral jsonb_each_text(s.entity_counter) e
        where s.document_id = p_document and btrim(e.key) <> ''
        group by 1, 2
    ),
    counted as (
        insert into story_entity (document_id, normalised_name, organisation, name, mentions)
        select p_document, normalised_name, organisation, name, mentions from named
        returning organisation, normalised_name, name, mentions
    )
    insert into story_entity_total as t (organisation, normalised_name, name, stories, mentions)
    select organisation, normalised_name, name, 1, mentions from counted
    on conflict (organisation, normalised_name) do update
    set stories = t.stories + 1, mentions = t.mentions + excluded.mentions
$$;

-- Takes a story out of the totals, and with it whatever no other story speaks of. Idempotent. The caller holds the lock.
create or replace function holdfast.uncount_story(p_document bigint) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    with gone as (
        delete from story_entity where document_id = p_document returning organisation, normalised_name, mentions
    ),
    alone as (
        delete from story_entity_total t using gone g
        where t.organisation = g.organisation and t.normalised_name = g.normalised_name and t.stories = 1
    )
    update story_entity_total t
    set stories = t.stories - 1, mentions = t.mentions - g.mentions
    from gone g
    where t.organisation = g.organisation and t.normalised_name = g.normalised_name and t.stories > 1;
end $$;
