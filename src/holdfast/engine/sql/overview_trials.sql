-- What was tried on a few first, the newest first; one trial, if it is named. "retried" counts the rest, as far as it was retried.
create or replace function holdfast.overview_trials(p_limit integer, p_trial_id bigint default null)
returns table (trial_id bigint, state text, organisation text, filter jsonb, first_jobs bigint[], retried bigint, reason text,
               created_at timestamptz, created_by text, ended_at timestamptz, why text)
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select t.id, t.state, t.organisation, t.filter, t.first_jobs, t.retried, t.reason, t.created_at, t.created_by, t.ended_at, t.why
    from trial t
    where p_trial_id is null or t.id = p_trial_id
    order by t.id desc
    limit overview_limit(p_limit)
$$;

grant execute on function holdfast.overview_trials(integer, bigint) to holdfast_api, holdfast_readonly;
