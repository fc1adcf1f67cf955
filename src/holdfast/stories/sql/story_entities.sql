-- Whom and what an organisation's stories speak of most, merged over all of them. Costs what it answers.
create or replace function holdfast.story_entities(p_organisation text, p_limit integer)
returns table (name text, stories integer, mentions bigint)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select t.name, t.stories, t.mentions
    from story_entity_total t
    where t.organisation = p_organisation
    order by t.mentions desc, t.normalised_name
    limit p_limit
$$;
