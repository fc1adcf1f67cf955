-- Which claims of a token name the organization it was issued for, the first that does so decides. Empty: none is asked, nobody
-- outside reads anything. `holdfast migrate --for supabase` fills it.
set local role holdfast_owner;

create table holdfast.claim_path (
    position smallint primary key,
    path text[] not null check (cardinality(path) between 1 and 10)
);

reset role;
