-- Writes a batch of the chunks that a job makes, its generation, while it works under that token, all or none; HF409 when the
-- claim was lost.
-- Items: ordinal, id, start_at, end_at, text, context, heading (title and headings, weighed highest in searches), place,
-- language. Idempotent: a chunk that is there already, the same, is left alone; another one in its place is replaced.
create or replace function holdfast.store_chunks(p_job bigint, p_token bigint, p_items jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job;
begin
    select * into v_job
    from pipeline_job
    where id = p_job and token = p_token and state = 'working'
    for key share;   -- a sweep cannot take the job away before the commit, a heartbeat can still tell its progress
    if not found then
        raise exception 'the claim on job % was lost: no chunk is stored', p_job using errcode = 'HF409';
    end if;
    insert into chunk as c (generation_id, ordinal, organisation, id, start_at, end_at, text, context, place, text_hash,
                            configuration, words)
    select v_job.id, i.ordinal, v_job.organisation, i.id, i.start_at, i.end_at, i.text, coalesce(i.context, ''),
           coalesce(i.place, '{}'), hash_of_embedded(coalesce(i.context, ''), i.text), w.configuration,
           setweight(to_tsvector(w.configuration, coalesce(i.heading, '')), 'A')
           || setweight(to_tsvector(w.configuration, i.text), 'B')
           || setweight(to_tsvector(w.configuration, coalesce(i.context, '')), 'C')
    from jsonb_to_recordset(p_items)
         as i(ordinal integer, id text, start_at bigint, end_at bigint, text text, context text, heading text, place jsonb,
              language text)
    cross join lateral (select words_configuration(i.language) as configuration) w
    on conflict (generation_id, ordinal) do update
    set id = excluded.id, start_at = excluded.start_at, end_at = excluded.end_at, text = excluded.text,
        context = excluded.context, place = excluded.place, text_hash = excluded.text_hash,
        configuration = excluded.configuration, words = excluded.words
    where (c.id, c.text_hash, c.place, c.configuration, c.words)
          is distinct from (excluded.id, excluded.text_hash, excluded.place, excluded.configuration, excluded.words);
end $$;

-- Names what is embedded: the context, an empty line, the text; or the text alone when it has no context.
create or replace function holdfast.hash_of_embedded(p_context text, p_text text) returns text
language sql stable strict parallel safe as $$
    select encode(
        sha256(convert_to(case when p_context = '' then p_text else p_context || e'\n\n' || p_text end, 'UTF8')), 'hex'
    )
$$;

-- How words of a language are brought to their stems. English also where the language is unknown; where PostgreSQL has no
-- stemmer of its own, words are only made lower case.
create or replace function holdfast.words_configuration(p_language text) returns regconfig
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
    select case split_part(translate(lower(coalesce(p_language, '')), '_', '-'), '-', 1)
        when '' then 'english'::regconfig
        when 'und' then 'english'::regconfig
        when 'unknown' then 'english'::regconfig
        when 'en' then 'english'::regconfig
        when 'ar' then 'arabic'::regconfig
        when 'ca' then 'catalan'::regconfig
        when 'da' then 'danish'::regconfig
        when 'de' then 'german'::regconfig
        when 'el' then 'greek'::regconfig
        when 'es' then 'spanish'::regconfig
        when 'eu' then 'basque'::regconfig
        when 'fi' then 'finnish'::regconfig
        when 'fr' then 'french'::regconfig
        when 'ga' then 'irish'::regconfig
        when 'hi' then 'hindi'::regconfig
        when 'hu' then 'hungarian'::regconfig
        when 'hy' then 'armenian'::regconfig
        when 'id' then 'indonesian'::regconfig
        when 'it' then 'italian'::regconfig
        when 'lt' then 'lithuanian'::regconfig
        when 'nb' then 'norwegian'::regconfig
        when 'ne' then 'nepali'::regconfig
        when 'nl' then 'dutch'::regconfig
        when 'nn' then 'norwegian'::regconfig
        when 'no' then 'norwegian'::regconfig
        when 'pt' then 'portuguese'::regconfig
        when 'ro' then 'romanian'::regconfig
        when 'ru' then 'russian'::regconfig
        when 'sr' then 'serbian'::regconfig
        when 'sv' then 'swedish'::regconfig
        when 'ta' then 'tamil'::regconfig
        when 'tr' then 'turkish'::regconfig
        when 'yi' then 'yiddish'::regconfig
        else 'simple'::regconfig
    end
$$;
