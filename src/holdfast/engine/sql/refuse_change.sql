-- Attempts and the audit log are append-only, with two exceptions: of a deleted document's attempts the words go, exactly those;
-- and what an attempt cost that nobody could tell when it ended may become known.
create or replace function holdfast.refuse_change() returns trigger
language plpgsql set search_path = holdfast, pg_temp as $$
begin
    if tg_table_name = 'pipeline_phase' and tg_op = 'UPDATE' then
        if new is not distinct from without_words(old)
           and exists (select from document d where d.id = old.document_id and d.deleted_at is not null) then
            return new;
        elsif may_become_known(old) and without_cost(new) is not distinct from without_cost(old) then
            return new;
        end if;
    end if;
    raise exception '% is append-only: % refused', tg_table_name, lower(tg_op) using errcode = 'HF409';
end $$;

-- Whether an attempt was taken from its worker, which may still tell how it ended: it was silent, or an operator took its job back.
create or replace function holdfast.was_taken_away(p_attempt holdfast.pipeline_phase) returns boolean
language sql immutable set search_path = holdfast, pg_temp as $$
    select p_attempt.outcome = 'lost' or p_attempt.error -> 'taken_back' is not distinct from 'true'
$$;

-- Whether nobody knows yet what an attempt cost: it did not end by itself.
create or replace function holdfast.may_become_known(p_attempt holdfast.pipeline_phase) returns boolean
language sql immutable set search_path = holdfast, pg_temp as $$
    select (p_attempt.outcome = 'cancelled' or was_taken_away(p_attempt) or p_attempt.error -> 'details' -> 'cost_is_known' is not distinct from 'false')
       and p_attempt.error -> 'details' -> 'cost_is_known' is distinct from 'true'
$$;

-- An attempt without what it cost and what its error says of that.
create or replace function holdfast.without_cost(p_attempt holdfast.pipeline_phase) returns holdfast.pipeline_phase
language plpgsql immutable set search_path = holdfast, pg_temp as $$
begin
    p_attempt.cost_usd := null;
    p_attempt.error := jsonb_set(p_attempt.error, '{details}',
                                 coalesce(p_attempt.error -> 'details', '{}') - array['cost_is_known', 'resumed_as']);
    return p_attempt;
end $$;

-- An attempt as it stays when its document is deleted: what it cost, when and how it ended, which artifacts it got and made.
create or replace function holdfast.without_words(p_attempt holdfast.pipeline_phase) returns holdfast.pipeline_phase
language plpgsql immutable set search_path = holdfast, pg_temp as $$
begin
    p_attempt.input := artifacts_in(p_attempt.input);
    p_attempt.output := artifacts_in(p_attempt.output);
    p_attempt.error := p_attempt.error || jsonb_build_object(
        'error', 'deleted with its document',
        -- Money that may have been paid stays known.
        'details', case when p_attempt.error -> 'details' -> 'cost_is_known' = 'false' then '{"cost_is_known": false}'::jsonb
                        else '{}' end);
    return p_attempt;
end $$;

-- The artifacts among what a phase got or made; null where there is none. A list of what may stay: pipelines hand on anything.
create or replace function holdfast.artifacts_in(p_value jsonb) returns jsonb
language sql immutable set search_path = holdfast, pg_temp as $$
    select jsonb_object_agg(e.key, e.value)
    from jsonb_each(case when jsonb_typeof(p_value) = 'object' then p_value end) as e
    where e.value ->> 'hash' ~ '^[0-9a-f]{64}$' and jsonb_typeof(e.value -> 'size') = 'number'
      and e.value - array['hash', 'size'] = '{}'
$$;
