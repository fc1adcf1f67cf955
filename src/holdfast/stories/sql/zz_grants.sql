-- Workers store stories; whoever may look may read them. Removing is for the functions that remove documents.
grant execute on function holdfast.store_story(bigint, jsonb) to holdfast_worker;
grant execute on function holdfast.story_of(bigint), holdfast.story_entities(text, integer)
to holdfast_api, holdfast_readonly;
