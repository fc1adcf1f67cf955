-- Where tokens are let in, they stay let in exactly as far as this version says.
do $claims$
begin
    if to_regrole('holdfast_claims') is not null and exists (select from holdfast.claim_path) then
        perform holdfast.allow_claims();
    end if;
end
$claims$;

grant execute on function holdfast.actor() to holdfast_api, holdfast_tenant;
