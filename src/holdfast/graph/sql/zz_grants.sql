-- Workers add what documents speak of, each only for a job it has claimed. Removing is for the functions that remove documents.
grant execute on function
    holdfast.begin_graph(bigint, bigint, integer), holdfast.add_to_graph(bigint, bigint, jsonb)
to holdfast_worker;
grant execute on function
    holdfast.neighbourhood(text, jsonb, integer), holdfast.entity_neighbours(text, bigint, integer),
    holdfast.weakness(text)
to holdfast_worker, holdfast_api, holdfast_readonly;
