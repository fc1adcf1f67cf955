-- Old rows quote every organisation's documents: nobody but the owner, who takes over, reads them. Who works on a document asks
-- which flow it belongs to.
revoke all on holdfast.takeover, holdfast.taken_row from holdfast_worker, holdfast_api, holdfast_readonly;

revoke all on function
    holdfast.begin_takeover(text, text, jsonb, text, text, integer, jsonb, text), holdfast.finish_takeover(bigint, text, jsonb),
    holdfast.measure_takeover(), holdfast.audit_takeover(holdfast.takeover, text, text, jsonb), holdfast.flow_of(text, text),
    holdfast.chosen_flow(integer, jsonb, text), holdfast.takeover_of(text, text), holdfast.takeovers_named(text, text),
    holdfast.known_rows(bigint, integer, jsonb, text[]),
    holdfast.take_rows(bigint, text, text, jsonb), holdfast.taken_items(jsonb, bigint[], bigint[], boolean[]),
    holdfast.take_documents(jsonb, bigint[], bigint[], boolean[]), holdfast.take_jobs(holdfast.takeover, jsonb, bigint[], bigint[], boolean[]),
    holdfast.taken_jobs(holdfast.takeover, jsonb, bigint[], bigint[], boolean[], timestamptz),
    holdfast.taken_error(jsonb, timestamptz, timestamptz), holdfast.begin_undo(bigint, text), holdfast.worked_rows(bigint, text[]),
    holdfast.undo_rows(bigint, integer), holdfast.let_go(bigint, bigint[]), holdfast.finish_undo(bigint, text, jsonb),
    holdfast.takeovers(), holdfast.takeover_counts(bigint), holdfast.taken_keys(bigint, text, integer),
    holdfast.note_gone(bigint, text[]), holdfast.note_changed(bigint, jsonb), holdfast.left_rows(bigint, integer),
    holdfast.carried_rows(bigint, text[]), holdfast.give_back(bigint, text[]), holdfast.staying_rows(bigint),
    holdfast.rows_beyond_share(bigint)
from public;

grant execute on function holdfast.flow_of(text, text) to holdfast_worker, holdfast_api;
grant execute on function holdfast.takeovers() to holdfast_api, holdfast_readonly;
