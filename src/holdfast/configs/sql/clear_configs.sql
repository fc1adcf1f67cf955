-- Takes away what an earlier attempt at a run left behind, some of it at a time, while its job works under that token: what
-- follows is then the same as if that attempt had never been. Answers whether there may be more; HF409 when the claim was lost.
create or replace function holdfast.clear_configs(p_job bigint, p_token bigint, p_limit integer) returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document bigint := document_under_claim(p_job, p_token);
    v_count bigint;
begin
    delete from config_setting where ctid = any (array(
        select ctid from config_setting where document_id = v_document order by file_number limit p_limit
    ));
    get diagnostics v_count = row_count;
    if v_count = 0 then
        perform remove_configs(v_document);
    end if;
    return v_count > 0;
end $$;
