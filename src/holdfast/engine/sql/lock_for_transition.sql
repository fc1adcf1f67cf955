-- Locks what a transition of jobs touches, in the one order that everyone keeps: jobs, documents, days of budgets, holds, each
-- by id. Whoever changes several of them calls this first and looks again after it: then nobody waits in a circle.
-- p_documents: more documents than those of the jobs. p_holding: those of the jobs whose failure may place a hold.
create or replace function holdfast.lock_for_transition(
    p_jobs bigint[], p_documents bigint[] default '{}', p_holding bigint[] default '{}'
) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    -- By key alone: where the state is named too, a plan may walk all jobs under way.
    perform from pipeline_job where id = any (p_jobs) order by id for update;
    perform lock_documents(p_documents || array(select document_id from pipeline_job where id = any (p_jobs)));
    perform lock_budgets_and_holds(p_jobs, p_holding);
end $$;

-- The same for who ends attempts. Items: job_id, token. Of a job that is not at work under that token any more, the money of earlier
-- attempts may be settled anew.
create or replace function holdfast.lock_for_endings(p_items jsonb, p_holding bigint[] default '{}') returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_jobs bigint[] := array(select i.job_id from jsonb_to_recordset(p_items) as i(job_id bigint));
begin
    perform from pipeline_job where id = any (v_jobs) order by id for update;
    perform lock_documents(array(select document_id from pipeline_job where id = any (v_jobs)));
    perform lock_budgets_and_holds(v_jobs, p_holding, array(
        select j.id from jsonb_to_recordset(p_items) as i(job_id bigint, token bigint) join pipeline_job j on j.id = i.job_id
        where j.token <> i.token or j.state <> 'working'));
end $$;

-- The second step, for who has locked the jobs.
create or replace function holdfast.lock_documents(p_documents bigint[]) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select from document where id = any (p_documents) order by id for no key update
$$;

-- The third and the fourth: the days on which the jobs have reserved money, and the holds that wait for it. Where a hold may be
-- placed, today's day of the budget, and the holds that may be placed anew. Of jobs that end late (p_late), all days they ever used.
create or replace function holdfast.lock_budgets_and_holds(
    p_jobs bigint[], p_holding bigint[] default '{}', p_late bigint[] default '{}'
) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    c_placing constant bigint := x'686f6c64'::bigint;   -- "hold" in ASCII
    v_budgets bigint[] := array(
        select e.budget_id
        from pipeline_job j join budget_entry e on e.job_id = j.id and e.token = j.token
        where j.id = any (p_jobs) and e.settled_at is null
        union
        select e.budget_id from budget_entry e where e.job_id = any (p_late)
    );
begin
    if v_budgets = '{}' and p_holding = '{}' then
        return;
    end if;
    perform from budget_day d
    join (
        select e.budget_id, e.day
        from pipeline_job j join budget_entry e on e.job_id = j.id and e.token = j.token
        where j.id = any (p_jobs) and e.settled_at is null
        union
        select e.budget_id, e.day from budget_entry e where e.job_id = any (p_late)
        union
        select b.id, budget_today(b)
        from used_scopes(p_holding) s cross join lateral budget_for(s.budget, s.organisation) b
    ) t on t.budget_id = d.budget_id and t.day = d.day
    order by d.budget_id, d.day
    for update of d;
    if p_holding <> '{}' then
        -- A hold that is not there yet has no id to be sorted by: who may place several does so alone.
        perform pg_advisory_xact_lock(c_placing);
    end if;
    perform from hold
    where id = any (array(
        select h.id from budget b cross join lateral holds_on_budget(b.name, b.organisation) h where b.id = any (v_budgets)
        union all
        select h.id from used_scopes(p_holding) s
        cross join lateral (
            select id from hold where provider = s.provider and organisation = s.organisation and drained_at is null
            union all
            select id from hold
            where provider is null and organisation = s.organisation and pipeline = s.pipeline and phase = s.phase and drained_at is null
            union all
            select id from holds_on_budget(s.budget, s.organisation)
        ) h
    ))
    order by id
    for no key update;
end $$;

-- The holds on a budget, an organisation's own and the one shared by all, found by key however many there are.
create or replace function holdfast.holds_on_budget(p_budget text, p_organisation text) returns setof holdfast.hold
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select * from hold
    where provider is null and organisation = p_organisation and pipeline is null and phase is null and budget = p_budget
      and drained_at is null
    union all
    select * from hold
    where provider is null and organisation is null and pipeline is null and phase is null and budget = p_budget
      and drained_at is null
$$;

-- By what the holds are named that failures of jobs may place.
create or replace function holdfast.used_scopes(p_jobs bigint[])
returns table (provider text, organisation text, pipeline text, phase text, budget text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select distinct p.provider, j.organisation, j.pipeline, j.phase, p.budget
    from pipeline_job j join phase p on p.pipeline = j.pipeline and p.name = j.phase
    where j.id = any (p_jobs)
$$;

-- Those of the jobs whose phase's policy may answer a failure of that category with a hold on more than their own document.
create or replace function holdfast.holding_jobs(p_jobs bigint[], p_category text) returns setof bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select j.id
    from pipeline_job j
    join phase p on p.pipeline = j.pipeline and p.name = j.phase
    where j.id = any (p_jobs) and exists (
        select from policy_rule r
        where r.policy = coalesce(j.policy, p.policy) and r.category in (p_category, 'unknown')
          and (r.holds in ('retry_after', 'budget_day', 'release') or r.hold_seconds is not null)
    )
$$;

-- The jobs, locked so, for who ends each as a failure of that category.
create or replace function holdfast.lock_and_list_jobs(p_jobs bigint[], p_category text) returns setof holdfast.pipeline_job
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    perform lock_for_transition(p_jobs, p_holding => array(select holding_jobs(p_jobs, p_category)));
    return query select * from pipeline_job where id = any (p_jobs) order by id;
end $$;
