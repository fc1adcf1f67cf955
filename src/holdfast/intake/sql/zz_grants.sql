-- Who may take documents in, and who records what a link led to.
revoke all on function
    holdfast.current_documents(text, text, text, text[]), holdfast.original_of(bigint, text, text),
    holdfast.store_fetched(bigint, text, text, text), holdfast.store_duplicate(bigint, bigint, text, text),
    holdfast.submission_under(text, text), holdfast.merge_metadata(text, jsonb), holdfast.begin_reading()
from public;

grant execute on function
    holdfast.current_documents(text, text, text, text[]), holdfast.merge_metadata(text, jsonb), holdfast.begin_reading()
to holdfast_worker, holdfast_api;
grant execute on function holdfast.submission_under(text, text) to holdfast_api, holdfast_readonly;

grant execute on function
    holdfast.original_of(bigint, text, text), holdfast.store_fetched(bigint, text, text, text),
    holdfast.store_duplicate(bigint, bigint, text, text)
to holdfast_worker;
