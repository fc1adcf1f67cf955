-- The answers kept for these requests; an organisation sees only its own.
create or replace function holdfast.recall_answers(p_organisation text, p_keys text[])
returns table (key text, answer jsonb)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select a.key, a.answer
    from paid_answer a
    where a.organisation = p_organisation and a.key = any (p_keys)
$$;
