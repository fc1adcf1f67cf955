-- The passages of an organisation that share words with a question, best first. Words are alternatives; a rare word weighs
-- more than a common one, a heading more than the text. The work is bounded: passages are gathered by the rarest words, the
-- common ones only help to order them.
create or replace function holdfast.find_by_words(p_organisation text, p_question jsonb, p_filter jsonb, p_limit integer)
returns table (generation_id bigint, ordinal integer, rank bigint, score double precision, matched text[])
language plpgsql stable security definer set search_path = holdfast, pg_temp
set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
    c_gathered constant integer := 3000;   -- passages to look at, about
    c_ranked constant integer := 200;      -- of which so many are read whole
    v_has_phrase boolean := p_question -> 'phrases' <> '[]';
    v_patterns text[] := phrase_patterns(p_question);
begin
    return query
    with word as materialized (
        select * from words_asked(p_organisation, p_question, c_gathered)
    ),
    gathering as materialized (
        select row_number() over () as id, g.*
        from (
            -- A phrase gathers by itself: whatever lacks it is no answer. One of nothing but stop words says nothing.
            select distinct on (configuration) configuration, '{}'::text[] as lexemes, demand && within as query
            from word
            where v_has_phrase and demand <> ''
            union all
            select configuration, array[lexeme], query && demand && within
            from word
            where (is_rare or is_rarest) and not (v_has_phrase and demand <> '')
            union all
            -- Where even the rarest is common, the passages that have it are cut short: those with the next one count too.
            select a.configuration, array[a.lexeme, b.lexeme], a.query && b.query && a.demand && a.within
            from word a
            join word b on b.configuration = a.configuration and b.place > a.place
            where a.is_rarest and not a.is_rare and not (v_has_phrase and a.demand <> '')
        ) g
    ),
    found as materialized (
        select g.id, c.generation_id, c.ordinal
        from gathering g
        cross join lateral (
            select c.generation_id, c.ordinal, c.context, c.text
            from chunk c
            where (c.words || array_to_tsvector(array['organisation ' || c.organisation])) @@ g.query
              and c.organisation = p_organisation and c.configuration = g.configuration
              and exists (select from document d where d.generation_id = c.generation_id and findable(d, p_filter))
            limit c_gathered
        ) c
        -- After the limit: to read more than these would take too long.
        where v_patterns = '{}' or concat(c.context, e'\n\n', c.text) ~* all (v_patterns)
    ),
    counted as materialized (
        select g.configuration, g.lexemes, f.passages
        from (select id, count(*)::double precision as passages from found group by id having count(*) < c_gathered) f
        join gathering g using (id)
    ),
    weighed as materialized (
        select w.*, inverse_frequency(coalesce(c.passages, w.expected, 1), w.passages) as weight
        from word w
        left join counted c on c.configuration = w.configuration and c.lexemes = array[w.lexeme]
    ),
    promising as (
        select f.generation_id, f.ordinal
        from found f
        left join (
            select g.id, sum(w.weight) as weight
            from gathering g
            join weighed w on w.configuration = g.configuration and w.lexeme = any (g.lexemes)
            group by g.id
        ) g using (id)
        group by f.generation_id, f.ordinal
        order by sum(g.weight) desc nulls last, f.generation_id desc, f.ordinal
        limit c_ranked
    ),
    candidate as materialized (
        select c.generation_id, c.ordinal, c.configuration, c.tokens,
               c.words || '' as words   -- a copy: read from storage once, not for every word
        from promising p
        join chunk c using (generation_id, ordinal)
    ),
    ranked as (
        select c.generation_id, c.ordinal, array_agg(w.word order by w.place) as matched,
               -- Long passages have more words of any kind.
               sum(w.weight * ts_rank('{0.1, 0.4, 0.8, 1.0}', c.words, w.query)) / (0.75 + 0.25 * min(c.tokens) / 400.0)
                   as score
        from candidate c
        join weighed w on w.configuration = c.configuration and c.words @@ w.query
        group by c.generation_id, c.ordinal
    )
    select r.generation_id, r.ordinal, row_number() over (order by r.score desc, r.generation_id desc, r.ordinal), r.score,
           r.matched
    from ranked r
    order by r.score desc, r.generation_id desc, r.ordinal
    limit p_limit;
end $$;

-- The words of a question in every language of the organisation, the rarest first, at most 32. Rare are those that so many
-- passages have between them at most; `expected` is about how many have it, null for one too rare to be counted. `within`
-- keeps to the organisation's passages where most are others'.
create or replace function holdfast.words_asked(p_organisation text, p_question jsonb, p_rare integer)
returns table (
    place bigint, configuration regconfig, word text, lexeme text, query tsquery, demand tsquery, within tsquery,
    passages double precision, expected double precision, is_rare boolean, is_rarest boolean)
language sql stable set search_path = holdfast, pg_temp set jit = off as $$
    with share as materialized (
        select * from word_shares()
    ),
    organisation as (
        select coalesce((select s.share from share s where s.lexeme = 'organisation ' || p_organisation), 0.01) as share
    ),
    word as (
        select row_number() over (order by s.share nulls first, length(l.lexeme) desc, l.lexeme) as place,
               c.configuration, l.word, l.lexeme, d.demand, o.share, n.passages, s.share * n.passages as expected
        from configurations_of(p_organisation) c(configuration)
        cross join lateral demand_of(c.configuration, p_question) d(demand)
        cross join lateral lexemes_of(c.configuration, p_question ->> 'words') l
        cross join organisation o
        cross join lateral (
            -- About; where they are few, or not counted yet, so many as there are.
            select greatest(k.reltuples * o.share, (
                select count(*) from (select from chunk where organisation = p_organisation limit 1000) few)) as passages
            from pg_class k
            where k.oid = 'holdfast.chunk'::regclass
        ) n
        left join share s using (lexeme)
        order by 1
        limit 32
    )
    select w.place, w.configuration, w.word, w.lexeme, word_query(w.lexeme), w.demand,
           case when w.share > 0.5 then '' else word_query('organisation ' || p_organisation) end,
           w.passages, w.expected,
           coalesce(sum(w.expected) over (order by w.place), 0) <= p_rare,
           row_number() over (partition by w.configuration order by w.place) = 1
    from word w
$$;

-- How much it says about a passage that it has a word which so many of all passages have.
create or replace function holdfast.inverse_frequency(p_with double precision, p_all double precision)
returns double precision
language sql immutable parallel safe as $$
    select ln(1 + (greatest(p_all, p_with) - p_with + 0.5) / (p_with + 0.5))
$$;

-- Common words and the share of all passages that have them, as the database last counted them; rare words are not among
-- them. The names of organisations with many passages are, each as one word.
create or replace function holdfast.word_shares() returns table (lexeme text, share real)
language sql stable set search_path = holdfast, pg_temp as $$
    select e.lexeme, e.share
    from pg_stats s
    cross join lateral unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as e(lexeme, share)
    where s.schemaname = 'holdfast' and s.tablename = 'chunk_words' and e.lexeme is not null
$$;
