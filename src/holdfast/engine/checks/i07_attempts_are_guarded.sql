-- I7: no row can show that an attempt or an audit record was changed, so the triggers that refuse it must be there and fire.
select g.guarded || '.' || g.guard as id
from (values ('pipeline_phase', 'refuse_change'), ('pipeline_phase', 'refuse_delete'), ('audit_log', 'refuse_change'))
    as g(guarded, guard)
where not exists (
    select from pg_trigger t
    where t.tgrelid = to_regclass('holdfast.' || g.guarded) and t.tgname = g.guard and t.tgenabled in ('O', 'A')
)
