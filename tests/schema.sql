-- read by nobody but the owner
create table holdfast.api_key (
    id bigint not null generated always as identity,
    organisation text,
    name text not null,
    scope text not null,
    hint text not null,
    key_hash bytea not null,
    created_at timestamp with time zone not null,
    created_by text not null,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    constraint api_key_key_hash_check CHECK ((length(key_hash) = 32)),
    constraint api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    constraint api_key_organisation_check CHECK (((length(organisation) >= 1) AND (length(organisation) <= 255))),
    constraint api_key_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text]))),
    constraint api_key_pkey PRIMARY KEY (id),
    constraint api_key_key_hash_key UNIQUE (key_hash)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.artifact (
    organisation text not null,
    hash text not null,
    size bigint not null,
    stored_at timestamp with time zone not null,
    removing_until timestamp with time zone,
    constraint artifact_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
    constraint artifact_size_check CHECK ((size >= 0)),
    constraint artifact_pkey PRIMARY KEY (organisation, hash)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.artifact_lease (
    organisation text not null,
    hash text not null,
    holder text not null,
    leased_at timestamp with time zone not null,
    constraint artifact_lease_organisation_hash_fkey FOREIGN KEY (organisation, hash) REFERENCES holdfast.artifact(organisation, hash),
    constraint artifact_lease_pkey PRIMARY KEY (organisation, hash, holder)
);
CREATE INDEX artifact_lease_age ON holdfast.artifact_lease USING btree (leased_at);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.artifact_use (
    document_id bigint not null,
    kind text not null,
    organisation text not null,
    hash text not null,
    used_at timestamp with time zone not null,
    constraint artifact_use_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint artifact_use_organisation_hash_fkey FOREIGN KEY (organisation, hash) REFERENCES holdfast.artifact(organisation, hash),
    constraint artifact_use_pkey PRIMARY KEY (document_id, kind)
);
CREATE INDEX artifact_use_artifact ON holdfast.artifact_use USING btree (organisation, hash);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
-- view attempt with (security_invoker=true): job_id bigint, document_id bigint, organisation text, pipeline text, phase text, run integer, token bigint, phase_id bigint, parent_phase_id bigint, outcome text, attempt integer, worker_id text, started_at timestamp with time zone, ended_at timestamp with time zone, input jsonb, output jsonb, category text, error jsonb, cost_usd numeric, progress real

-- read by nobody but the owner
create table holdfast.audit_log (
    id bigint not null generated always as identity,
    at timestamp with time zone not null,
    actor text not null,
    action text not null,
    job_id bigint,
    reason text,
    before jsonb,
    after jsonb,
    constraint audit_log_pkey PRIMARY KEY (id),
    constraint audit_log_job_id_id_key UNIQUE (job_id, id)
);
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE ON holdfast.audit_log FOR EACH ROW EXECUTE FUNCTION holdfast.refuse_change();

-- read by nobody but the owner
create table holdfast.awaited_answer (
    id bigint not null generated always as identity,
    provider text not null,
    reference text not null,
    job_id bigint,
    token bigint,
    run integer,
    phase text,
    asked_at timestamp with time zone,
    deadline timestamp with time zone,
    message_id text,
    outcome text,
    body jsonb,
    answered_at timestamp with time zone,
    constraint answered_with_an_outcome CHECK (((outcome IS NULL) = (answered_at IS NULL))),
    constraint asked_as_a_whole CHECK ((num_nulls(job_id, token, run, phase, asked_at, deadline) = ANY (ARRAY[0, 6]))),
    constraint asked_or_answered CHECK (((job_id IS NOT NULL) OR (answered_at IS NOT NULL))),
    constraint awaited_answer_message_id_check CHECK (((length(message_id) >= 1) AND (length(message_id) <= 255))),
    constraint awaited_answer_outcome_check CHECK ((outcome = ANY (ARRAY['completed'::text, 'failed'::text]))),
    constraint awaited_answer_provider_check CHECK (((length(provider) >= 1) AND (length(provider) <= 63))),
    constraint awaited_answer_reference_check CHECK (((length(reference) >= 1) AND (length(reference) <= 255))),
    constraint awaited_answer_job_id_fkey FOREIGN KEY (job_id) REFERENCES holdfast.pipeline_job(id),
    constraint awaited_answer_pkey PRIMARY KEY (id),
    constraint awaited_answer_job_id_token_key UNIQUE (job_id, token),
    constraint awaited_answer_provider_reference_key UNIQUE (provider, reference)
);
CREATE INDEX awaited_answer_deadline ON holdfast.awaited_answer USING btree (deadline) WHERE (job_id IS NOT NULL);
CREATE INDEX awaited_answer_unasked ON holdfast.awaited_answer USING btree (provider, answered_at) WHERE (job_id IS NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.budget (
    id bigint not null generated always as identity,
    name text not null,
    organisation text,
    daily_limit_usd numeric not null default 5,
    time_zone text not null default 'UTC'::text,
    kept_day date,
    kept_until timestamp with time zone,
    constraint budget_daily_limit_usd_check CHECK ((daily_limit_usd >= (0)::numeric)),
    constraint kept_day_ends CHECK (((kept_day IS NULL) = (kept_until IS NULL))),
    constraint budget_pkey PRIMARY KEY (id),
    constraint budget_name_organisation_key UNIQUE NULLS NOT DISTINCT (name, organisation)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.budget_day (
    budget_id bigint not null,
    day date not null,
    limit_usd numeric not null,
    reserved_usd numeric not null default 0,
    spent_usd numeric not null default 0,
    overrun_usd numeric not null default 0,
    refusals integer not null default 0,
    constraint budget_day_limit_usd_check CHECK ((limit_usd >= (0)::numeric)),
    constraint budget_day_overrun_usd_check CHECK ((overrun_usd >= (0)::numeric)),
    constraint budget_day_refusals_check CHECK ((refusals >= 0)),
    constraint budget_day_reserved_usd_check CHECK ((reserved_usd >= (0)::numeric)),
    constraint budget_day_spent_usd_check CHECK ((spent_usd >= (0)::numeric)),
    constraint budget_is_never_passed CHECK (((reserved_usd + spent_usd) <= limit_usd)),
    constraint budget_day_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES holdfast.budget(id),
    constraint budget_day_pkey PRIMARY KEY (budget_id, day)
) with (fillfactor=50);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.budget_entry (
    job_id bigint not null,
    token bigint not null,
    budget_id bigint not null,
    day date not null,
    reserved_usd numeric not null,
    spent_usd numeric not null default 0,
    overrun_usd numeric not null default 0,
    settled_at timestamp with time zone,
    constraint budget_entry_overrun_usd_check CHECK ((overrun_usd >= (0)::numeric)),
    constraint budget_entry_reserved_usd_check CHECK ((reserved_usd >= (0)::numeric)),
    constraint budget_entry_spent_usd_check CHECK ((spent_usd >= (0)::numeric)),
    constraint budget_entry_budget_id_day_fkey FOREIGN KEY (budget_id, day) REFERENCES holdfast.budget_day(budget_id, day),
    constraint budget_entry_job_id_fkey FOREIGN KEY (job_id) REFERENCES holdfast.pipeline_job(id),
    constraint budget_entry_pkey PRIMARY KEY (job_id, token)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.005);
CREATE INDEX budget_entry_day ON holdfast.budget_entry USING btree (budget_id, day);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.chunk (
    ordinal integer not null,
    organisation text not null,
    id text not null,
    start_at bigint not null,
    end_at bigint not null,
    text text not null,
    context text not null default ''::text,
    place jsonb not null default '{}'::jsonb,
    text_hash text not null,
    tokens integer not null default (((octet_length(context) + octet_length(text)) + 3) / 4),
    configuration regconfig not null,
    words tsvector not null,
    generation_id bigint not null,
    constraint chunk_check CHECK ((end_at > start_at)),
    constraint chunk_id_check CHECK ((id ~ '^[0-9a-f]{24}$'::text)),
    constraint chunk_ordinal_check CHECK ((ordinal >= 0)),
    constraint chunk_place_check CHECK ((jsonb_typeof(place) = 'object'::text)),
    constraint chunk_start_at_check CHECK ((start_at >= 0)),
    constraint chunk_pkey PRIMARY KEY (generation_id, ordinal)
) with (toast_tuple_target=256);
CREATE INDEX chunk_configuration ON holdfast.chunk USING btree (organisation, configuration);
CREATE INDEX chunk_public ON holdfast.chunk USING btree (organisation, id);
CREATE INDEX chunk_words ON holdfast.chunk USING gin (((words || array_to_tsvector(ARRAY[('organisation '::text || organisation)]))));

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.claim_path (
    position smallint not null,
    path text[] not null,
    constraint claim_path_path_check CHECK (((cardinality(path) >= 1) AND (cardinality(path) <= 10))),
    constraint claim_path_pkey PRIMARY KEY ("position")
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.config_file (
    document_id bigint not null,
    number integer not null,
    organisation text not null,
    source_path text not null,
    file text not null,
    encoding text not null,
    constraint config_file_number_check CHECK ((number > 0)),
    constraint config_file_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint config_file_pkey PRIMARY KEY (document_id, number),
    constraint config_file_document_id_source_path_key UNIQUE (document_id, source_path)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.config_parse_error (
    document_id bigint not null,
    file_number integer not null,
    line integer not null,
    organisation text not null,
    message text not null,
    text text not null,
    constraint config_parse_error_line_check CHECK ((line > 0)),
    constraint config_parse_error_document_id_file_number_fkey FOREIGN KEY (document_id, file_number) REFERENCES holdfast.config_file(document_id, number),
    constraint config_parse_error_pkey PRIMARY KEY (document_id, file_number, line)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.config_setting (
    document_id bigint not null,
    file_number integer not null,
    stanza_number integer not null,
    line integer not null,
    organisation text not null,
    key text not null,
    value text not null,
    constraint config_setting_key_check CHECK ((key <> ''::text)),
    constraint config_setting_line_check CHECK ((line > 0)),
    constraint config_setting_document_id_file_number_fkey FOREIGN KEY (document_id, file_number) REFERENCES holdfast.config_file(document_id, number),
    constraint config_setting_pkey PRIMARY KEY (document_id, file_number, stanza_number, line)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.config_stanza (
    document_id bigint not null,
    file_number integer not null,
    number integer not null,
    organisation text not null,
    file text not null,
    name text not null,
    source_path text not null,
    line integer not null,
    constraint config_stanza_line_check CHECK ((line > 0)),
    constraint config_stanza_number_check CHECK ((number > 0)),
    constraint config_stanza_document_id_file_number_fkey FOREIGN KEY (document_id, file_number) REFERENCES holdfast.config_file(document_id, number),
    constraint config_stanza_pkey PRIMARY KEY (document_id, file_number, number),
    constraint config_stanza_document_id_name_file_source_path_key UNIQUE (document_id, name, file, source_path)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.delivery (
    id bigint not null generated always as identity,
    notice_id bigint not null,
    receiver_id bigint not null,
    state text not null default 'waiting'::text,
    attempts integer not null default 0,
    next_at timestamp with time zone,
    taken_until timestamp with time zone,
    token bigint not null default 0,
    last_at timestamp with time zone,
    last_status integer,
    last_answer text,
    constraint delivery_attempts_check CHECK ((attempts >= 0)),
    constraint delivery_check CHECK (((state = 'waiting'::text) = (next_at IS NOT NULL))),
    constraint delivery_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'given_up'::text]))),
    constraint delivery_notice_id_fkey FOREIGN KEY (notice_id) REFERENCES holdfast.notice(id) ON DELETE CASCADE,
    constraint delivery_receiver_id_fkey FOREIGN KEY (receiver_id) REFERENCES holdfast.receiver(id),
    constraint delivery_pkey PRIMARY KEY (id),
    constraint delivery_notice_id_receiver_id_key UNIQUE (notice_id, receiver_id)
) with (fillfactor=70);
CREATE INDEX delivery_due ON holdfast.delivery USING btree (receiver_id, next_at) WHERE (state = 'waiting'::text);
CREATE INDEX delivery_not_delivered ON holdfast.delivery USING btree (state, id) WHERE (state <> 'delivered'::text);
CREATE INDEX delivery_receiver ON holdfast.delivery USING btree (receiver_id, id);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.document (
    id bigint not null generated by default as identity,
    organisation text not null,
    source_name text not null,
    source_platform text not null default 'upload'::text,
    source_location text,
    content_hash text,
    duplicate_of bigint,
    parent_id bigint,
    idempotency_key text,
    metadata jsonb not null default '{}'::jsonb,
    failure_state text,
    failure_count integer not null default 0,
    failures jsonb not null default '{}'::jsonb,
    last_failure jsonb,
    cool_down_until timestamp with time zone,
    created_at timestamp with time zone not null,
    version bigint not null default nextval('holdfast.version_number'::regclass),
    searchable_at timestamp with time zone,
    superseded_at timestamp with time zone,
    superseded_by bigint,
    purged_at timestamp with time zone,
    deleted_at timestamp with time zone,
    found_out text[] not null default '{}'::text[],
    generation_id bigint,
    root_id bigint,
    stands_in_for bigint,
    constraint document_content_hash_check CHECK (((length(content_hash) >= 1) AND (length(content_hash) <= 255))),
    constraint document_failure_count_check CHECK ((failure_count >= 0)),
    constraint document_failure_state_check CHECK ((failure_state = ANY (ARRAY['pending'::text, 'success'::text, 'permanent_failure'::text]))),
    constraint document_idempotency_key_check CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 255))),
    constraint document_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    constraint document_organisation_check CHECK (((length(organisation) >= 1) AND (length(organisation) <= 255))),
    constraint only_searchable_until_superseded CHECK (((superseded_at IS NULL) OR (superseded_by IS NOT NULL))),
    constraint document_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES holdfast.document(id),
    constraint document_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES holdfast.document(id),
    constraint document_superseded_by_fkey FOREIGN KEY (superseded_by) REFERENCES holdfast.document(id),
    constraint document_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.005, autovacuum_vacuum_insert_threshold=10000, autovacuum_vacuum_insert_scale_factor=0.01, autovacuum_analyze_threshold=1000, autovacuum_analyze_scale_factor=0.02);
CREATE UNIQUE INDEX document_content ON holdfast.document USING btree (organisation, content_hash) WHERE ((duplicate_of IS NULL) AND (purged_at IS NULL) AND (content_hash IS NOT NULL));
CREATE INDEX document_copies ON holdfast.document USING btree (duplicate_of) WHERE ((duplicate_of IS NOT NULL) AND (superseded_at IS NULL) AND (deleted_at IS NULL));
CREATE INDEX document_duplicates ON holdfast.document USING btree (duplicate_of) WHERE (duplicate_of IS NOT NULL);
CREATE INDEX document_generation ON holdfast.document USING btree (generation_id) WHERE (generation_id IS NOT NULL);
CREATE UNIQUE INDEX document_idempotency ON holdfast.document USING btree (organisation, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX document_location ON holdfast.document USING btree (organisation, source_platform, source_location, id DESC) WHERE ((source_location IS NOT NULL) AND (superseded_at IS NULL) AND (deleted_at IS NULL));
CREATE INDEX document_members ON holdfast.document USING btree (root_id, id) WHERE (root_id IS NOT NULL);
CREATE INDEX document_metadata ON holdfast.document USING gin (metadata jsonb_path_ops);
CREATE INDEX document_name ON holdfast.document USING gin (holdfast.name_words(source_name));
CREATE INDEX document_organisation ON holdfast.document USING btree (organisation, id);
CREATE INDEX document_parent ON holdfast.document USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX document_platform ON holdfast.document USING btree (source_platform, id);
CREATE INDEX document_replaced ON holdfast.document USING btree (organisation, source_platform, source_location) WHERE ((source_location IS NOT NULL) AND (superseded_at IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX document_unpurged ON holdfast.document USING btree (superseded_at, id) WHERE ((superseded_at IS NOT NULL) AND (purged_at IS NULL) AND (deleted_at IS NULL));
CREATE TRIGGER refuse_foreign_parent BEFORE INSERT OR UPDATE OF parent_id, organisation ON holdfast.document FOR EACH ROW WHEN ((new.parent_id IS NOT NULL)) EXECUTE FUNCTION holdfast.refuse_foreign_parent();
CREATE TRIGGER refuse_other_organisation BEFORE UPDATE OF organisation ON holdfast.document FOR EACH ROW WHEN ((new.organisation IS DISTINCT FROM old.organisation)) EXECUTE FUNCTION holdfast.refuse_other_organisation();

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.embedder (
    id smallint not null generated always as identity,
    name text not null,
    dimension integer not null,
    active boolean not null default false,
    closed_at timestamp with time zone,
    created_at timestamp with time zone not null,
    reindexed_at timestamp with time zone,
    constraint embedder_check CHECK (((closed_at IS NULL) OR active)),
    constraint embedder_dimension_check CHECK (((dimension >= 1) AND (dimension <= 16000))),
    constraint embedder_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    constraint embedder_pkey PRIMARY KEY (id),
    constraint embedder_name_key UNIQUE (name)
);
CREATE UNIQUE INDEX embedder_active ON holdfast.embedder USING btree (active) WHERE active;

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.embedding (
    generation_id bigint not null,
    ordinal integer not null,
    embedder_id smallint not null,
    organisation text not null,
    text_hash text not null,
    vector extensions.vector not null,
    constraint embedding_generation_id_ordinal_fkey FOREIGN KEY (generation_id, ordinal) REFERENCES holdfast.chunk(generation_id, ordinal) ON DELETE CASCADE,
    constraint embedding_pkey PRIMARY KEY (generation_id, ordinal, embedder_id)
);
CREATE INDEX embedding_text ON holdfast.embedding USING btree (organisation, embedder_id, text_hash);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.entity (
    id bigint not null generated always as identity,
    organisation text not null,
    kind text not null,
    name text not null,
    normalised_name text not null,
    constraint entity_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 63))),
    constraint entity_normalised_name_check CHECK (((length(normalised_name) >= 1) AND (length(normalised_name) <= 255))),
    constraint entity_pkey PRIMARY KEY (id),
    constraint entity_organisation_kind_normalised_name_key UNIQUE (organisation, kind, normalised_name)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.entity_mention (
    entity_id bigint not null,
    ordinal integer not null,
    organisation text not null,
    count integer not null,
    generation_id bigint not null,
    constraint entity_mention_count_check CHECK ((count > 0)),
    constraint entity_mention_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES holdfast.entity(id),
    constraint entity_mention_pkey PRIMARY KEY (entity_id, generation_id, ordinal)
);
CREATE INDEX entity_mention_chunk ON holdfast.entity_mention USING btree (generation_id, ordinal);

-- read by nobody but the owner
create table holdfast.error_log (
    id bigint not null generated always as identity,
    at timestamp with time zone not null,
    organisation text,
    document_id bigint,
    job_id bigint,
    pipeline text,
    phase text,
    platform text,
    component text,
    category text not null,
    error_type text,
    error_code text,
    message text not null,
    attempt integer,
    charged boolean,
    fingerprint text not null,
    constraint error_log_message_check CHECK ((length(message) <= 1000)),
    constraint error_log_pkey PRIMARY KEY (id)
);
CREATE INDEX error_log_at ON holdfast.error_log USING btree (at);
CREATE INDEX error_log_document ON holdfast.error_log USING btree (document_id, at);
CREATE INDEX error_log_fingerprint ON holdfast.error_log USING btree (fingerprint, at);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.fair_share (
    id bigint not null generated always as identity,
    pipeline text not null,
    organisation text not null,
    last_vtime double precision not null,
    constraint fair_share_pkey PRIMARY KEY (id)
) with (fillfactor=50);
CREATE INDEX fair_share_organisation ON holdfast.fair_share USING btree (pipeline, organisation);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.hold (
    id bigint not null generated always as identity,
    provider text,
    organisation text,
    pipeline text,
    phase text,
    budget text,
    until timestamp with time zone not null,
    reason text not null,
    needs_usd numeric,
    created_at timestamp with time zone not null,
    created_by text not null,
    released_at timestamp with time zone,
    released_by text,
    drained_at timestamp with time zone,
    in_force_since timestamp with time zone,
    constraint hold_check CHECK ((num_nonnulls(provider, organisation, pipeline, phase, budget) > 0)),
    constraint hold_pkey PRIMARY KEY (id)
);
CREATE INDEX hold_organisation ON holdfast.hold USING btree (organisation) WHERE (drained_at IS NULL);
CREATE INDEX hold_over ON holdfast.hold USING btree ((
CASE
    WHEN (released_at IS NULL) THEN until
    ELSE '-infinity'::timestamp with time zone
END)) WHERE (drained_at IS NULL);
CREATE UNIQUE INDEX hold_scope ON holdfast.hold USING btree (provider, organisation, pipeline, phase, budget) NULLS NOT DISTINCT WHERE (drained_at IS NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.incident (
    id bigint not null generated always as identity,
    kind text not null,
    scope text not null,
    organisation text,
    opened_at timestamp with time zone not null,
    closed_at timestamp with time zone,
    message text not null,
    figures jsonb not null,
    constraint incident_kind_check CHECK ((kind = ANY (ARRAY['error_rate'::text, 'stuck_jobs'::text, 'budget_spent'::text, 'dead_letters'::text]))),
    constraint incident_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX incident_open ON holdfast.incident USING btree (kind, scope, organisation) NULLS NOT DISTINCT WHERE (closed_at IS NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
-- view job_progress with (security_invoker=true): job_id bigint, percent integer

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.maintenance (
    only_row boolean not null default true,
    cleaned_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
    alerts_checked_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
    constraint maintenance_only_row_check CHECK (only_row),
    constraint maintenance_pkey PRIMARY KEY (only_row)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.migration (
    number integer not null,
    name text not null,
    checksum text not null,
    applied_at timestamp with time zone not null default clock_timestamp(),
    constraint migration_pkey PRIMARY KEY (number)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.notice (
    id bigint not null generated always as identity,
    message_id uuid not null default gen_random_uuid(),
    at timestamp with time zone not null,
    event text not null,
    organisation text,
    document_id bigint,
    body jsonb not null,
    constraint notice_pkey PRIMARY KEY (id)
);
CREATE INDEX notice_at ON holdfast.notice USING btree (at);
CREATE INDEX notice_document ON holdfast.notice USING btree (document_id) WHERE (document_id IS NOT NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.organisation (
    name text not null,
    weight double precision not null default 1,
    constraint organisation_weight_check CHECK ((weight > (0)::double precision)),
    constraint organisation_pkey PRIMARY KEY (name)
);

-- read by nobody but the owner
create table holdfast.paid_answer (
    organisation text not null,
    key text not null,
    document_id bigint not null,
    answer jsonb not null,
    cost_usd numeric not null,
    kept_at timestamp with time zone not null,
    job_id bigint,
    token bigint,
    constraint paid_answer_cost_usd_check CHECK (((cost_usd >= (0)::numeric) AND (cost_usd < 'Infinity'::numeric))),
    constraint paid_answer_key_check CHECK ((key ~ '^[0-9a-f]{64}$'::text)),
    constraint paid_answer_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint paid_answer_pkey PRIMARY KEY (organisation, key)
);
CREATE INDEX paid_answer_age ON holdfast.paid_answer USING btree (kept_at);
CREATE INDEX paid_answer_document ON holdfast.paid_answer USING btree (document_id);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.phase (
    pipeline text not null,
    name text not null,
    position integer not null,
    retired_at timestamp with time zone,
    resumes_from text not null,
    queued_status text not null,
    working_status text not null,
    done_status text not null,
    component text not null,
    policy text not null,
    limit_seconds double precision not null,
    provider text,
    budget text,
    paid boolean not null default false,
    constraint phase_limit_seconds_check CHECK ((limit_seconds > (0)::double precision)),
    constraint phase_name_check CHECK ((name ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    constraint phase_position_check CHECK (("position" >= 0)),
    constraint phase_pipeline_fkey FOREIGN KEY (pipeline) REFERENCES holdfast.pipeline(name),
    constraint phase_policy_fkey FOREIGN KEY (policy) REFERENCES holdfast.policy(name),
    constraint phase_pkey PRIMARY KEY (pipeline, name)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.pipeline (
    name text not null,
    version integer not null,
    starts text not null,
    front double precision not null default 0,
    declaration jsonb not null,
    registered_at timestamp with time zone not null,
    constraint pipeline_name_check CHECK ((name ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    constraint pipeline_version_check CHECK ((version > 0)),
    constraint pipeline_pkey PRIMARY KEY (name)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.pipeline_job (
    id bigint not null generated by default as identity,
    document_id bigint not null,
    organisation text not null,
    pipeline text not null,
    phase text not null,
    run integer not null default 1,
    status text not null,
    state text not null,
    priority smallint not null default 0,
    vtime double precision not null,
    token bigint not null default 0,
    worker_id text,
    started_at timestamp with time zone,
    progress real,
    progress_at timestamp with time zone,
    ready_at timestamp with time zone,
    hold_id bigint,
    retry_count integer not null default 0,
    max_retries integer not null default 3,
    crash_count integer not null default 0,
    last_retry_at timestamp with time zone,
    retry_reason text,
    error_code text,
    error_meta jsonb,
    last_error jsonb,
    retried_phase_id bigint,
    input jsonb,
    total_cost_usd numeric not null default 0,
    submitted_at timestamp with time zone not null,
    queued_at timestamp with time zone,
    finished_at timestamp with time zone,
    audit_id bigint,
    policy text,
    flow text not null default 'new'::text,
    parent_id bigint,
    constraint old_flow_is_only_shown CHECK (((flow = 'new'::text) OR ((state = ANY (ARRAY['held'::text, 'failed'::text, 'done'::text, 'deadletter'::text])) AND (ready_at IS NULL) AND (hold_id IS NULL)))),
    constraint only_waiting_jobs_wait CHECK ((((ready_at IS NULL) OR (state = ANY (ARRAY['failed'::text, 'held'::text]))) AND ((hold_id IS NULL) OR (state = 'held'::text)))),
    constraint pipeline_job_crash_count_check CHECK ((crash_count >= 0)),
    constraint pipeline_job_flow_check CHECK ((flow = ANY (ARRAY['new'::text, 'old'::text]))),
    constraint pipeline_job_max_retries_check CHECK ((max_retries >= 0)),
    constraint pipeline_job_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
    constraint pipeline_job_retry_count_check CHECK ((retry_count >= 0)),
    constraint pipeline_job_run_check CHECK ((run > 0)),
    constraint pipeline_job_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'working'::text, 'failed'::text, 'held'::text, 'done'::text, 'deadletter'::text, 'cancelled'::text]))),
    constraint pipeline_job_token_check CHECK ((token >= 0)),
    constraint pipeline_job_total_cost_usd_check CHECK ((total_cost_usd >= (0)::numeric)),
    constraint working_has_worker_and_start CHECK ((((state = 'working'::text) = (worker_id IS NOT NULL)) AND ((state = 'working'::text) = (started_at IS NOT NULL)) AND ((state <> 'working'::text) OR (token > 0)))),
    constraint pipeline_job_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint pipeline_job_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES holdfast.hold(id),
    constraint pipeline_job_id_audit_id_fkey FOREIGN KEY (id, audit_id) REFERENCES holdfast.audit_log(job_id, id),
    constraint pipeline_job_policy_fkey FOREIGN KEY (policy) REFERENCES holdfast.policy(name),
    constraint pipeline_job_pkey PRIMARY KEY (id)
) with (fillfactor=85, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.001, autovacuum_vacuum_insert_threshold=10000, autovacuum_vacuum_insert_scale_factor=0.01, autovacuum_analyze_threshold=1000, autovacuum_analyze_scale_factor=0.01);
CREATE INDEX pipeline_job_cause ON holdfast.pipeline_job USING btree (holdfast.fingerprint((last_error ->> 'component'::text), (last_error ->> 'category'::text), (last_error ->> 'error_type'::text), (last_error ->> 'error'::text)), id) WHERE (state = ANY (ARRAY['failed'::text, 'deadletter'::text]));
CREATE INDEX pipeline_job_deadletter ON holdfast.pipeline_job USING btree (id) WHERE (state = 'deadletter'::text);
CREATE INDEX pipeline_job_deadletter_at ON holdfast.pipeline_job USING btree (finished_at) WHERE (state = 'deadletter'::text);
CREATE INDEX pipeline_job_done ON holdfast.pipeline_job USING btree (pipeline, status, document_id, id) WHERE (state = 'done'::text);
CREATE INDEX pipeline_job_due ON holdfast.pipeline_job USING btree (ready_at) WHERE ((state = ANY (ARRAY['failed'::text, 'held'::text])) AND (ready_at IS NOT NULL));
CREATE INDEX pipeline_job_ended ON holdfast.pipeline_job USING btree (pipeline, phase, document_id, id) WHERE (state = ANY (ARRAY['deadletter'::text, 'cancelled'::text]));
CREATE INDEX pipeline_job_failed ON holdfast.pipeline_job USING btree (((last_error ->> 'component'::text)), id) WHERE (state = 'failed'::text);
CREATE INDEX pipeline_job_held ON holdfast.pipeline_job USING btree (hold_id) WHERE (state = 'held'::text);
CREATE UNIQUE INDEX pipeline_job_live ON holdfast.pipeline_job USING btree (document_id, pipeline) WHERE (state <> ALL (ARRAY['done'::text, 'deadletter'::text, 'cancelled'::text]));
CREATE INDEX pipeline_job_members ON holdfast.pipeline_job USING btree (parent_id, id) WHERE ((parent_id IS NOT NULL) AND ((state = ANY (ARRAY['queued'::text, 'working'::text, 'held'::text])) OR ((state = 'failed'::text) AND (ready_at IS NOT NULL))));
CREATE INDEX pipeline_job_ready ON holdfast.pipeline_job USING btree (pipeline, phase, priority DESC, vtime, id) INCLUDE (queued_at) WHERE ((state = 'queued'::text) AND (crash_count < 2));
CREATE INDEX pipeline_job_retryable ON holdfast.pipeline_job USING btree (((last_error ->> 'retryable'::text)), id) WHERE (state = 'failed'::text);
CREATE INDEX pipeline_job_suspect ON holdfast.pipeline_job USING btree (pipeline, phase, priority DESC, vtime, id) WHERE ((state = 'queued'::text) AND (crash_count >= 2));
CREATE INDEX pipeline_job_troubled ON holdfast.pipeline_job USING btree (pipeline, phase, state) WHERE (state = ANY (ARRAY['failed'::text, 'held'::text, 'deadletter'::text]));
CREATE INDEX pipeline_job_working ON holdfast.pipeline_job USING btree (worker_id) WHERE (state = 'working'::text);
CREATE TRIGGER refuse_illegal_move BEFORE UPDATE ON holdfast.pipeline_job FOR EACH ROW WHEN (((new.token < old.token) OR ((new.state <> old.state) AND (((old.state || ' '::text) || new.state) <> ALL (ARRAY['queued working'::text, 'queued failed'::text, 'queued done'::text, 'queued held'::text, 'queued cancelled'::text, 'working queued'::text, 'working done'::text, 'working failed'::text, 'working held'::text, 'working deadletter'::text, 'working cancelled'::text, 'failed queued'::text, 'failed done'::text, 'failed deadletter'::text, 'failed cancelled'::text, 'held queued'::text, 'held cancelled'::text])) AND (NOT ((old.state = ANY (ARRAY['deadletter'::text, 'cancelled'::text])) AND (new.state = 'queued'::text) AND (new.audit_id IS NOT NULL) AND (new.audit_id > COALESCE(old.audit_id, (0)::bigint)))) AND (old.flow = 'new'::text)))) EXECUTE FUNCTION holdfast.refuse_illegal_move();
CREATE TRIGGER refuse_unknown_status_on_insert AFTER INSERT ON holdfast.pipeline_job REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse_unknown_status();
CREATE TRIGGER refuse_unknown_status_on_update AFTER UPDATE ON holdfast.pipeline_job REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse_unknown_status();

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.pipeline_phase (
    id bigint not null generated always as identity,
    job_id bigint not null,
    document_id bigint not null,
    organisation text not null,
    pipeline text not null,
    phase text not null,
    run integer not null,
    token bigint not null,
    parent_phase_id bigint,
    outcome text not null,
    attempt integer not null,
    worker_id text not null,
    started_at timestamp with time zone not null,
    ended_at timestamp with time zone not null,
    input jsonb,
    output jsonb,
    category text,
    error jsonb,
    cost_usd numeric not null default 0,
    constraint pipeline_phase_check CHECK (
CASE
    WHEN (outcome = 'completed'::text) THEN (category IS NULL)
    ELSE (error IS NOT NULL)
END) NOT VALID,
    constraint pipeline_phase_cost_usd_check CHECK ((cost_usd >= (0)::numeric)),
    constraint pipeline_phase_outcome_check CHECK ((outcome = ANY (ARRAY['completed'::text, 'failed'::text, 'timeout'::text, 'lost'::text, 'released'::text, 'cancelled'::text]))),
    constraint pipeline_phase_job_id_fkey FOREIGN KEY (job_id) REFERENCES holdfast.pipeline_job(id),
    constraint pipeline_phase_parent_phase_id_fkey FOREIGN KEY (parent_phase_id) REFERENCES holdfast.pipeline_phase(id),
    constraint pipeline_phase_pkey PRIMARY KEY (id),
    constraint pipeline_phase_job_id_token_key UNIQUE (job_id, token)
) with (autovacuum_vacuum_insert_threshold=10000, autovacuum_vacuum_insert_scale_factor=0.01, autovacuum_analyze_threshold=1000, autovacuum_analyze_scale_factor=0.02);
CREATE UNIQUE INDEX pipeline_phase_completed ON holdfast.pipeline_phase USING btree (job_id, run, phase) WHERE (outcome = 'completed'::text);
CREATE INDEX pipeline_phase_ended ON holdfast.pipeline_phase USING btree (ended_at);
CREATE INDEX pipeline_phase_failed ON holdfast.pipeline_phase USING btree (ended_at) WHERE (outcome <> 'completed'::text);
CREATE INDEX pipeline_phase_paid ON holdfast.pipeline_phase USING btree (ended_at) WHERE (cost_usd > (0)::numeric);
CREATE INDEX pipeline_phase_parent ON holdfast.pipeline_phase USING btree (parent_phase_id) WHERE (parent_phase_id IS NOT NULL);
CREATE INDEX pipeline_phase_retry ON holdfast.pipeline_phase USING btree (ended_at) WHERE (parent_phase_id IS NOT NULL);
CREATE TRIGGER refuse_change BEFORE UPDATE ON holdfast.pipeline_phase FOR EACH ROW EXECUTE FUNCTION holdfast.refuse_change();
CREATE TRIGGER refuse_delete BEFORE DELETE ON holdfast.pipeline_phase FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION holdfast.refuse_change();

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.pipeline_status (
    pipeline text not null,
    status text not null,
    progress smallint not null,
    constraint pipeline_status_progress_check CHECK (((progress >= '-1'::integer) AND (progress <= 100))),
    constraint pipeline_status_pipeline_fkey FOREIGN KEY (pipeline) REFERENCES holdfast.pipeline(name),
    constraint pipeline_status_pkey PRIMARY KEY (pipeline, status)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.policy (
    name text not null,
    two_level boolean not null default false,
    declaration jsonb not null,
    constraint policy_pkey PRIMARY KEY (name)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.policy_rule (
    policy text not null,
    category text not null,
    charged boolean not null default true,
    max_retries integer,
    document_limit integer,
    wait_seconds double precision[] not null default '{}'::double precision[],
    jitter double precision not null default 0,
    holds text,
    hold_seconds double precision,
    constraint policy_rule_document_limit_check CHECK ((document_limit > 0)),
    constraint policy_rule_hold_seconds_check CHECK ((hold_seconds > (0)::double precision)),
    constraint policy_rule_holds_check CHECK ((holds = ANY (ARRAY['retry_after'::text, 'document'::text, 'budget_day'::text, 'release'::text]))),
    constraint policy_rule_jitter_check CHECK (((jitter >= (0)::double precision) AND (jitter <= (1)::double precision))),
    constraint policy_rule_max_retries_check CHECK ((max_retries >= 0)),
    constraint policy_rule_wait_seconds_check CHECK (((0)::double precision <= ALL (wait_seconds))),
    constraint policy_rule_policy_fkey FOREIGN KEY (policy) REFERENCES holdfast.policy(name) ON DELETE CASCADE,
    constraint policy_rule_pkey PRIMARY KEY (policy, category)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.reading (
    document_id bigint not null,
    organisation text not null,
    text text not null,
    model text not null,
    generated_at timestamp with time zone not null,
    constraint reading_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint reading_pkey PRIMARY KEY (document_id)
);

-- read by nobody but the owner
create table holdfast.receiver (
    id bigint not null generated always as identity,
    organisation text,
    kind text not null,
    url text not null,
    events text[] not null,
    secret text,
    previous_secret text,
    previous_until timestamp with time zone,
    created_at timestamp with time zone not null,
    created_by text not null,
    disabled_at timestamp with time zone,
    disabled_reason text,
    removed_at timestamp with time zone,
    constraint receiver_events_check CHECK ((cardinality(events) > 0)),
    constraint receiver_kind_check CHECK ((kind = ANY (ARRAY['webhook'::text, 'mail'::text]))),
    constraint receiver_organisation_check CHECK (((length(organisation) >= 1) AND (length(organisation) <= 255))),
    constraint receiver_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2000))),
    constraint webhook_signs_until_removed CHECK ((((kind = 'webhook'::text) AND (removed_at IS NULL)) = (secret IS NOT NULL))),
    constraint receiver_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX receiver_mail ON holdfast.receiver USING btree (url) WHERE ((kind = 'mail'::text) AND (disabled_at IS NULL) AND (removed_at IS NULL));

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.reindexed_cost (
    day date not null,
    organisation text not null,
    platform text not null,
    model text not null,
    calls bigint not null default 0,
    cost_usd numeric not null default 0,
    wasted_usd numeric not null default 0,
    constraint reindexed_cost_check CHECK (((wasted_usd >= (0)::numeric) AND (wasted_usd <= cost_usd))),
    constraint reindexed_cost_cost_usd_check CHECK ((cost_usd >= (0)::numeric)),
    constraint reindexed_cost_pkey PRIMARY KEY (day, organisation, platform, model)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.relation (
    ordinal integer not null,
    subject_id bigint not null,
    predicate text not null,
    object_id bigint not null,
    organisation text not null,
    maker text not null,
    confidence real not null,
    generation_id bigint not null,
    constraint relation_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    constraint relation_predicate_check CHECK (((length(predicate) >= 1) AND (length(predicate) <= 63))),
    constraint relation_pkey PRIMARY KEY (generation_id, ordinal, subject_id, object_id, predicate)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.retired_generation (
    id bigint not null,
    organisation text not null,
    retired_at timestamp with time zone not null,
    constraint retired_generation_pkey PRIMARY KEY (id)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.schema_state (
    key text not null,
    checksum text not null,
    constraint schema_state_pkey PRIMARY KEY (key)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.story (
    document_id bigint not null,
    organisation text not null,
    source_platform text not null,
    source_location text,
    title text,
    url text,
    published_at text,
    summary_neutral text not null,
    summary_spicy text not null,
    category text not null,
    severity smallint not null,
    primary_actor text,
    top_entities text[] not null,
    entity_counter jsonb not null,
    model text not null,
    told_at timestamp with time zone not null,
    constraint story_entity_counter_check CHECK ((jsonb_typeof(entity_counter) = 'object'::text)),
    constraint story_severity_check CHECK (((severity >= 0) AND (severity <= 10))),
    constraint story_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint story_pkey PRIMARY KEY (document_id)
);
CREATE INDEX story_location ON holdfast.story USING btree (organisation, source_platform, source_location, document_id) WHERE (source_location IS NOT NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.story_entity (
    document_id bigint not null,
    normalised_name text not null,
    organisation text not null,
    name text not null,
    mentions integer not null,
    constraint story_entity_mentions_check CHECK ((mentions > 0)),
    constraint story_entity_normalised_name_check CHECK (((length(normalised_name) >= 1) AND (length(normalised_name) <= 255))),
    constraint story_entity_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.story(document_id),
    constraint story_entity_pkey PRIMARY KEY (document_id, normalised_name)
);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.story_entity_total (
    organisation text not null,
    normalised_name text not null,
    name text not null,
    stories integer not null,
    mentions bigint not null,
    constraint story_entity_total_mentions_check CHECK ((mentions >= 0)),
    constraint story_entity_total_stories_check CHECK ((stories >= 0)),
    constraint story_entity_total_pkey PRIMARY KEY (organisation, normalised_name)
);
CREATE INDEX story_entity_total_rank ON holdfast.story_entity_total USING btree (organisation, mentions DESC, normalised_name);

-- read by nobody but the owner
create table holdfast.taken_row (
    takeover_id bigint not null,
    key text not null,
    flow text,
    document_id bigint,
    job_id bigint,
    original_status text,
    original_state text,
    retry_count integer not null default 0,
    reason text,
    row_before json not null,
    read_at timestamp with time zone not null,
    changed_at timestamp with time zone,
    changed_status text,
    gone_at timestamp with time zone,
    let_go_at timestamp with time zone,
    constraint taken_row_check CHECK ((((flow IS NULL) = (document_id IS NULL)) AND ((flow IS NULL) = (job_id IS NULL)))),
    constraint taken_row_flow_check CHECK ((flow = ANY (ARRAY['new'::text, 'old'::text]))),
    constraint taken_row_document_id_fkey FOREIGN KEY (document_id) REFERENCES holdfast.document(id),
    constraint taken_row_takeover_id_fkey FOREIGN KEY (takeover_id) REFERENCES holdfast.takeover(id),
    constraint taken_row_pkey PRIMARY KEY (takeover_id, key)
);
CREATE UNIQUE INDEX taken_row_document ON holdfast.taken_row USING btree (document_id) WHERE (document_id IS NOT NULL);

-- read by nobody but the owner
create table holdfast.takeover (
    id bigint not null generated always as identity,
    source text not null,
    table_name text not null,
    columns jsonb not null,
    pipeline text not null,
    organisation text not null,
    share smallint not null default 100,
    chosen jsonb not null default '{}'::jsonb,
    first_vtime double precision not null,
    turns bigint not null default 0,
    cursor text,
    started_at timestamp with time zone not null,
    finished_at timestamp with time zone,
    undone_at timestamp with time zone,
    constraint takeover_chosen_check CHECK ((jsonb_typeof(chosen) = 'object'::text)),
    constraint takeover_share_check CHECK (((share >= 0) AND (share <= 100))),
    constraint takeover_pipeline_fkey FOREIGN KEY (pipeline) REFERENCES holdfast.pipeline(name),
    constraint takeover_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX takeover_in_force ON holdfast.takeover USING btree (source, table_name) WHERE (undone_at IS NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.trial (
    id bigint not null generated always as identity,
    organisation text,
    filter jsonb not null,
    first_jobs bigint[] not null,
    first_tokens bigint[] not null,
    created_at timestamp with time zone not null,
    created_by text not null,
    reason text,
    state text not null default 'trying'::text,
    reached bigint not null default 0,
    retried bigint not null default 0,
    ended_at timestamp with time zone,
    why text,
    constraint trial_check CHECK ((cardinality(first_tokens) = cardinality(first_jobs))),
    constraint trial_check1 CHECK (
CASE state
    WHEN 'trying'::text THEN (ended_at IS NULL)
    WHEN 'stopped'::text THEN (ended_at IS NOT NULL)
    ELSE true
END),
    constraint trial_first_jobs_check CHECK ((cardinality(first_jobs) > 0)),
    constraint trial_retried_check CHECK ((retried >= 0)),
    constraint trial_state_check CHECK ((state = ANY (ARRAY['trying'::text, 'passed'::text, 'stopped'::text]))),
    constraint trial_pkey PRIMARY KEY (id)
);
CREATE INDEX trial_open ON holdfast.trial USING btree (id) WHERE (ended_at IS NULL);

-- read by holdfast_api, holdfast_readonly, holdfast_worker
create table holdfast.worker (
    id text not null,
    host text not null,
    pid integer not null,
    lanes jsonb not null default '[]'::jsonb,
    started_at timestamp with time zone not null,
    seen_at timestamp with time zone not null,
    lost_at timestamp with time zone,
    stopped_at timestamp with time zone,
    in_touch_since timestamp with time zone not null,
    heartbeat_number bigint not null default 0,
    ended_jobs bigint[] not null default '{}'::bigint[],
    constraint worker_id_check CHECK (((length(id) >= 1) AND (length(id) <= 255))),
    constraint worker_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create sequence holdfast.last_wake minvalue 0 start 0;
create sequence holdfast.version_number minvalue 1 start 1;

-- function activate_embedder(p_embedder smallint, p_since timestamp with time zone) returns boolean, with its owner's rights, callable by holdfast_api
-- function actor() returns text, callable by holdfast_api
-- function add_counts(p_one jsonb, p_other jsonb) returns jsonb
-- function add_to_graph(p_job bigint, p_token bigint, p_items jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function add_webhook(p_organisation text, p_url text, p_events text[], p_secret text, p_actor text) returns bigint, with its owner's rights, callable by holdfast_api
-- function advance_trials() returns bigint, with its owner's rights, callable by holdfast_worker
-- function alarming_error_rate() returns TABLE(failed bigint, attempts bigint)
-- function alerts_on() returns TABLE(kind text, scope text, organisation text, message text, figures jsonb)
-- function allow_claims() returns void
-- function announce(p_event text, p_items jsonb) returns void
-- function announce_exhausted(p_budget holdfast.budget, p_day date, p_left_usd numeric, p_asked_usd numeric) returns void
-- function announce_held(p_hold holdfast.hold) returns void
-- function announce_incident(p_event text, p_incident holdfast.incident) returns void
-- function announce_jobs(p_event text, p_jobs bigint[]) returns void
-- function answer(p_provider text, p_message_id text, p_reference text, p_outcome text, p_body jsonb) returns text, with its owner's rights, callable by holdfast_api
-- function answer_for(p_job_id bigint, p_run integer, p_phase text, p_queued_at timestamp with time zone) returns jsonb
-- function answering_embedder() returns TABLE(name text, dimension integer), with its owner's rights, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function artifacts_in(p_value jsonb) returns jsonb
-- function as_served(p_phase holdfast.phase, p_lanes jsonb) returns holdfast.phase
-- function audit(p_actor text, p_action text, p_job holdfast.pipeline_job, p_reason text, p_after jsonb) returns bigint
-- function audit_key(p_actor text, p_action text, p_key bigint) returns void
-- function audit_receiver(p_actor text, p_action text, p_receiver bigint) returns void
-- function audit_takeover(p_takeover holdfast.takeover, p_action text, p_actor text, p_more jsonb) returns void
-- function await_answers(p_items jsonb) returns TABLE(job_id bigint, token bigint, result text), with its owner's rights, callable by holdfast_worker
-- function begin_graph(p_job bigint, p_token bigint, p_chunks integer) returns boolean, with its owner's rights, callable by holdfast_worker
-- function begin_reading() returns bigint, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function begin_removal(p_organisation text, p_hashes text[]) returns TABLE(hash text, size bigint, until timestamp with time zone), with its owner's rights, callable by holdfast_api, holdfast_worker
-- function begin_takeover(p_source text, p_table text, p_columns jsonb, p_pipeline text, p_organisation text, p_share integer, p_chosen jsonb, p_actor text) returns holdfast.takeover, with its owner's rights
-- function begin_undo(p_takeover bigint, p_actor text) returns void, with its owner's rights
-- function begin_waiting(p_job holdfast.pipeline_job, p_provider text, p_reference text, p_within_seconds double precision, p_cost_usd numeric) returns text
-- function budget_allows(p_budget holdfast.budget, p_amount_usd numeric) returns boolean
-- function budget_for(p_name text, p_organisation text) returns holdfast.budget
-- function budget_left(p_budget holdfast.budget, p_day holdfast.budget_day) returns numeric, callable by holdfast_api, holdfast_readonly
-- function budget_today(p_budget holdfast.budget) returns date, callable by holdfast_api, holdfast_readonly
-- function can_answer(p_document holdfast.document) returns boolean
-- function cancel(p_jobs bigint[], p_actor text, p_reason text) returns TABLE(job_id bigint, result text), with its owner's rights, callable by holdfast_api
-- function cancel_jobs(p_jobs bigint[], p_actor text, p_reason text) returns TABLE(job_id bigint, result text)
-- function carried_rows(p_takeover bigint, p_keys text[]) returns TABLE(key text, reason text), with its owner's rights
-- function charge_reindexed(p_embedder smallint, p_generations bigint[], p_cost_usd numeric, p_wasted_usd numeric) returns void, with its owner's rights, callable by holdfast_api
-- function check_alerts(OUT opened integer, OUT closed integer) returns record, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function check_timeouts(p_lease_seconds double precision, OUT updated_count bigint, OUT updated_jobs bigint[], OUT more boolean) returns record, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function chosen_flow(p_share integer, p_chosen jsonb, p_key text) returns text
-- function claim(p_worker text, p_lanes jsonb) returns TABLE(job_id bigint, token bigint, document_id bigint, organisation text, pipeline text, phase text, run integer, attempt integer, limit_seconds double precision, started_at timestamp with time zone, input jsonb, source_name text, source_platform text, source_location text, content_hash text, metadata jsonb, answer jsonb), with its owner's rights, callable by holdfast_worker
-- function claimed_for_graph(p_job bigint, p_token bigint) returns holdfast.pipeline_job
-- function claimed_job(p_job_id bigint, p_token bigint) returns holdfast.pipeline_job
-- function claimed_org() returns text, with its owner's rights
-- function clean_up() returns void
-- function clear_configs(p_job bigint, p_token bigint, p_limit integer) returns boolean, with its owner's rights, callable by holdfast_worker
-- function clock() returns timestamp with time zone, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function close_embedder() returns void, with its owner's rights, callable by holdfast_api
-- function compared_at_most(p_embedder smallint) returns bigint
-- function configs_run(p_run bigint) returns TABLE(run bigint, source_name text, job_id bigint, status text, state text, percent integer, metrics jsonb, error_message text, next text), callable by holdfast_api, holdfast_readonly
-- function configurations_of(p_organisation text) returns SETOF regconfig
-- function confined_to() returns text
-- function count_failure(p_document bigint, p_category text, p_permanent boolean, p_cool_down_until timestamp with time zone, p_error jsonb) returns void
-- function count_story(p_document bigint) returns void
-- function create_key(p_organisation text, p_name text, p_scope text, p_hint text, p_hash bytea, p_actor text) returns bigint, with its owner's rights, callable by holdfast_api
-- function create_nearest_index(p_embedder smallint, p_dimension integer) returns void, with its owner's rights
-- function create_vectors() returns void, with its owner's rights
-- function current_documents(p_organisation text, p_platform text, p_pipeline text, p_locations text[]) returns TABLE(location text, document_id bigint, content_hash text, size bigint, job_id bigint, state text, retried boolean), with its owner's rights, callable by holdfast_api, holdfast_worker
-- function decide(p_policy text, p_category text, p_retry_count integer, p_document_failures integer, p_retry_after_seconds double precision, OUT action text, OUT charged boolean, OUT wait_seconds double precision, OUT max_retries integer, OUT document_permanent boolean, OUT holds text, OUT hold_seconds double precision) returns record
-- function delete_document(p_document bigint, p_actor text) returns jsonb, with its owner's rights, callable by holdfast_api
-- function deleted_together(p_document bigint) returns bigint[]
-- function deletion_scope(p_document bigint) returns bigint[]
-- function deliveries(p_receiver bigint, p_state text, p_limit integer) returns TABLE(delivery_id bigint, receiver_id bigint, message_id uuid, event text, at timestamp with time zone, organisation text, state text, attempts integer, next_at timestamp with time zone, last_at timestamp with time zone, last_status integer, last_answer text), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function demand_of(p_configuration regconfig, p_question jsonb) returns tsquery
-- function diff_configs(p_run bigint, p_other bigint, p_first integer, p_limit integer) returns TABLE(added bigint, removed bigint, changed bigint, changes jsonb), callable by holdfast_api, holdfast_readonly
-- function disable_receiver(p_receiver bigint, p_reason text) returns void
-- function distance(extensions.vector, extensions.vector) returns double precision
-- function document_file(p_document bigint, p_kind text) returns TABLE(organisation text, source_name text, hash text, size bigint), callable by holdfast_api, holdfast_readonly
-- function document_under_claim(p_job bigint, p_token bigint) returns bigint
-- function drain_holds() returns void
-- function effective_settings(p_run bigint) returns TABLE(source_path text, stanza text, key text, value text, line integer), callable by holdfast_api, holdfast_readonly
-- function end_budget_holds(p_budget_id bigint, p_day date) returns void
-- function end_dead_leases(p_limit integer) returns bigint, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function end_delivery(p_delivery bigint, p_token bigint, p_outcome text, p_status integer, p_answer text, p_retry_after_seconds double precision) returns text, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function end_failed(p_job holdfast.pipeline_job, p_outcome text, p_failure jsonb) returns text
-- function ensure_vectors() returns boolean, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function entities_in(p_items jsonb) returns TABLE(number bigint, ordinal integer, kind text, name text, normalised_name text, count integer)
-- function entity_ids(p_organisation text, p_items jsonb) returns bigint[]
-- function entity_neighbours(p_organisation text, p_entity bigint, p_limit integer) returns TABLE(rank bigint, kind text, name text, predicate text, outward boolean, maker text, strength bigint, document_id bigint, ordinal integer), callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function entry_vtime(p_pipeline text, p_priority integer) returns double precision
-- function erase(p_document bigint, p_doomed bigint[], p_organisation text) returns jsonb
-- function error_of(p_job holdfast.pipeline_job, p_component text, p_outcome text, p_action text, p_max_retries integer, p_retry_at timestamp with time zone, p_failure jsonb) returns jsonb
-- function expect_answer(p_job holdfast.pipeline_job, p_provider text, p_reference text, p_asked_at timestamp with time zone, p_deadline timestamp with time zone) returns boolean
-- function fail(p_items jsonb) returns TABLE(job_id bigint, token bigint, result text, state text, retry_at timestamp with time zone), with its owner's rights, callable by holdfast_worker
-- function find(p_organisation text, p_question jsonb, p_vector real[], p_model text, p_mode text, p_filter jsonb, p_limit integer) returns TABLE(document_id bigint, ordinal integer, chunk_id text, title text, source_name text, source_platform text, source_location text, metadata jsonb, place jsonb, text text, context text, configuration regconfig, score double precision, words_rank bigint, words_score double precision, matched text[], vector_rank bigint, similarity double precision), with its owner's rights, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function find_by_vector(p_organisation text, p_vector real[], p_model text, p_question jsonb, p_filter jsonb, p_limit integer) returns TABLE(generation_id bigint, ordinal integer, rank bigint, similarity double precision), with its owner's rights
-- function find_by_words(p_organisation text, p_question jsonb, p_filter jsonb, p_limit integer) returns TABLE(generation_id bigint, ordinal integer, rank bigint, score double precision, matched text[]), with its owner's rights
-- function findable(p_document holdfast.document, p_filter jsonb) returns boolean
-- function fingerprint(p_component text, p_category text, p_error_type text, p_message text) returns text, callable by holdfast_api, holdfast_readonly
-- function finish_chunks(p_generation bigint, p_count integer) returns void, with its owner's rights, callable by holdfast_worker
-- function finish_embedding(p_generation bigint, p_embedder smallint) returns void, with its owner's rights, callable by holdfast_worker
-- function finish_removal(p_organisation text, p_hashes text[], p_until timestamp with time zone) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function finish_takeover(p_takeover bigint, p_actor text, p_counts jsonb) returns void, with its owner's rights
-- function finish_undo(p_takeover bigint, p_actor text, p_counts jsonb) returns void, with its owner's rights
-- function first_phase(p_pipeline text) returns holdfast.phase
-- function flow_of(p_table text, p_key text) returns text, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function forget_awaited_answers(p_now timestamp with time zone) returns void
-- function forget_errors(p_document bigint) returns void
-- function forget_words(p_documents bigint[]) returns void
-- function front(p_pipeline text) returns double precision
-- function generation_of(p_document bigint) returns bigint, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function give_back(p_items jsonb) returns SETOF bigint, with its owner's rights, callable by holdfast_worker
-- function give_back(p_takeover bigint, p_keys text[]) returns SETOF text, with its owner's rights
-- function give_up_waiting(p_receiver bigint, p_reason text) returns void
-- function goes_away(p_document holdfast.document) returns boolean
-- function graph_lock(p_organisation text) returns bigint
-- function half(extensions.vector, integer) returns extensions.halfvec
-- function half_distance(extensions.halfvec, extensions.halfvec) returns double precision
-- function hand_over(p_document bigint, p_pipeline text) returns void
-- function has_keys() returns boolean, with its owner's rights, callable by holdfast_api
-- function has_living_copy(p_document bigint) returns boolean
-- function has_members_under_way(p_document bigint) returns boolean
-- function has_older_answer(p_document holdfast.document) returns boolean, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function has_vectors() returns boolean
-- function hash_of_embedded(p_context text, p_text text) returns text
-- function hears(p_receivers text, p_happened_in text) returns boolean
-- function heartbeat(p_worker text, p_jobs jsonb, p_names_all boolean, p_lease_seconds double precision, p_number bigint, OUT alive boolean, OUT stale jsonb, OUT renewed jsonb) returns record, with its owner's rights, callable by holdfast_worker
-- function hold(p_scope jsonb, p_until timestamp with time zone, p_reason text, p_actor text) returns bigint, with its owner's rights, callable by holdfast_api
-- function hold_claim(p_job bigint, p_token bigint) returns void
-- function hold_for_failure(p_job holdfast.pipeline_job, p_phase holdfast.phase, p_holds text, p_seconds double precision, p_failure jsonb) returns bigint
-- function holding_jobs(p_jobs bigint[], p_category text) returns SETOF bigint
-- function holds_on(p_phase holdfast.phase, p_organisations text[], p_now timestamp with time zone) returns SETOF holdfast.hold
-- function holds_on_budget(p_budget text, p_organisation text) returns SETOF holdfast.hold
-- function index_embedder(p_embedder smallint) returns boolean, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function input_of(p_job holdfast.pipeline_job, p_target holdfast.phase) returns jsonb
-- function insert_documents(p_items jsonb, p_ids bigint[], p_now timestamp with time zone) returns SETOF bigint
-- function inverse_frequency(p_with double precision, p_all double precision) returns double precision
-- function is_behind(p_job holdfast.pipeline_job, p_hold holdfast.hold) returns boolean
-- function is_carried(p_document holdfast.document, p_pipeline text) returns boolean
-- function is_disused(p_model holdfast.embedder) returns boolean
-- function is_free(p_artifact holdfast.artifact) returns boolean
-- function is_held(p_phase holdfast.phase, p_now timestamp with time zone) returns boolean
-- function is_needed(p_document bigint) returns boolean
-- function is_own(p_organisation text) returns boolean
-- function is_own(p_organisation text, p_confined_to text) returns boolean
-- function is_served(p_phase holdfast.phase, p_now timestamp with time zone) returns boolean
-- function is_shown(p_document holdfast.document) returns boolean, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function is_shown_with(p_parent bigint, p_stands_in_for bigint) returns boolean, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function is_spent(p_awaited holdfast.awaited_answer) returns boolean
-- function is_trusted(p_role name) returns boolean
-- function is_used(p_organisation text, p_hash text) returns boolean
-- function is_wanted(p_document bigint) returns boolean
-- function is_wanted(p_event text) returns boolean
-- function job_in_brief(p_job holdfast.pipeline_job, p_source_name text) returns jsonb
-- function jobs_of(p_document bigint) returns SETOF holdfast.pipeline_job, callable by holdfast_api, holdfast_readonly
-- function jobs_of_all(p_documents bigint[]) returns bigint[]
-- function judge_trial(p_trial holdfast.trial) returns holdfast.trial
-- function keep_answer(p_organisation text, p_document bigint, p_key text, p_answer jsonb, p_cost_usd numeric, p_job bigint, p_token bigint) returns void, with its owner's rights, callable by holdfast_worker
-- function keep_dealings(p_phases jsonb, p_known jsonb) returns jsonb
-- function keep_for_failed_members(p_document bigint) returns void
-- function keep_late_answer(p_item jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function key_with(p_hash bytea) returns TABLE(id bigint, organisation text, name text, scope text), with its owner's rights, callable by holdfast_api
-- function keys() returns TABLE(key_id bigint, organisation text, name text, scope text, hint text, created_at timestamp with time zone, created_by text, last_used_at timestamp with time zone, revoked_at timestamp with time zone), with its owner's rights, callable by holdfast_api
-- function knowledge_of(p_documents bigint[]) returns TABLE(chunks bigint, embeddings bigint, entities bigint, relations bigint), callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function known_cost(p_job holdfast.pipeline_job) returns numeric
-- function known_document(p_item jsonb) returns bigint
-- function known_rows(p_takeover bigint, p_share integer, p_chosen jsonb, p_keys text[]) returns TABLE(key text, chosen text, is_known boolean, flow text, row_before text, is_changed boolean, is_named boolean), with its owner's rights
-- function lacking_vectors(p_embedder smallint, p_organisation text, p_generation bigint, p_ordinal integer, p_last_generation bigint, p_last_ordinal integer, p_limit integer) returns TABLE(generation_id bigint, ordinal integer), with its owner's rights, callable by holdfast_api
-- function late_items(p_items jsonb, p_settled bigint[]) returns jsonb
-- function late_token(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns bigint
-- function learn_cost(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns void
-- function lease_artifacts(p_organisation text, p_items jsonb, p_holder text) returns text[], with its owner's rights, callable by holdfast_api, holdfast_worker
-- function lease_is_dead_before() returns timestamp with time zone
-- function left_rows(p_takeover bigint, p_limit integer) returns TABLE(key text, reason text), with its owner's rights
-- function let_go(p_takeover bigint, p_documents bigint[]) returns void, with its owner's rights
-- function lexemes_of(p_configuration regconfig, p_text text) returns TABLE(word text, lexeme text)
-- function living_copy(p_document bigint, p_rather bigint, p_except bigint[]) returns bigint
-- function lock_and_list_jobs(p_jobs bigint[], p_category text) returns SETOF holdfast.pipeline_job
-- function lock_budgets_and_holds(p_jobs bigint[], p_holding bigint[], p_late bigint[]) returns void
-- function lock_documents(p_documents bigint[]) returns void
-- function lock_for_deletion(p_document bigint) returns void
-- function lock_for_endings(p_items jsonb, p_holding bigint[]) returns void
-- function lock_for_transition(p_jobs bigint[], p_documents bigint[], p_holding bigint[]) returns void
-- function lock_late_ones(p_items jsonb, p_settled bigint[]) returns void
-- function lock_parents(p_items jsonb) returns void
-- function lock_places(p_document bigint) returns void
-- function log_error(p_job holdfast.pipeline_job, p_error jsonb, p_charged boolean) returns void, with its owner's rights
-- function mail_alerts_to(p_addresses text[], p_actor text) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function matching_jobs(p_filter jsonb, p_limit integer) returns SETOF bigint, callable by holdfast_api, holdfast_readonly
-- function may_become_known(p_attempt holdfast.pipeline_phase) returns boolean
-- function may_judge(p_worker text, p_lease_seconds double precision, p_now timestamp with time zone) returns boolean
-- function may_name_vectors() returns boolean
-- function measure_takeover() returns void, with its owner's rights
-- function members_under_way(p_document bigint) returns TABLE(members bigint, under_way bigint, seconds double precision), callable by holdfast_worker
-- function merge_metadata(p_organisation text, p_items jsonb) returns SETOF bigint, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function name_words(p_name text) returns tsvector, callable by holdfast_api, holdfast_readonly
-- function nearest_by_index(p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[], p_patterns text[], p_filter jsonb, p_limit integer) returns TABLE(generation_id bigint, ordinal integer, rank bigint, similarity double precision)
-- function nearest_exactly(p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[], p_patterns text[], p_filter jsonb, p_limit integer) returns TABLE(generation_id bigint, ordinal integer, rank bigint, similarity double precision)
-- function nearest_index(p_embedder smallint) returns text
-- function needed_artifacts(p_after_document bigint, p_after_kind text, p_limit integer) returns TABLE(document_id bigint, kind text, organisation text, hash text, size bigint), callable by holdfast_api, holdfast_readonly
-- function needs_index(p_embedder smallint) returns boolean, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function neighbourhood(p_organisation text, p_chunks jsonb, p_limit integer) returns TABLE(entity_id bigint, kind text, name text, passages bigint, neighbour_kind text, neighbour_name text, predicate text, outward boolean, maker text, strength bigint, document_id bigint, ordinal integer), callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function next_budget_day(p_budget holdfast.budget) returns timestamp with time zone, callable by holdfast_api, holdfast_readonly
-- function next_place(p_generation bigint, p_ordinal integer, p_passages integer) returns TABLE(generation_id bigint, ordinal integer), with its owner's rights, callable by holdfast_api
-- function note_changed(p_takeover bigint, p_items jsonb) returns void, with its owner's rights
-- function note_gone(p_takeover bigint, p_keys text[]) returns void, with its owner's rights
-- function note_lanes(p_worker text, p_known jsonb, p_lanes jsonb) returns jsonb
-- function original_of(p_document bigint, p_hash text, p_pipeline text) returns bigint, with its owner's rights, callable by holdfast_worker
-- function other_versions(p_document holdfast.document) returns TABLE(document_id bigint)
-- function overview_attempts(p_jobs bigint[]) returns TABLE(job_id bigint, attempt_id bigint, retries_attempt_id bigint, pipeline text, phase text, run integer, token bigint, attempt integer, outcome text, worker_id text, started_at timestamp with time zone, ended_at timestamp with time zone, seconds double precision, progress real, input jsonb, output jsonb, category text, error jsonb, cost_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_audit(p_limit integer, p_job_id bigint) returns TABLE(audit_id bigint, at timestamp with time zone, actor text, action text, job_id bigint, reason text, before jsonb, after jsonb), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_backlog() returns TABLE(pipeline text, phase text, queued bigint, oldest_queued_seconds double precision, arrived_last_hour bigint, completed_last_hour bigint, growth_last_hour bigint), callable by holdfast_api, holdfast_readonly
-- function overview_budget_refusals(p_days integer) returns TABLE(day date, name text, organisation text, refusals integer, limit_usd numeric, spent_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_budgets() returns TABLE(name text, organisation text, day date, time_zone text, limit_usd numeric, reserved_usd numeric, spent_usd numeric, overrun_usd numeric, left_usd numeric, refusals integer, resets_at timestamp with time zone), callable by holdfast_api, holdfast_readonly
-- function overview_cards(p_jobs bigint[]) returns TABLE(job_id bigint, document_id bigint, organisation text, source_name text, platform text, pipeline text, phase text, run integer, status text, state text, percent integer, priority smallint, retry_count integer, max_retries integer, crash_count integer, worker_id text, started_at timestamp with time zone, retry_at timestamp with time zone, hold_id bigint, last_error jsonb, total_cost_usd numeric, submitted_at timestamp with time zone, queued_at timestamp with time zone, finished_at timestamp with time zone, flow text, next text), callable by holdfast_api, holdfast_readonly
-- function overview_check_filter(p_filter jsonb) returns text[], callable by holdfast_api, holdfast_readonly
-- function overview_costs(p_days integer) returns TABLE(organisation text, platform text, pipeline text, phase text, attempts bigint, cost_usd numeric, wasted_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_costs_by_day(p_days integer) returns TABLE(day date, organisation text, pipeline text, phase text, provider text, attempts bigint, cost_usd numeric, wasted_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_cursor(p_cursor text) returns bigint[], callable by holdfast_api, holdfast_readonly
-- function overview_database() returns TABLE(oldest_transaction_seconds double precision, hidden_sessions bigint, connections_used bigint, connections_max integer, database_bytes bigint, oldest_xid_age bigint, live_rows bigint, dead_rows bigint, autovacuumed_at timestamp with time zone, tables jsonb), callable by holdfast_api, holdfast_readonly
-- function overview_document(p_document_id bigint) returns TABLE(document_id bigint, organisation text, source_name text, platform text, source_location text, content_hash text, duplicate_of bigint, parent_id bigint, metadata jsonb, failure_state text, failure_count integer, failures jsonb, last_failure jsonb, cool_down_until timestamp with time zone, created_at timestamp with time zone, deleted_at timestamp with time zone), callable by holdfast_api, holdfast_readonly
-- function overview_documents(p_filter jsonb, p_before bigint) returns bigint[], callable by holdfast_api, holdfast_readonly
-- function overview_done_jobs(p_filter jsonb, p_documents bigint[], p_limit integer, p_before bigint[]) returns TABLE(document_id bigint, job_id bigint), callable by holdfast_api, holdfast_readonly
-- function overview_durations(p_hours integer) returns TABLE(pipeline text, phase text, completed bigint, p50_seconds double precision, p95_seconds double precision, max_seconds double precision, avg_seconds double precision), callable by holdfast_api, holdfast_readonly
-- function overview_ended_jobs(p_filter jsonb, p_states text[], p_documents bigint[], p_limit integer, p_before bigint[], p_oldest bigint) returns TABLE(document_id bigint, job_id bigint), callable by holdfast_api, holdfast_readonly
-- function overview_errors_by(p_group text, p_days integer) returns TABLE(key text, errors bigint, charged bigint, documents bigint, first_at timestamp with time zone, last_at timestamp with time zone, component text, category text, example text), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_failed_originals(p_documents bigint[]) returns TABLE(document_id bigint, job_id bigint, state text), callable by holdfast_api, holdfast_readonly
-- function overview_failure_groups(p_days integer, p_limit integer) returns TABLE(fingerprint text, category text, component text, errors bigint, documents bigint, open_jobs bigint, first_at timestamp with time zone, last_at timestamp with time zone, platforms text[], organisations text[], pipelines text[], phases text[], example text, example_job_id bigint, traceback text), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_failure_rate_by_platform(p_days integer) returns TABLE(platform text, attempts bigint, failed bigint, failure_rate double precision), callable by holdfast_api, holdfast_readonly
-- function overview_family(p_jobs bigint[]) returns SETOF bigint, callable by holdfast_api, holdfast_readonly
-- function overview_first_day(p_days integer) returns timestamp with time zone, callable by holdfast_api, holdfast_readonly
-- function overview_first_job_since(p_since timestamp with time zone) returns bigint, callable by holdfast_api, holdfast_readonly
-- function overview_flow(p_seconds integer, p_bucket_seconds integer) returns TABLE(bucket_at timestamp with time zone, pipeline text, phase text, completed bigint, failed bigint), callable by holdfast_api, holdfast_readonly
-- function overview_has_cause(p_job holdfast.pipeline_job, p_fingerprint text) returns boolean, callable by holdfast_api, holdfast_readonly
-- function overview_health() returns TABLE(healthy boolean, problems text[], queued bigint, working bigint, failed bigint, held bigint, deadletter bigint, stuck bigint, oldest_queued_seconds double precision, completed_last_hour bigint, failed_last_hour bigint, error_rate double precision, workers bigint, holds bigint), callable by holdfast_api, holdfast_readonly
-- function overview_hold_on(p_pipeline text, p_phase text, p_organisation text) returns SETOF holdfast.hold, callable by holdfast_api, holdfast_readonly
-- function overview_holds() returns TABLE(hold_id bigint, provider text, organisation text, pipeline text, phase text, budget text, until timestamp with time zone, reason text, needs_usd numeric, created_at timestamp with time zone, created_by text, parked_jobs bigint), callable by holdfast_api, holdfast_readonly
-- function overview_incidents(p_limit integer) returns TABLE(incident_id bigint, kind text, scope text, organisation text, opened_at timestamp with time zone, closed_at timestamp with time zone, message text, figures jsonb), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_jobs(p_filter jsonb, p_limit integer, p_cursor text) returns SETOF bigint, callable by holdfast_api, holdfast_readonly
-- function overview_keeps(p_job holdfast.pipeline_job, p_document holdfast.document, p_filter jsonb) returns boolean, callable by holdfast_api, holdfast_readonly
-- function overview_limit(p_limit integer) returns integer, callable by holdfast_api, holdfast_readonly
-- function overview_live_jobs(p_filter jsonb, p_states text[], p_documents bigint[], p_limit integer, p_before bigint[], p_oldest bigint) returns TABLE(document_id bigint, job_id bigint), callable by holdfast_api, holdfast_readonly
-- function overview_moment(p_moment timestamp with time zone) returns text, callable by holdfast_api, holdfast_readonly
-- function overview_name_query(p_text text) returns tsquery, callable by holdfast_api, holdfast_readonly
-- function overview_next(p_job holdfast.pipeline_job) returns text, callable by holdfast_api, holdfast_readonly
-- function overview_number(p_text text) returns bigint, callable by holdfast_api, holdfast_readonly
-- function overview_original(p_original bigint, p_pipeline text) returns text, callable by holdfast_api, holdfast_readonly
-- function overview_outcomes(p_hours integer) returns TABLE(pipeline text, phase text, outcome text, category text, attempts bigint), callable by holdfast_api, holdfast_readonly
-- function overview_pipelines() returns TABLE(name text, version integer, starts text, registered_at timestamp with time zone, phases jsonb), callable by holdfast_api, holdfast_readonly
-- function overview_policies() returns TABLE(policy text, two_level boolean, category text, charged boolean, max_retries integer, document_limit integer, wait_seconds double precision[], jitter double precision, holds text, hold_seconds double precision), callable by holdfast_api, holdfast_readonly
-- function overview_position(p_job_id bigint) returns integer, with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_progress(p_jobs bigint[]) returns TABLE(pipeline text, phase text, passed bigint, queued bigint, working bigint, waiting bigint, failed bigint, cancelled bigint, resumes_at timestamp with time zone, progress real), callable by holdfast_api, holdfast_readonly
-- function overview_queues() returns TABLE(pipeline text, phase text, queued bigint, working bigint, failed bigint, held bigint, deadletter bigint, oldest_queued_seconds double precision, workers bigint), callable by holdfast_api, holdfast_readonly
-- function overview_recent_failures(p_limit integer) returns TABLE(job_id bigint, document_id bigint, source_name text, organisation text, pipeline text, phase text, outcome text, attempt integer, category text, error text, failed_at timestamp with time zone), callable by holdfast_api, holdfast_readonly
-- function overview_recovery_by_category(p_days integer) returns TABLE(category text, retries bigint, recovered bigint, recovery_rate double precision), callable by holdfast_api, holdfast_readonly
-- function overview_repeat_offenders(p_times integer, p_days integer) returns TABLE(document_id bigint, source_name text, organisation text, platform text, fingerprint text, component text, category text, times bigint, first_at timestamp with time zone, last_at timestamp with time zone, error text), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_replaced(p_job holdfast.pipeline_job) returns text, callable by holdfast_api, holdfast_readonly
-- function overview_retries(p_days integer) returns TABLE(pipeline text, phase text, failures bigint, retries bigint, recovered bigint, recovery_rate double precision, average_wait_seconds double precision), callable by holdfast_api, holdfast_readonly
-- function overview_saved(p_days integer) returns TABLE(day date, resumed bigint, saved_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_since(p_count integer, p_unit text) returns timestamp with time zone, callable by holdfast_api, holdfast_readonly
-- function overview_spent(p_jobs bigint[]) returns TABLE(pipeline text, phase text, completed bigint, failed bigint, seconds double precision, cost_usd numeric), callable by holdfast_api, holdfast_readonly
-- function overview_stuck(p_minutes integer) returns TABLE(job_id bigint, document_id bigint, source_name text, organisation text, pipeline text, phase text, worker_id text, started_at timestamp with time zone, progress real, progress_at timestamp with time zone, minutes double precision), callable by holdfast_api, holdfast_readonly
-- function overview_throughput(p_hours integer) returns TABLE(hour timestamp with time zone, pipeline text, phase text, completed bigint, failed bigint, uncharged bigint), callable by holdfast_api, holdfast_readonly
-- function overview_top_failing(p_limit integer, p_days integer) returns TABLE(document_id bigint, source_name text, organisation text, platform text, failure_state text, failure_count integer, errors bigint, last_at timestamp with time zone, category text, error text), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function overview_trials(p_limit integer, p_trial_id bigint) returns TABLE(trial_id bigint, state text, organisation text, filter jsonb, first_jobs bigint[], retried bigint, reason text, created_at timestamp with time zone, created_by text, ended_at timestamp with time zone, why text), callable by holdfast_api, holdfast_readonly
-- function overview_wait(p_hold holdfast.hold) returns text, callable by holdfast_api, holdfast_readonly
-- function overview_workers() returns TABLE(worker_id text, condition text, host text, pid integer, lanes jsonb, working bigint, started_at timestamp with time zone, seen_at timestamp with time zone, ended_at timestamp with time zone), callable by holdfast_api, holdfast_readonly
-- function own_receiver(p_receiver bigint) returns holdfast.receiver
-- function park(p_jobs bigint[], p_phase holdfast.phase, p_now timestamp with time zone, OUT parked bigint[], OUT passed_over bigint[]) returns record
-- function parse_errors_of(p_run bigint, p_file text, p_limit integer) returns TABLE(source_path text, line integer, message text, text text), callable by holdfast_api, holdfast_readonly
-- function passage_of(p_chunk holdfast.chunk) returns text
-- function passages_of(p_document bigint, p_from integer, p_limit integer) returns TABLE(document_id bigint, ordinal integer, title text, place jsonb, text text, context text), callable by holdfast_api, holdfast_readonly
-- function pays_itself(p_organisation text, p_budget text) returns boolean, with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function phrase_patterns(p_question jsonb) returns text[]
-- function pick(p_phase holdfast.phase, p_limit integer, p_worker text, p_now timestamp with time zone) returns bigint[]
-- function pick_suspect(p_phase holdfast.phase, p_worker text, p_before holdfast.pipeline_job, p_now timestamp with time zone) returns bigint[]
-- function ping(p_receiver bigint, p_actor text) returns TABLE(delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid, event text, sent_at timestamp with time zone, payload text), with its owner's rights, callable by holdfast_api
-- function place_hold(p_provider text, p_organisation text, p_pipeline text, p_phase text, p_budget text, p_until timestamp with time zone, p_reason text, p_by text, p_needs_usd numeric) returns bigint
-- function place_phases(p_pipeline text, p_phases jsonb) returns void
-- function preview_jobs(p_filter jsonb) returns TABLE(pipeline text, phase text, state text, category text, jobs bigint, usual_cost_usd numeric), callable by holdfast_api, holdfast_readonly
-- function promote(p_batch integer) returns bigint
-- function publish_document(p_document bigint, p_generation bigint) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function published_with(p_document bigint) returns bigint[]
-- function purge_superseded(p_before timestamp with time zone, p_limit integer) returns jsonb, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function reading_of(p_document bigint) returns SETOF holdfast.reading, callable by holdfast_api, holdfast_readonly
-- function ready_before(p_pipeline text, p_phase text, p_priority integer, p_vtime double precision, p_id bigint, p_limit integer) returns integer
-- function recall_answers(p_organisation text, p_keys text[]) returns TABLE(key text, answer jsonb), with its owner's rights, callable by holdfast_worker
-- function receivers() returns TABLE(receiver_id bigint, organisation text, kind text, url text, events text[], created_at timestamp with time zone, created_by text, disabled_at timestamp with time zone, disabled_reason text, waiting bigint), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function record_attempt(p_job holdfast.pipeline_job, p_outcome text, p_ended_at timestamp with time zone, p_output jsonb, p_error jsonb, p_cost_usd numeric) returns bigint
-- function record_orphans(p_organisation text, p_items jsonb) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function redeliver(p_delivery bigint, p_actor text) returns void, with its owner's rights, callable by holdfast_api
-- function refuse_bad_answer(p_provider text, p_message_id text, p_reference text, p_outcome text, p_body jsonb) returns void
-- function refuse_bad_artifacts(p_items jsonb) returns void
-- function refuse_bad_asks(p_items jsonb) returns void
-- function refuse_bad_costs(p_items jsonb) returns void
-- function refuse_bad_kinds(p_items jsonb) returns void
-- function refuse_change() returns trigger
-- function refuse_foreign_parent() returns trigger
-- function refuse_illegal_move() returns trigger
-- function refuse_other_organisation() returns trigger
-- function refuse_other_sizes(p_organisation text, p_items jsonb) returns void
-- function refuse_unknown_events(p_events text[]) returns void
-- function refuse_unknown_status() returns trigger
-- function refuse_while_indexing() returns void
-- function register_embedder(p_name text, p_dimension integer, OUT id smallint, OUT takes_vectors boolean, OUT active_name text, OUT vector_type text) returns record, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function register_pipeline(p_declaration jsonb) returns text, with its owner's rights, callable by holdfast_worker
-- function register_policy(p_declaration jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function register_worker(p_worker text, p_host text, p_pid integer, p_lanes jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function relations_in(p_items jsonb) returns TABLE(ordinal integer, subject bigint, predicate text, object bigint, maker text, confidence real)
-- function release(p_hold_id bigint, p_actor text, p_reason text) returns bigint, with its owner's rights, callable by holdfast_api
-- function release_artifacts(p_organisation text, p_hashes text[], p_holder text) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function remove_answers(p_document bigint) returns jsonb, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function remove_awaited_answers(p_document bigint) returns jsonb, with its owner's rights
-- function remove_chunks(p_generation bigint, p_before integer) returns jsonb, with its owner's rights
-- function remove_configs(p_document bigint) returns jsonb, with its owner's rights
-- function remove_derived(p_document bigint) returns jsonb, with its owner's rights
-- function remove_embeddings(p_generation bigint, p_before integer) returns jsonb, with its owner's rights
-- function remove_inactive_vectors(p_limit integer) returns integer, with its owner's rights, callable by holdfast_api
-- function remove_old_answers() returns bigint, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function remove_part_from_graph(p_generation bigint, p_before integer) returns jsonb
-- function remove_part_of_generation(p_generation bigint, p_before integer) returns jsonb
-- function remove_reading(p_document bigint) returns jsonb, with its owner's rights
-- function remove_receiver(p_receiver bigint, p_actor text) returns void, with its owner's rights, callable by holdfast_api
-- function remove_retired_generations(p_limit integer) returns jsonb, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function remove_story(p_document bigint) returns jsonb, with its owner's rights
-- function reopen(p_job_id bigint, p_action text, p_phase text, p_actor text, p_reason text) returns text
-- function reopen_entry(p_job_id bigint, p_token bigint, p_new_token bigint) returns void
-- function reopen_resumed(p_job_id bigint, p_token bigint) returns void
-- function replace_older(p_organisation text, p_platform text, p_location text) returns void
-- function replaced_above(p_document bigint) returns bigint
-- function replaced_by(p_documents bigint[]) returns bigint[]
-- function requeue(p_jobs bigint[], p_now timestamp with time zone) returns void
-- function requeue_stuck(p_stuck_for_minutes integer, p_pipeline text, p_phase text, p_actor text) returns SETOF bigint, with its owner's rights, callable by holdfast_api
-- function reroute() returns bigint
-- function reserve_budget(p_job_id bigint, p_token bigint, p_amount_usd numeric, OUT granted boolean, OUT budget text, OUT left_usd numeric, OUT resets_at timestamp with time zone) returns record, with its owner's rights, callable by holdfast_worker
-- function reset(p_jobs bigint[], p_actor text, p_reason text) returns TABLE(job_id bigint, result text), with its owner's rights, callable by holdfast_api
-- function resume_attempt(p_job_id bigint, p_token bigint, p_worker text) returns bigint
-- function resume_attempts(p_worker text, p_jobs jsonb, OUT renewed jsonb, OUT busy bigint[]) returns record
-- function resumed_token(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns bigint
-- function retire_generations(p_generations bigint[]) returns void
-- function retries_of(p_job bigint) returns bigint, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function retry(p_jobs bigint[], p_phase text, p_actor text, p_reason text) returns TABLE(job_id bigint, result text), with its owner's rights, callable by holdfast_api
-- function retry_rest(p_trial holdfast.trial, p_batch integer) returns bigint
-- function reuse_vectors(p_embedder smallint, p_generations bigint[], p_ordinals integer[]) returns void
-- function revoke_key(p_key bigint, p_actor text) returns void, with its owner's rights, callable by holdfast_api
-- function root_of(p_parent bigint) returns bigint
-- function rotate_secret(p_receiver bigint, p_secret text, p_actor text) returns void, with its owner's rights, callable by holdfast_api
-- function rows_beyond_share(p_takeover bigint) returns bigint, with its owner's rights
-- function set_budget(p_name text, p_daily_limit_usd numeric, p_organisation text, p_time_zone text, p_actor text) returns void, with its owner's rights, callable by holdfast_api
-- function settings_of(p_run bigint, p_file text, p_stanza text, p_after integer[], p_limit integer) returns TABLE(file_number integer, stanza_number integer, line integer, source_path text, file text, stanza text, key text, value text), callable by holdfast_api, holdfast_readonly
-- function settle(p_items jsonb) returns TABLE(job_id bigint, token bigint, result text, state text, phase text), with its owner's rights, callable by holdfast_worker
-- function settle_budget(p_job_id bigint, p_token bigint, p_spent_usd numeric) returns void, with its owner's rights, callable by holdfast_worker
-- function settle_entry(p_job_id bigint, p_token bigint, p_spent_usd numeric) returns void
-- function settle_saved(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns void, with its owner's rights, callable by holdfast_worker
-- function settle_side_effects(p_items jsonb, p_settled bigint[]) returns void
-- function share_generation(p_origin bigint, p_copy bigint) returns void
-- function shows_members(p_document bigint) returns boolean, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function stands_before(p_one holdfast.pipeline_job, p_other holdfast.pipeline_job) returns boolean
-- function staying_rows(p_takeover bigint) returns TABLE(key text, reason text), with its owner's rights
-- function stop_worker(p_worker text) returns void, with its owner's rights, callable by holdfast_worker
-- function store_chunks(p_job bigint, p_token bigint, p_items jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function store_configs(p_job bigint, p_token bigint, p_rows jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function store_duplicate(p_document bigint, p_original bigint, p_name text, p_hash text) returns boolean, with its owner's rights, callable by holdfast_worker
-- function store_embeddings(p_job bigint, p_token bigint, p_embedder smallint, p_ordinals integer[], p_hashes text[], p_vectors anyarray) returns boolean, with its owner's rights, callable by holdfast_worker
-- function store_fetched(p_document bigint, p_name text, p_hash text, p_pipeline text) returns boolean, with its owner's rights, callable by holdfast_worker
-- function store_reading(p_document bigint, p_text text, p_model text) returns void, with its owner's rights, callable by holdfast_worker
-- function store_reindexed(p_embedder smallint, p_generations bigint[], p_ordinals integer[], p_hashes text[], p_cost_usd numeric, p_vectors anyarray) returns void, with its owner's rights, callable by holdfast_api
-- function store_story(p_document bigint, p_story jsonb) returns void, with its owner's rights, callable by holdfast_worker
-- function story_entities(p_organisation text, p_limit integer) returns TABLE(name text, stories integer, mentions bigint), callable by holdfast_api, holdfast_readonly
-- function story_lock(p_organisation text) returns bigint
-- function story_of(p_document bigint) returns SETOF holdfast.story, callable by holdfast_api, holdfast_readonly
-- function submission_under(p_organisation text, p_key text) returns TABLE(document_id bigint, job_id bigint, result text, source_location text, content_hash text), callable by holdfast_api, holdfast_readonly
-- function submit(p_pipeline text, p_items jsonb) returns TABLE(ordinal bigint, document_id bigint, job_id bigint, result text), with its owner's rights, callable by holdfast_api, holdfast_worker
-- function submit_again(p_first holdfast.phase, p_document holdfast.document, p_item jsonb, p_now timestamp with time zone) returns bigint
-- function submit_duplicate(p_first holdfast.phase, p_original bigint, p_item jsonb, p_now timestamp with time zone) returns TABLE(document_id bigint, job_id bigint, result text)
-- function submit_known(p_first holdfast.phase, p_item jsonb, p_now timestamp with time zone) returns TABLE(document_id bigint, job_id bigint, result text)
-- function swap_places(p_document bigint, p_copy bigint) returns void
-- function sweep(p_lease_seconds double precision, p_worker text, OUT lost_jobs bigint[], OUT timed_out_jobs bigint[], OUT rerouted_jobs bigint, OUT more boolean, OUT undecided boolean) returns record, with its owner's rights, callable by holdfast_worker
-- function switch_generation(p_document holdfast.document, p_generation bigint) returns void
-- function take(p_deliveries bigint[], p_now timestamp with time zone) returns TABLE(delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid, event text, sent_at timestamp with time zone, payload text)
-- function take_answer(p_awaited holdfast.awaited_answer, p_job holdfast.pipeline_job, p_message_id text, p_outcome text, p_body jsonb) returns text
-- function take_deliveries(p_kinds text[], p_busy bigint[], p_limit integer) returns TABLE(delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid, event text, sent_at timestamp with time zone, payload text), with its owner's rights, callable by holdfast_api, holdfast_worker
-- function take_documents(p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[]) returns void
-- function take_for_embedding(p_job bigint, p_token bigint, p_embedder smallint, p_from integer, p_until integer) returns TABLE(ordinal integer, text_hash text, passage text), with its owner's rights, callable by holdfast_worker
-- function take_for_reindexing(p_embedder smallint, p_organisation text, p_generation bigint, p_ordinal integer, p_last_generation bigint, p_last_ordinal integer, p_limit integer) returns TABLE(generation_id bigint, ordinal integer, text_hash text, passage text, reused boolean), with its owner's rights, callable by holdfast_api
-- function take_jobs(p_takeover holdfast.takeover, p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[]) returns void
-- function take_rows(p_takeover bigint, p_after text, p_cursor text, p_items jsonb) returns void, with its owner's rights
-- function take_turns(p_pipeline text, p_organisation text, p_count bigint, p_front double precision, OUT first_vtime double precision, OUT step double precision) returns record
-- function taken_error(p_job jsonb, p_now timestamp with time zone, p_ready_at timestamp with time zone) returns jsonb
-- function taken_items(p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[]) returns TABLE(n bigint, key text, flow text, "row" text, status text, state text, retry_count integer, reason text, document jsonb, job jsonb, artifact jsonb, document_id bigint, job_id bigint, is_known boolean)
-- function taken_jobs(p_takeover holdfast.takeover, p_items jsonb, p_documents bigint[], p_jobs bigint[], p_known boolean[], p_now timestamp with time zone) returns TABLE(document_id bigint, job_id bigint, is_known boolean, flow text, retry_count integer, organisation text, job jsonb, original_status text, original_state text, vtime double precision, ready_at timestamp with time zone)
-- function taken_keys(p_takeover bigint, p_after text, p_limit integer) returns SETOF text, with its owner's rights
-- function takeover_counts(p_takeover bigint) returns TABLE(status text, state text, flow text, job_status text, job_state text, reason text, rows bigint, jobs bigint, changed bigint, without_source bigint), with its owner's rights
-- function takeover_of(p_source text, p_table text) returns bigint, with its owner's rights
-- function takeovers() returns TABLE(takeover_id bigint, source text, table_name text, pipeline text, share integer, reading boolean, taken bigint, old_flow bigint, left_behind bigint, started_at timestamp with time zone, finished_at timestamp with time zone, undone_at timestamp with time zone), with its owner's rights, callable by holdfast_api, holdfast_readonly
-- function takeovers_named(p_schema text, p_name text) returns TABLE(takeover_id bigint, table_name text, source text), with its owner's rights
-- function takes_vectors(p_embedder smallint) returns boolean
-- function title_of(p_metadata jsonb, p_source_name text) returns text, callable by holdfast_api, holdfast_readonly
-- function to_vector(real[]) returns extensions.vector
-- function token_after(p_job_id bigint, p_token bigint) returns bigint
-- function told_cost_unknown(p_error jsonb, p_phase holdfast.phase) returns jsonb
-- function too_many_to_compare(p_organisation text, p_embedder smallint, p_filter jsonb) returns boolean
-- function trial_jobs(p_filter jsonb, p_after bigint, p_limit integer) returns SETOF bigint
-- function trial_verdicts(p_trial holdfast.trial) returns TABLE(job_id bigint, verdict text, failure text)
-- function try_first(p_filter jsonb, p_first integer, p_actor text, p_reason text) returns bigint, with its owner's rights, callable by holdfast_api
-- function unasked_are_many(p_provider text) returns boolean
-- function uncount_story(p_document bigint) returns void
-- function undo_rows(p_takeover bigint, p_limit integer, OUT removed bigint, OUT kept bigint) returns record, with its owner's rights
-- function unneeded_versions(p_before timestamp with time zone, p_limit integer) returns TABLE(id bigint)
-- function unused_artifacts(p_after_organisation text, p_after_hash text, p_limit integer) returns TABLE(organisation text, hash text), with its owner's rights, callable by holdfast_api, holdfast_worker
-- function use_artifacts(p_document bigint, p_items jsonb, p_holder text) returns void, with its owner's rights, callable by holdfast_api, holdfast_worker
-- function used_scopes(p_jobs bigint[]) returns TABLE(provider text, organisation text, pipeline text, phase text, budget text)
-- function vector_counts(p_generation bigint, p_ordinal integer, p_embedder smallint, p_configurations regconfig[], p_demands tsquery[], p_patterns text[]) returns boolean
-- function vector_schema() returns text, callable by holdfast_api, holdfast_worker
-- function vectors(extensions.vector[]) returns extensions.vector[], callable by holdfast_api, holdfast_worker
-- function waits_for_members(p_job holdfast.pipeline_job) returns boolean
-- function wake() returns void
-- function wake_parent(p_parent bigint) returns void
-- function wake_parents() returns bigint, with its owner's rights, callable by holdfast_worker
-- function wall_off(p_table regclass) returns void
-- function warnings_of(p_documents bigint[]) returns TABLE(document_id bigint, source_name text, code text, message text), callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function was_taken_away(p_attempt holdfast.pipeline_phase) returns boolean
-- function weakness(p_kind text) returns integer, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function with_parts(p_documents bigint[]) returns bigint[]
-- function without_cost(p_attempt holdfast.pipeline_phase) returns holdfast.pipeline_phase
-- function without_words(p_attempt holdfast.pipeline_phase) returns holdfast.pipeline_phase
-- function word_query(p_lexeme text) returns tsquery
-- function word_shares() returns TABLE(lexeme text, share real)
-- function words_asked(p_organisation text, p_question jsonb, p_rare integer) returns TABLE(place bigint, configuration regconfig, word text, lexeme text, query tsquery, demand tsquery, within tsquery, passages double precision, expected double precision, is_rare boolean, is_rarest boolean)
-- function words_configuration(p_language text) returns regconfig
-- function words_to_highlight(p_question jsonb, p_configuration regconfig, p_words text[]) returns TABLE(word text, asked bigint), with its owner's rights, callable by holdfast_api, holdfast_readonly, holdfast_worker
-- function worked_rows(p_takeover bigint, p_keys text[]) returns SETOF bigint, with its owner's rights
-- function write_embeddings(p_embedder smallint, p_generations bigint[], p_ordinals integer[], p_hashes text[], p_vectors anyarray) returns void
