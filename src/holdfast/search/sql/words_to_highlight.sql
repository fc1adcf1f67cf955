-- Of words as they stand in a text of a language, those that a question asks for, in whatever form they stand there, each
-- with the number of the question's word that it is a form of. The rarest of these has the number 1.
create or replace function holdfast.words_to_highlight(p_question jsonb, p_configuration regconfig, p_words text[])
returns table (word text, asked bigint)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    with asked as materialized (
        select l.lexeme, row_number() over (order by s.share nulls first, length(l.lexeme) desc, l.lexeme) as number
        from lexemes_of(p_configuration, p_question ->> 'words') l
        left join word_shares() s using (lexeme)
    )
    select distinct w.word, a.number
    from unnest(p_words) w(word)
    cross join lateral unnest(to_tsvector(p_configuration, w.word)) l
    join asked a using (lexeme)
$$;
