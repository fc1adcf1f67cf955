-- An operator keeps a scope (provider, organisation, pipeline, phase; those not named match all) from being claimed.
-- Without a moment it holds until released. Nobody loses an attempt. Audited.
create or replace function holdfast.hold(
    p_scope jsonb, p_until timestamptz default null, p_reason text default 'held by an operator', p_actor text default holdfast.actor()
) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_id bigint;
    v_stranger text := (
        select key from jsonb_each(p_scope)
        where key not in ('provider', 'organisation', 'pipeline', 'phase') or jsonb_typeof(value) <> 'string' limit 1);
begin
    if v_stranger is not null then
        raise exception 'a hold has no scope "%": name provider, organisation, pipeline or phase as text', v_stranger
            using errcode = 'HF400';
    elsif p_scope is null or p_scope = '{}' then
        raise exception 'a hold needs a scope: name at least one of provider, organisation, pipeline, phase'
            using errcode = 'HF400';
    elsif p_scope ? 'pipeline' and not exists (select from pipeline where name = p_scope ->> 'pipeline') then
        raise exception 'there is no pipeline "%"', p_scope ->> 'pipeline' using errcode = 'HF404';
    elsif p_scope ? 'phase' and not exists (select from phase where name = p_scope ->> 'phase'
                                            and pipeline = coalesce(p_scope ->> 'pipeline', pipeline)) then
        raise exception 'there is no phase "%"', p_scope ->> 'phase' using errcode = 'HF404';
    elsif p_until <= clock() then
        raise exception 'a hold until % is over already: name a later moment', p_until using errcode = 'HF400';
    end if;
    v_id := place_hold(p_scope ->> 'provider', p_scope ->> 'organisation', p_scope ->> 'pipeline', p_scope ->> 'phase',
                       null, coalesce(p_until, 'infinity'), p_reason, p_actor);
    insert into audit_log (at, actor, action, reason, after)
    values (clock(), p_actor, 'hold', p_reason, p_scope || jsonb_build_object('hold_id', v_id, 'until', p_until));
    return v_id;
end $$;
