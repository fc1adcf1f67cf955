-- Places p_count jobs of an organisation in the fair order: the k-th gets first_vtime + (k - 1) * step.
-- Takes the rows no other transaction holds and makes them one, or makes a new one, so that concurrent submitters never
-- wait for each other. Beside n others each advances n + 1 times as far, which keeps the organisation's pace the same.
create or replace function holdfast.take_turns(
    p_pipeline text, p_organisation text, p_count bigint, p_front double precision,
    out first_vtime double precision, out step double precision
)
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_weight double precision := coalesce((select weight from organisation where name = p_organisation), 1);
    v_shares bigint := (select count(*) from fair_share where pipeline = p_pipeline and organisation = p_organisation);
    v_free bigint[];
    v_last double precision;
begin
    -- Rows that advanced side by side, each in wide strides, stand together where their mean is.
    with free as (
        select id, last_vtime
        from fair_share
        where pipeline = p_pipeline and organisation = p_organisation
        for update skip locked
    )
    select array_agg(id), avg(greatest(last_vtime, p_front)) into v_free, v_last from free;
    -- Counted a moment earlier than locked, so another's commit may lie between.
    step := greatest(1 + v_shares - coalesce(cardinality(v_free), 0), 1) / v_weight;
    first_vtime := coalesce(v_last, p_front) + step;
    if v_free is null then
        insert into fair_share (pipeline, organisation, last_vtime)
        values (p_pipeline, p_organisation, first_vtime + (p_count - 1) * step);
    else
        update fair_share set last_vtime = first_vtime + (p_count - 1) * step where id = v_free[1];
        if cardinality(v_free) > 1 then
            delete from fair_share where id = any (v_free[2:]);
        end if;
    end if;
end $$;
