-- How many rows an answer may have. Refuses what is negative, or more than a person can read.
create or replace function holdfast.overview_limit(p_limit integer) returns integer
language plpgsql immutable as $$
begin
    if p_limit is null or p_limit < 0 or p_limit > 10000 then
        raise exception 'a limit of % makes no sense: name 0 to 10000', p_limit using errcode = 'HF400';
    end if;
    return p_limit;
end $$;

grant execute on function holdfast.overview_limit(integer) to holdfast_api, holdfast_readonly;
