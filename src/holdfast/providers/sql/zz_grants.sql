-- Answers quote documents: nobody reads the table, workers recall by key.
revoke all on holdfast.paid_answer from holdfast_worker, holdfast_api, holdfast_readonly;

grant execute on function
    holdfast.keep_answer(text, bigint, text, jsonb, numeric, bigint, bigint), holdfast.keep_late_answer(jsonb),
    holdfast.recall_answers(text, text[])
to holdfast_worker;

grant execute on function holdfast.remove_answers(bigint), holdfast.remove_old_answers() to holdfast_worker, holdfast_api;
