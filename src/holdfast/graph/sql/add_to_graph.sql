-- Adds what the chunks that a job makes speak of, while it works under that token, all or none; HF409 when the claim was lost.
-- Items: ordinal, maker, entities [[kind, name, normalised_name, count], …], relations [[subject, predicate, object,
-- confidence], …], where subject and object are places among the item's entities, from 0. Idempotent, and merged by name
-- and kind within the organisation. Everybody takes entities in one order, and a removal has the graph alone: no deadlock.
create or replace function holdfast.add_to_graph(p_job bigint, p_token bigint, p_items jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_job pipeline_job := claimed_for_graph(p_job, p_token);
    v_ids bigint[];
begin
    perform pg_advisory_xact_lock_shared(graph_lock(v_job.organisation));
    v_ids := entity_ids(v_job.organisation, p_items);
    if array_position(v_ids, null) is not null then
        insert into entity (organisation, kind, name, normalised_name)
        select distinct on (m.kind, m.normalised_name) v_job.organisation, m.kind, m.name, m.normalised_name
        from entities_in(p_items) m
        where v_ids[m.number] is null
        order by m.kind, m.normalised_name, m.number
        on conflict do nothing;
        v_ids := entity_ids(v_job.organisation, p_items);
    end if;
    insert into entity_mention as t (entity_id, generation_id, ordinal, organisation, count)
    select v_ids[m.number], v_job.id, m.ordinal, v_job.organisation, sum(m.count)
    from entities_in(p_items) m
    group by v_ids[m.number], m.ordinal
    on conflict (entity_id, generation_id, ordinal) do update set count = excluded.count where t.count <> excluded.count;
    insert into relation as t (generation_id, ordinal, subject_id, predicate, object_id, organisation, maker, confidence)
    select v_job.id, r.ordinal, v_ids[r.subject], r.predicate, v_ids[r.object], v_job.organisation, min(r.maker),
           max(r.confidence)
    from relations_in(p_items) r
    group by r.ordinal, v_ids[r.subject], r.predicate, v_ids[r.object]
    on conflict (generation_id, ordinal, subject_id, object_id, predicate) do update
    set maker = excluded.maker, confidence = excluded.confidence
    where (t.maker, t.confidence) is distinct from (excluded.maker, excluded.confidence);
end $$;

-- The entities that items name, numbered from 1 throughout.
create or replace function holdfast.entities_in(p_items jsonb)
returns table (number bigint, ordinal integer, kind text, name text, normalised_name text, count integer)
language sql immutable as $$
    select row_number() over (), (i.item ->> 'ordinal')::integer, e.entity ->> 0, e.entity ->> 1, e.entity ->> 2,
           (e.entity ->> 3)::integer
    from jsonb_array_elements(p_items) i(item)
    cross join lateral jsonb_array_elements(i.item -> 'entities') e(entity)
$$;

-- The ids of the entities that items name, by their numbers; null where one is not known. A subquery for each, never a join:
-- a plan made while the table was empty must be good when it is full.
create or replace function holdfast.entity_ids(p_organisation text, p_items jsonb) returns bigint[]
language sql volatile set search_path = holdfast, pg_temp as $$
    select array_agg(
        (select e.id from entity e
         where e.organisation = p_organisation and e.kind = m.kind and e.normalised_name = m.normalised_name)
        order by m.number
    )
    from entities_in(p_items) m
$$;

-- The relations that items name, between entities by the numbers that entities_in gives them.
create or replace function holdfast.relations_in(p_items jsonb)
returns table (ordinal integer, subject bigint, predicate text, object bigint, maker text, confidence real)
language sql immutable as $$
    select (i.item ->> 'ordinal')::integer, i.before + (r.relation ->> 0)::integer + 1, r.relation ->> 1,
           i.before + (r.relation ->> 2)::integer + 1, i.item ->> 'maker', (r.relation ->> 3)::real
    from (
        select item, sum(jsonb_array_length(item -> 'entities')) over (order by n) - jsonb_array_length(item -> 'entities')
               as before
        from jsonb_array_elements(p_items) with ordinality i(item, n)
    ) i
    cross join lateral jsonb_array_elements(i.item -> 'relations') r(relation)
$$;

-- The job, if it is claimed under that token, kept so until the transaction ends.
create or replace function holdfast.claimed_for_graph(p_job bigint, p_token bigint) returns holdfast.pipeline_job
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job;
begin
    select * into v_job from pipeline_job where id = p_job and token = p_token and state = 'working' for share;
    if not found then
        raise exception 'the claim on job % was lost: nothing is added to the graph', p_job using errcode = 'HF409';
    end if;
    return v_job;
end $$;

-- The name of an organisation's graph among advisory locks: adders share it, a removal has it alone.
create or replace function holdfast.graph_lock(p_organisation text) returns bigint
language sql immutable as $$ select hashtextextended('holdfast graph ' || p_organisation, 0) $$;
