-- When a window of the last so many hours or days began. Refuses one that is empty or longer than a year.
create or replace function holdfast.overview_since(p_count integer, p_unit text) returns timestamptz
language plpgsql volatile set search_path = holdfast, pg_temp as $$
declare
    v_most integer := case p_unit when 'hours' then 8784 else 366 end;
begin
    if p_count is null or p_count < 1 or p_count > v_most then
        raise exception 'the last % % make no sense: name 1 to %', p_count, p_unit, v_most using errcode = 'HF400';
    end if;
    return clock() - case p_unit when 'hours' then make_interval(hours => p_count) else make_interval(days => p_count) end;
end $$;

grant execute on function holdfast.overview_since(integer, text) to holdfast_api, holdfast_readonly;
