-- Searching only reads, always within one organisation.
grant execute on function
    holdfast.find(text, jsonb, real[], text, text, jsonb, integer), holdfast.answering_embedder(),
    holdfast.words_to_highlight(jsonb, regconfig, text[])
to holdfast_worker, holdfast_api, holdfast_readonly;
