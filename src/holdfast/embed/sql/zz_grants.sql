-- Workers embed the documents they have claimed; operators replace the model. Removing a document's vectors is for the
-- functions that remove it.
grant execute on function
    holdfast.ensure_vectors(), holdfast.vector_schema(), holdfast.register_embedder(text, integer),
    holdfast.take_for_embedding(bigint, bigint, smallint, integer, integer),
    holdfast.store_embeddings(bigint, bigint, smallint, integer[], text[], anyarray),
    holdfast.finish_embedding(bigint, smallint), holdfast.index_embedder(smallint),
    holdfast.needs_index(smallint)
to holdfast_worker;

grant execute on function
    holdfast.ensure_vectors(), holdfast.vector_schema(), holdfast.register_embedder(text, integer),
    holdfast.next_place(bigint, integer, integer),
    holdfast.take_for_reindexing(smallint, text, bigint, integer, bigint, integer, integer),
    holdfast.lacking_vectors(smallint, text, bigint, integer, bigint, integer, integer),
    holdfast.store_reindexed(smallint, bigint[], integer[], text[], numeric, anyarray), holdfast.close_embedder(),
    holdfast.charge_reindexed(smallint, bigint[], numeric, numeric),
    holdfast.activate_embedder(smallint, timestamptz), holdfast.remove_inactive_vectors(integer), holdfast.index_embedder(smallint),
    holdfast.needs_index(smallint)
to holdfast_api;
