-- A success may not know what it cost either, and says so where failures do. The old rows are known to comply.
set local role holdfast_owner;

alter table holdfast.pipeline_phase
    drop constraint pipeline_phase_check,
    add constraint pipeline_phase_check
        check (case when outcome = 'completed' then category is null else error is not null end) not valid;

reset role;
