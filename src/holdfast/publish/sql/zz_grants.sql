-- Who may publish documents, and who may remove them.
grant execute on function
    holdfast.publish_document(bigint, bigint), holdfast.purge_superseded(timestamptz, integer)
to holdfast_worker, holdfast_api;

grant execute on function holdfast.delete_document(bigint, text) to holdfast_api;
