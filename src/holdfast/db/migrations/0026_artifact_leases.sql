-- Whoever puts an object says so first: then nobody removes it before it is recorded who needs it.
set local role holdfast_owner;

-- Set while an object is being removed: until then nobody puts it.
alter table holdfast.artifact add column removing_until timestamptz;

-- Who is about to put and to use which artifact. A lease ends with the use, or a day after its holder died.
create table holdfast.artifact_lease (
    organisation text not null,
    hash text not null,
    holder text not null,
    leased_at timestamptz not null,
    primary key (organisation, hash, holder),
    foreign key (organisation, hash) references holdfast.artifact
);
create index artifact_lease_age on holdfast.artifact_lease (leased_at);

-- Their successors are asked otherwise.
drop function if exists holdfast.use_artifacts(bigint, jsonb);
drop function if exists holdfast.refuse_bad_uses(jsonb);
drop function if exists holdfast.forget_unused_artifacts(text, text[]);
drop function if exists holdfast.unused_artifacts(timestamptz, text, text, integer);

reset role;
