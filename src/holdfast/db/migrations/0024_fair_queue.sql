-- Who paid for an answer.
set local role holdfast_owner;

-- The attempt that paid; answers kept before this was noted have none.
alter table holdfast.paid_answer
    add column job_id bigint,
    add column token bigint;

-- Its successor is told who paid.
drop function if exists holdfast.keep_answer(text, bigint, text, jsonb, numeric);

reset role;
