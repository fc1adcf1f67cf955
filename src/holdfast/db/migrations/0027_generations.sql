-- What a job makes of a document is a generation of its own, named by that job: another run never touches what answers searches.
set local role holdfast_owner;

-- The generation that answers for a document; null until one does.
alter table holdfast.document add column generation_id bigint;

-- What was made so far was made by the newest job of its document that ran.
create temporary table made on commit drop as
    select document_id, max(id) as generation_id from holdfast.pipeline_job where token > 0 or flow = 'old' group by document_id;
create unique index on made (document_id);

update holdfast.document d set generation_id = m.generation_id
from made m where m.document_id = d.id and d.searchable_at is not null;
create index document_generation on holdfast.document (generation_id) where generation_id is not null;

alter table holdfast.chunk add column generation_id bigint;
update holdfast.chunk c set generation_id = m.generation_id from made m where m.document_id = c.document_id;
do $vectors$
begin
    -- The table is there only where pgvector is. Its rows are referred to by the keys that change: they go with them.
    if to_regclass('holdfast.embedding') is not null then
        alter table holdfast.embedding add column generation_id bigint;
        update holdfast.embedding e set generation_id = m.generation_id from made m where m.document_id = e.document_id;
        alter table holdfast.embedding drop column document_id;
    end if;
end $vectors$;
alter table holdfast.chunk drop column document_id cascade;
delete from holdfast.chunk where generation_id is null;
alter table holdfast.chunk alter column generation_id set not null;
alter table holdfast.chunk add primary key (generation_id, ordinal);
do $vectors$
begin
    if to_regclass('holdfast.embedding') is not null then
        delete from holdfast.embedding e where not exists (
            select from holdfast.chunk c where c.generation_id = e.generation_id and c.ordinal = e.ordinal);
        alter table holdfast.embedding alter column generation_id set not null;
        alter table holdfast.embedding add primary key (generation_id, ordinal, embedder_id);
        alter table holdfast.embedding
            add foreign key (generation_id, ordinal) references holdfast.chunk (generation_id, ordinal) on delete cascade;
    end if;
end $vectors$;

alter table holdfast.entity_mention add column generation_id bigint;
update holdfast.entity_mention t set generation_id = m.generation_id from made m where m.document_id = t.document_id;
alter table holdfast.entity_mention drop column document_id;
delete from holdfast.entity_mention where generation_id is null;
alter table holdfast.entity_mention alter column generation_id set not null;
alter table holdfast.entity_mention add primary key (entity_id, generation_id, ordinal);
create index entity_mention_chunk on holdfast.entity_mention (generation_id, ordinal);

alter table holdfast.relation add column generation_id bigint;
update holdfast.relation t set generation_id = m.generation_id from made m where m.document_id = t.document_id;
alter table holdfast.relation drop column document_id;
delete from holdfast.relation where generation_id is null;
alter table holdfast.relation alter column generation_id set not null;
alter table holdfast.relation add primary key (generation_id, ordinal, subject_id, object_id, predicate);

-- Versions of a location are numbered when they begin to be read, in an order of their own.
create sequence holdfast.version_number;
revoke all on sequence holdfast.version_number from public;
update holdfast.document set version = id where version is null;
select setval('holdfast.version_number', coalesce((select max(version) from holdfast.document), 0) + 1, false);
alter table holdfast.document alter column version set default nextval('holdfast.version_number');
alter table holdfast.document alter column version set not null;

-- Generations that answer no more, or never will: what they hold is removed in batches, at leisure.
create table holdfast.retired_generation (
    id bigint primary key,
    organisation text not null,
    retired_at timestamptz not null
);
revoke all on holdfast.retired_generation from public;
grant select on holdfast.retired_generation to holdfast_worker, holdfast_api, holdfast_readonly;

drop function if exists holdfast.publish_document(bigint);
drop function if exists holdfast.remove_from_graph(bigint);
drop function if exists holdfast.remove_chunks(bigint);
drop function if exists holdfast.remove_embeddings(bigint);

reset role;
