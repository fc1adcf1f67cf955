-- What a job makes of a document is a generation, named by the job: chunks, vectors, and what it added to the graph.

-- The generation that answers for a document or, where none does yet, the newest that is being made.
create or replace function holdfast.generation_of(p_document bigint) returns bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select coalesce(
        (select d.generation_id from document d where d.id = p_document),
        (select max(j.id) from jobs_of(p_document) j))
$$;

-- Notes generations that answer no more, or never will: they are removed later. Idempotent.
create or replace function holdfast.retire_generations(p_generations bigint[]) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    insert into retired_generation (id, organisation, retired_at)
    select j.id, j.organisation, clock()
    from unnest(p_generations) as g(id) join pipeline_job j on j.id = g.id
    -- Looked up one by one: "exists" might read them all.
    where (select true from chunk c where c.generation_id = g.id limit 1)
       or (select true from entity_mention m where m.generation_id = g.id limit 1)
    on conflict do nothing
$$;

-- Removes what retired generations hold, at most about p_limit chunks at a time, and says how much of each kind; "generations"
-- counts those that are gone. Repeat until it is 0. A job that was opened again keeps what it makes.
create or replace function holdfast.remove_retired_generations(p_limit integer) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_retired retired_generation;
    v_counts jsonb := '{"generations": 0, "chunks": 0}';
    v_before integer;
begin
    select r.* into v_retired from retired_generation r order by r.retired_at, r.id limit 1 for update skip locked;
    if not found then
        return v_counts;
    end if;
    perform from pipeline_job where id = v_retired.id and state not in ('done', 'deadletter', 'cancelled') for update;
    if found or exists (select from document where generation_id = v_retired.id) then
        delete from retired_generation where id = v_retired.id;
        return v_counts || '{"generations": 1}';
    end if;
    select max(ordinal) + 1 into v_before
    from (select ordinal from chunk where generation_id = v_retired.id order by ordinal limit p_limit) c;
    v_counts := add_counts(v_counts, remove_part_of_generation(v_retired.id, v_before));
    if v_before is null or not exists (select from chunk where generation_id = v_retired.id) then
        v_counts := add_counts(v_counts, remove_part_of_generation(v_retired.id, null));
        delete from retired_generation where id = v_retired.id;
    end if;
    return v_counts || '{"generations": 1}';
end $$;

-- Removes what a generation made of its chunks before an ordinal, null for all, and says how much of each kind. Idempotent.
-- The packages that made it know how; one that is not there has nothing to remove.
create or replace function holdfast.remove_part_of_generation(p_generation bigint, p_before integer) returns jsonb
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_remove text;
    v_removed jsonb;
    v_counts jsonb := '{}';
begin
    foreach v_remove in array array['remove_part_from_graph', 'remove_embeddings', 'remove_chunks'] loop
        if to_regprocedure(format('holdfast.%I(bigint, integer)', v_remove)) is not null then
            execute format('select holdfast.%I($1, $2)', v_remove) into v_removed using p_generation, p_before;
            v_counts := add_counts(v_counts, v_removed);
        end if;
    end loop;
    return v_counts;
end $$;

grant execute on function holdfast.generation_of(bigint) to holdfast_worker, holdfast_api, holdfast_readonly;
grant execute on function holdfast.remove_retired_generations(integer) to holdfast_worker, holdfast_api;
