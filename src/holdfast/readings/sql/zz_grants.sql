-- Workers store readings; whoever may look may read them. Removing is for the functions that remove documents.
grant execute on function holdfast.store_reading(bigint, text, text) to holdfast_worker;
grant execute on function holdfast.reading_of(bigint) to holdfast_api, holdfast_readonly;
