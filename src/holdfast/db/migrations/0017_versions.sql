-- What the versions of a document keep of each other.
set local role holdfast_owner;

-- Which of a document's metadata phases found out: that is its content's and stays with it, what was said of it is its place's.
-- Before this was noted, the phases of ours found these two.
alter table holdfast.document add column found_out text[] not null default '{extracted,parsed}';
alter table holdfast.document alter column found_out set default '{}';

reset role;
