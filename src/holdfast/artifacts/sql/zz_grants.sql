-- Who may record, forget and look over artifacts.
grant execute on function
    holdfast.use_artifacts(bigint, jsonb), holdfast.forget_unused_artifacts(text, text[]),
    holdfast.unused_artifacts(timestamptz, text, text, integer)
to holdfast_worker, holdfast_api;

grant execute on function holdfast.needed_artifacts(bigint, text, integer) to holdfast_api, holdfast_readonly;

grant execute on function holdfast.document_file(bigint, text) to holdfast_api, holdfast_readonly;
