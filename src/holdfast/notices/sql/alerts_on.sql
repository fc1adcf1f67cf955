-- Every alert that is on now: what it is about, in words and in figures.
create or replace function holdfast.alerts_on()
returns table (kind text, scope text, organisation text, message text, figures jsonb)
language sql volatile set search_path = holdfast, pg_temp as $$
    select 'error_rate', 'everything', null, format('%s %% of the attempts of the last hour failed (%s of %s): see holdfast errors',
               round(100.0 * r.failed / r.attempts, 1), r.failed, r.attempts), to_jsonb(r)
    from alarming_error_rate() r
    union all
    select 'stuck_jobs', 'everything', null,
           format('%s jobs made no progress for 10 minutes: see holdfast status', count(*)),
           jsonb_build_object('jobs', count(*), 'first_ids', (array_agg(s.job_id))[:20])
    from overview_stuck(10) s
    having count(*) > 0
    union all
    select 'budget_spent', b.name, b.organisation,
           format('budget "%s" has %s USD left of %s and refused %s times today: its jobs wait until %s, or raise it with holdfast budget set',
                  b.name, trim_scale(b.left_usd), trim_scale(b.limit_usd), b.refusals, b.resets_at),
           to_jsonb(b)
    from overview_budgets() b
    where b.refusals > 0 and (b.left_usd <= 0 or exists (
        select from hold h
        where h.budget = b.name and h.organisation is not distinct from b.organisation
          and h.drained_at is null and h.released_at is null and h.until > clock()))
    union all
    select 'dead_letters', 'everything', null,
           format('%s jobs came to the dead letter within the last hour: see holdfast jobs --state deadletter', count(*)),
           jsonb_build_object('jobs', count(*))
    from pipeline_job j
    where j.state = 'deadletter' and j.finished_at >= (select clock() - interval '1 hour')
    having count(*) >= 10
$$;

-- The failures of the last hour, if they are more than a tenth of at least 20 attempts. Once that is on, it takes less than a
-- twentieth to end it: a rate that hovers is one incident. Attempts are counted only as far as that decides.
create or replace function holdfast.alarming_error_rate() returns table (failed bigint, attempts bigint)
language plpgsql volatile set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
declare
    v_since timestamptz := clock() - interval '1 hour';
    v_is_on boolean := exists (select from incident i where i.kind = 'error_rate' and i.closed_at is null);
    v_part constant integer := case when v_is_on then 20 else 10 end;
    v_fewest constant integer := case when v_is_on then 1 else 20 end;
begin
    failed := (select count(*) from pipeline_phase where ended_at >= v_since and outcome in ('failed', 'timeout'));
    if failed = 0 then
        return;
    end if;
    attempts := (select count(*) from (
        select from pipeline_phase
        where ended_at >= v_since and outcome in ('completed', 'failed', 'timeout') limit v_part * failed) counted);
    if attempts < v_part * failed and attempts >= v_fewest then
        return next;
    end if;
end $$;
