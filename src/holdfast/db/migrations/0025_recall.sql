-- Searching and reindexing lose nothing and pay for nothing twice.
set local role holdfast_owner;

-- When a reindexing last made vectors of a model that does not answer yet.
alter table holdfast.embedder add column reindexed_at timestamptz;

-- Their successors are asked otherwise.
drop function if exists holdfast.find(text, jsonb, real[], text, jsonb, integer);
drop function if exists holdfast.find_by_vector(text, real[], jsonb, jsonb, integer);
drop function if exists holdfast.fulfils(bigint, integer, regconfig[], tsquery[], text[]);
drop function if exists holdfast.vectors_up_to(text, smallint, jsonb, integer);
drop function if exists holdfast.take_for_reindexing(smallint, text, bigint, integer, integer);
drop function if exists holdfast.lacking_vectors(smallint, text, bigint, integer, integer);
drop function if exists holdfast.activate_embedder(smallint);

reset role;
