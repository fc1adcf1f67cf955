-- Writes a batch of what a run's archive holds while its job works under that token, all or none; HF409 when the claim was
-- lost. p_rows: files (number, source_path, file, encoding), stanzas (file_number, number, name, line), settings (file_number,
-- stanza_number, line, key, value) and errors (file_number, line, message, text); what a row belongs to comes before it or with
-- it. Idempotent: each stanza is stored once per run, file, name and source path, however often its batch is sent.
create or replace function holdfast.store_configs(p_job bigint, p_token bigint, p_rows jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_document bigint := document_under_claim(p_job, p_token);
    v_organisation text := (select organisation from document where id = v_document);
begin
    insert into config_file (document_id, number, organisation, source_path, file, encoding)
    select v_document, i.number, v_organisation, i.source_path, i.file, i.encoding
    from jsonb_to_recordset(p_rows -> 'files') as i(number integer, source_path text, file text, encoding text)
    on conflict do nothing;
    insert into config_stanza (document_id, file_number, number, organisation, file, name, source_path, line)
    select v_document, i.file_number, i.number, v_organisation, f.file, i.name, f.source_path, i.line
    from jsonb_to_recordset(p_rows -> 'stanzas') as i(file_number integer, number integer, name text, line integer)
    join config_file f on f.document_id = v_document and f.number = i.file_number
    on conflict do nothing;
    insert into config_setting (document_id, file_number, stanza_number, line, organisation, key, value)
    select v_document, i.file_number, i.stanza_number, i.line, v_organisation, i.key, i.value
    from jsonb_to_recordset(p_rows -> 'settings')
         as i(file_number integer, stanza_number integer, line integer, key text, value text)
    on conflict do nothing;
    insert into config_parse_error (document_id, file_number, line, organisation, message, text)
    select v_document, i.file_number, i.line, v_organisation, i.message, i.text
    from jsonb_to_recordset(p_rows -> 'errors') as i(file_number integer, line integer, message text, text text)
    on conflict do nothing;
end $$;

-- The document of a job that is working under this token; the job cannot be taken away before the transaction ends.
create or replace function holdfast.document_under_claim(p_job bigint, p_token bigint) returns bigint
language sql set search_path = holdfast, pg_temp as $$
    select hold_claim(p_job, p_token);
    select document_id from pipeline_job where id = p_job
$$;
