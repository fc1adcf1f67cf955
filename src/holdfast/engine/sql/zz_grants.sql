-- Who may do what. Nobody but the owner writes a table: all changes go through the functions named here.
revoke all on all functions in schema holdfast from public;
revoke all on all tables in schema holdfast from public;
grant usage on schema holdfast to holdfast_worker, holdfast_api, holdfast_readonly;
grant select on all tables in schema holdfast to holdfast_worker, holdfast_api, holdfast_readonly;
revoke all on holdfast.error_log, holdfast.audit_log from holdfast_worker, holdfast_api, holdfast_readonly;
-- Answers quote documents: whoever claims the job gets its own.
revoke all on holdfast.awaited_answer from holdfast_worker, holdfast_api, holdfast_readonly;

grant execute on function
    holdfast.clock(), holdfast.register_policy(jsonb), holdfast.register_pipeline(jsonb),
    holdfast.register_worker(text, text, integer, jsonb), holdfast.stop_worker(text),
    holdfast.submit(text, jsonb), holdfast.claim(text, jsonb),
    holdfast.heartbeat(text, jsonb, boolean, double precision, bigint), holdfast.settle(jsonb),
    holdfast.fail(jsonb), holdfast.give_back(jsonb), holdfast.await_answers(jsonb), holdfast.reserve_budget(bigint, bigint, numeric),
    holdfast.settle_budget(bigint, bigint, numeric), holdfast.settle_saved(bigint, bigint, numeric), holdfast.sweep(double precision, text),
    holdfast.check_timeouts(double precision), holdfast.advance_trials(), holdfast.members_under_way(bigint), holdfast.wake_parents()
to holdfast_worker;

grant execute on function
    holdfast.clock(), holdfast.submit(text, jsonb), holdfast.cancel(bigint[], text, text),
    holdfast.retry(bigint[], text, text, text), holdfast.reset(bigint[], text, text),
    holdfast.try_first(jsonb, integer, text, text),
    holdfast.requeue_stuck(integer, text, text, text), holdfast.hold(jsonb, timestamptz, text, text),
    holdfast.release(bigint, text, text), holdfast.set_budget(text, numeric, text, text, text),
    holdfast.check_timeouts(double precision), holdfast.matching_jobs(jsonb, integer), holdfast.fingerprint(text, text, text, text),
    holdfast.answer(text, text, text, text, jsonb)
to holdfast_api;

grant execute on function
    holdfast.clock(), holdfast.matching_jobs(jsonb, integer), holdfast.fingerprint(text, text, text, text)
to holdfast_readonly;
