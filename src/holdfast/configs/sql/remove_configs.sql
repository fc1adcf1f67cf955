-- Removes everything that was read from a configuration archive and says how much that was. Idempotent.
create or replace function holdfast.remove_configs(p_document bigint) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_settings bigint;
    v_stanzas bigint;
    v_files bigint;
begin
    delete from config_setting where document_id = p_document;
    get diagnostics v_settings = row_count;
    delete from config_stanza where document_id = p_document;
    get diagnostics v_stanzas = row_count;
    delete from config_parse_error where document_id = p_document;
    delete from config_file where document_id = p_document;
    get diagnostics v_files = row_count;
    return jsonb_build_object('config_files', v_files, 'stanzas', v_stanzas, 'settings', v_settings);
end $$;
