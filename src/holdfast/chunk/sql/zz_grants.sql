-- Workers write chunks, each only those of a job it has claimed. Removing a document's is for the functions that remove it.
grant execute on function
    holdfast.store_chunks(bigint, bigint, jsonb), holdfast.finish_chunks(bigint, integer)
to holdfast_worker;
