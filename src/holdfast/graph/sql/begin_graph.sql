-- Takes back what an earlier attempt of a job added, p_chunks of it at a time, so that adding starts afresh: call it until
-- it answers false. HF409 when the claim was lost.
create or replace function holdfast.begin_graph(p_job bigint, p_token bigint, p_chunks integer) returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job := claimed_for_graph(p_job, p_token);
    v_first integer := (
        select ordinal from entity_mention where generation_id = v_job.id order by ordinal limit 1
    );
begin
    if v_first is not null then
        perform remove_part_from_graph(v_job.id, v_first + p_chunks);
    end if;
    return v_first is not null;
end $$;
