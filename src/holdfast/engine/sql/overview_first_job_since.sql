-- The id from which on jobs were submitted at or after a moment; null when there are none. Ids are handed out in that
-- order, so a bisection finds it with a few dozen look-ups. Jobs submitted side by side may lie a little before it.
create or replace function holdfast.overview_first_job_since(p_since timestamptz) returns bigint
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
    v_low bigint := 0;   -- everything up to here is older
    v_high bigint := (select max(id) from pipeline_job);
    v_middle bigint;
    v_found record;
begin
    if v_high is null or (select submitted_at < p_since from pipeline_job where id = v_high) then
        return null;
    end if;
    while v_high - v_low > 1 loop
        v_middle := v_low + (v_high - v_low) / 2;
        select id, submitted_at into v_found from pipeline_job where id >= v_middle order by id limit 1;
        if v_found.submitted_at < p_since then
            v_low := v_found.id;
        else
            v_high := v_middle;
        end if;
    end loop;
    return v_high;
end $$;

grant execute on function holdfast.overview_first_job_since(timestamptz) to holdfast_api, holdfast_readonly;
