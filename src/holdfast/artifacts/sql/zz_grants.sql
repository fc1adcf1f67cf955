-- Who may lease, record, remove and look over artifacts.
grant execute on function
    holdfast.lease_artifacts(text, jsonb, text), holdfast.release_artifacts(text, text[], text),
    holdfast.use_artifacts(bigint, jsonb, text), holdfast.begin_removal(text, text[]),
    holdfast.finish_removal(text, text[], timestamptz), holdfast.unused_artifacts(text, text, integer),
    holdfast.record_orphans(text, jsonb), holdfast.end_dead_leases(integer)
to holdfast_worker, holdfast_api;

grant execute on function holdfast.needed_artifacts(bigint, text, integer) to holdfast_api, holdfast_readonly;

grant execute on function holdfast.document_file(bigint, text) to holdfast_api, holdfast_readonly;
