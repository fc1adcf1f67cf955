-- A failure may also make its own document wait, and nobody else: a site that asks for patience is not the only one.
set local role holdfast_owner;

alter table holdfast.policy_rule
    drop constraint policy_rule_holds_check,
    add constraint policy_rule_holds_check check (holds in ('retry_after', 'document', 'budget_day', 'release'));

reset role;
