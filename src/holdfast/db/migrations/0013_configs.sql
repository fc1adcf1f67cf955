-- What configuration archives hold. A run is a document with its job in the pipeline "configs".
set local role holdfast_owner;

create table holdfast.config_file (
    document_id bigint not null references holdfast.document,
    number integer not null check (number > 0),          -- in the order of the archive
    organisation text not null,
    source_path text not null,                           -- in the archive
    file text not null,                                  -- its last part
    encoding text not null,
    primary key (document_id, number),
    unique (document_id, source_path)
);

-- A stanza that its file opens several times is one stanza; `line` is where it was opened first.
create table holdfast.config_stanza (
    document_id bigint not null,
    file_number integer not null,
    number integer not null check (number > 0),          -- in the order of the file
    organisation text not null,
    file text not null,
    name text not null,
    source_path text not null,
    line integer not null check (line > 0),
    primary key (document_id, file_number, number),
    unique (document_id, name, file, source_path),       -- the name first: that is what people ask for
    foreign key (document_id, file_number) references holdfast.config_file
);

-- Of a key that its stanza sets several times, every setting is kept: the last one counts.
create table holdfast.config_setting (
    document_id bigint not null,
    file_number integer not null,
    stanza_number integer not null,
    line integer not null check (line > 0),
    organisation text not null,
    key text not null check (key <> ''),
    value text not null,
    primary key (document_id, file_number, stanza_number, line),
    foreign key (document_id, file_number) references holdfast.config_file
);

create table holdfast.config_parse_error (
    document_id bigint not null,
    file_number integer not null,
    line integer not null check (line > 0),
    organisation text not null,
    message text not null,
    text text not null,                                  -- the beginning of the line
    primary key (document_id, file_number, line),
    foreign key (document_id, file_number) references holdfast.config_file
);

reset role;
