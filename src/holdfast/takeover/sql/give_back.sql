-- Giving back: a row that Holdfast carries and that was chosen for the old flow since.

-- Which of these rows Holdfast carries, and why one stays with it. Without a reason it can go back to the old flow.
create or replace function holdfast.carried_rows(p_takeover bigint, p_keys text[]) returns table (key text, reason text)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select r.key,
           case when d.deleted_at is not null then 'it was deleted here'
                when w.document_id is not null then 'it was worked on here'
                when j.state = 'cancelled' then 'it was cancelled here' end
    from taken_row r
    join document d on d.id = r.document_id
    left join pipeline_job j on j.id = r.job_id
    left join worked_rows(p_takeover, p_keys) as w(document_id) on w.document_id = r.document_id
    where r.takeover_id = p_takeover and r.key = any (p_keys) and r.flow = 'new' and r.gone_at is null and r.let_go_at is null
    order by r.key
$$;

-- Gives rows back to the old flow and returns those that stay. Nobody claims one meanwhile; what is shown of it the caller brings up
-- to date in the same transaction.
create or replace function holdfast.give_back(p_takeover bigint, p_keys text[]) returns setof text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_going text[];
begin
    perform from takeover where id = p_takeover for update;
    perform from pipeline_job where id = any (array(select job_id from taken_row where takeover_id = p_takeover and key = any (p_keys)))
    order by id for update;
    v_going := array(select c.key from carried_rows(p_takeover, p_keys) c where c.reason is null);
    update pipeline_job j
    set flow = 'old', state = case j.state when 'queued' then 'held' else j.state end, ready_at = null, hold_id = null, queued_at = null
    from taken_row r
    where r.takeover_id = p_takeover and r.key = any (v_going) and j.id = r.job_id;
    return query select k from unnest(p_keys) k where k <> all (v_going);
end $$;

-- The rows that Holdfast carries although they were chosen for the old flow, and why.
create or replace function holdfast.staying_rows(p_takeover bigint) returns table (key text, reason text)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select c.key, coalesce(c.reason, 'it goes back with a run that reads it and knows its status')
    from takeover t
    cross join lateral carried_rows(t.id, array(select e.key from jsonb_each_text(t.chosen) e where e.value = 'old')) c
    where t.id = p_takeover
$$;

-- How many rows Holdfast carries although the share is smaller by now. Costs a pass over the backup.
create or replace function holdfast.rows_beyond_share(p_takeover bigint) returns bigint
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select count(*)
    from takeover t
    join taken_row r on r.takeover_id = t.id and r.flow = 'new' and r.gone_at is null and r.let_go_at is null
    where t.id = p_takeover and t.share < 100 and not t.chosen ? r.key and chosen_flow(t.share, t.chosen, r.key) = 'old'
$$;
