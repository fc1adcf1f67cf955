-- Opens an incident for every alert that went on, closes those of alerts that went off, and announces each once. Safe at any
-- time, by any number of callers: whoever comes within half a minute of another does nothing.
create or replace function holdfast.check_alerts(out opened integer, out closed integer)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
    v_on jsonb;
    v_incident incident;
begin
    opened := 0;
    closed := 0;
    perform from maintenance where alerts_checked_at < v_now - interval '30 seconds' for update skip locked;
    if not found then
        return;
    end if;
    update maintenance set alerts_checked_at = v_now where alerts_checked_at < v_now;
    v_on := (select coalesce(jsonb_agg(a), '[]') from alerts_on() a);
    for v_incident in
        update incident i set closed_at = v_now
        where i.closed_at is null and not exists (
            select from jsonb_to_recordset(v_on) as a(kind text, scope text, organisation text)
            where a.kind = i.kind and a.scope = i.scope and a.organisation is not distinct from i.organisation)
        returning i.*
    loop
        perform announce_incident('alert.closed', v_incident);
        closed := closed + 1;
    end loop;
    for v_incident in
        insert into incident (kind, scope, organisation, opened_at, message, figures)
        select a.kind, a.scope, a.organisation, v_now, a.message, a.figures
        from jsonb_to_recordset(v_on) as a(kind text, scope text, organisation text, message text, figures jsonb)
        on conflict (kind, scope, organisation) where closed_at is null do nothing
        returning *
    loop
        perform announce_incident('alert.opened', v_incident);
        opened := opened + 1;
    end loop;
end $$;

create or replace function holdfast.announce_incident(p_event text, p_incident holdfast.incident) returns void
language sql set search_path = holdfast, pg_temp as $$
    select announce(p_event, jsonb_build_array(jsonb_build_object(
        'organisation', p_incident.organisation,
        'body', jsonb_build_object(
            'incident_id', p_incident.id, 'kind', p_incident.kind, 'scope', p_incident.scope,
            'organisation', p_incident.organisation, 'opened_at', p_incident.opened_at, 'closed_at', p_incident.closed_at,
            'message', p_incident.message, 'figures', p_incident.figures))))
$$;

-- Incidents, those still open first, then the newest.
create or replace function holdfast.overview_incidents(p_limit integer)
returns table (incident_id bigint, kind text, scope text, organisation text, opened_at timestamptz, closed_at timestamptz,
               message text, figures jsonb)
language sql stable security definer set search_path = holdfast, pg_temp set jit = off as $$
    select i.id, i.kind, i.scope, i.organisation, i.opened_at, i.closed_at, i.message, i.figures
    from incident i
    where is_own(i.organisation)
    order by i.closed_at is not null, i.id desc
    limit overview_limit(p_limit)
$$;
