-- How a question is read. Question: words (in natural language), phrases (each must occur), without (none may occur).
-- Every passage has the words of its own language's stems, so a question is read once for each language in use.

-- The languages of an organisation's passages. Steps from one to the next in the index, whatever their number of passages.
create or replace function holdfast.configurations_of(p_organisation text) returns setof regconfig
language sql stable set search_path = holdfast, pg_temp as $$
    with recursive used(configuration) as (
        select min(configuration::oid) from chunk where organisation = p_organisation
        union all
        select (select min(c.configuration::oid) from chunk c
                where c.organisation = p_organisation and c.configuration::oid > u.configuration)
        from used u
        where u.configuration is not null
    )
    select configuration::regconfig from used where configuration is not null
$$;

-- A query for exactly this word as it stands in the index.
create or replace function holdfast.word_query(p_lexeme text) returns tsquery
language sql immutable strict parallel safe as $$
    select concat('''', replace(replace(p_lexeme, '\', '\\'), '''', ''''''), '''')::tsquery
$$;

-- The words of a text that mean something in a language, and as what they stand in the index.
create or replace function holdfast.lexemes_of(p_configuration regconfig, p_text text)
returns table (word text, lexeme text)
language sql stable parallel safe set search_path = holdfast, pg_temp as $$
    select distinct on (l.lexeme) lower(p.token), l.lexeme
    from ts_parse('default', p_text) p
    cross join lateral unnest(to_tsvector(p_configuration, p.token)) l
    order by l.lexeme, length(p.token)
$$;

-- What every answer in a language must fulfil: all phrases, none of the exclusions. Empty when the question demands nothing.
-- The index knows no small words and no forms of words: `phrase_patterns` tell whether a phrase stands so.
create or replace function holdfast.demand_of(p_configuration regconfig, p_question jsonb) returns tsquery
language plpgsql stable set search_path = holdfast, pg_temp as $$
declare
    v_demand tsquery := '';
    v_text text;
begin
    for v_text in select jsonb_array_elements_text(p_question -> 'phrases') loop
        v_demand := v_demand && phraseto_tsquery(p_configuration, v_text);
    end loop;
    for v_text in select jsonb_array_elements_text(p_question -> 'without') loop
        v_demand := v_demand && !! phraseto_tsquery(p_configuration, v_text);
    end loop;
    return v_demand;
end $$;

-- What the text of an answer must match, whatever the case: of each phrase its words, one after the other, with nothing
-- but spaces and signs between them.
create or replace function holdfast.phrase_patterns(p_question jsonb) returns text[]
language sql immutable parallel safe as $$
    select coalesce(array_agg('(?<![[:alnum:]])' || w.words || '(?![[:alnum:]])'), '{}')
    from jsonb_array_elements_text(p_question -> 'phrases') phrase
    cross join lateral (
        select string_agg(m.word[1], '[^[:alnum:]]+' order by m.n) as words
        from regexp_matches(phrase, '[[:alnum:]]+', 'g') with ordinality m(word, n)
    ) w
    where w.words is not null
$$;
