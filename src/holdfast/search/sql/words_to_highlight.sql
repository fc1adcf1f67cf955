-- Of words as they stand in a text of a language, those that a question asks for, in whatever form they stand there.
create or replace function holdfast.words_to_highlight(p_question jsonb, p_configuration regconfig, p_words text[])
returns setof text
language plpgsql stable security definer set search_path = holdfast, pg_temp as $$
declare
    v_asked tsquery := '';
    v_lexeme text;
begin
    for v_lexeme in select lexeme from lexemes_of(p_configuration, p_question ->> 'words') loop
        v_asked := v_asked || word_query(v_lexeme);
    end loop;
    return query
        select word from unnest(p_words) word where to_tsvector(p_configuration, word) @@ v_asked;
end $$;
