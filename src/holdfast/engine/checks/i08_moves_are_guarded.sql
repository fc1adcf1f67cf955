-- I8: the trigger that refuses illegal moves, and tokens that go back (I5), must be there and fire.
select 'pipeline_job.refuse_illegal_move' as id
where not exists (
    select from pg_trigger t
    where t.tgrelid = to_regclass('holdfast.pipeline_job') and t.tgname = 'refuse_illegal_move' and t.tgenabled in ('O', 'A')
)
