-- Workers write what they read, each only for a job it has claimed. Removing is for the functions that remove documents.
grant execute on function
    holdfast.store_configs(bigint, bigint, jsonb), holdfast.clear_configs(bigint, bigint, integer)
to holdfast_worker;
