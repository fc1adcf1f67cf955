-- What replacing the model that answers searches has cost: it is no attempt of any job, and money all the same.
set local role holdfast_owner;

create table holdfast.reindexed_cost (
    day date not null,   -- of UTC
    organisation text not null,
    platform text not null,
    model text not null,
    calls bigint not null default 0,
    cost_usd numeric not null default 0 check (cost_usd >= 0),
    wasted_usd numeric not null default 0 check (wasted_usd between 0 and cost_usd),
    primary key (day, organisation, platform, model)
);

-- Its successor is told the cost.
drop function if exists holdfast.store_reindexed(smallint, bigint[], integer[], text[], anyarray);

reset role;
