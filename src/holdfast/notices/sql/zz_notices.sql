-- Who may tell, and who may say whom. Secrets sign what we tell: nobody reads their table, whoever delivers is handed them.
revoke all on holdfast.receiver from holdfast_worker, holdfast_api, holdfast_readonly;
select holdfast.wall_off(name::regclass) from unnest(array['holdfast.receiver', 'holdfast.notice', 'holdfast.incident']) name;

grant execute on function
    holdfast.take_deliveries(text[], bigint[], integer),
    holdfast.end_delivery(bigint, bigint, text, integer, text, double precision), holdfast.mail_alerts_to(text[], text),
    holdfast.check_alerts()
to holdfast_worker, holdfast_api;

grant execute on function holdfast.ping(bigint, text) to holdfast_api;

grant execute on function
    holdfast.add_webhook(text, text, text[], text, text), holdfast.remove_receiver(bigint, text),
    holdfast.rotate_secret(bigint, text, text), holdfast.redeliver(bigint, text)
to holdfast_api, holdfast_tenant;

grant execute on function
    holdfast.receivers(), holdfast.deliveries(bigint, text, integer), holdfast.overview_incidents(integer)
to holdfast_api, holdfast_readonly;
