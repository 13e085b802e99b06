-- Room `audit`: exports of the trails, written in parts, each once.
create table audit_exports (
    export_id         text        primary key,
    env_id            text        not null references environments,
    org_id            text        not null references organizations,
    kind              text        not null check (kind in ('query', 'admin')),
    format            text        not null check (format in ('jsonl', 'csv')),
    range_start       timestamptz not null,
    range_end         timestamptz not null,
    status            text        not null check (status in ('processing', 'completed', 'failed')),
    estimated_records bigint      not null,
    -- Folder in the archive.
    folder            text        not null,
    created_by        text        not null,
    created_at        timestamptz not null,
    finished_at       timestamptz,
    -- The last record that is in a part: an export goes on where it was.
    after_time        timestamptz,
    after_id          text,
    manifest_sha256   text,
    constraint audit_exports_ended check ((status = 'processing') = (finished_at is null)),
    constraint audit_exports_whole check ((status = 'completed') = (manifest_sha256 is not null))
);

create index audit_exports_env_id_idx on audit_exports (env_id, finished_at desc);

create table audit_export_parts (
    export_id text    not null references audit_exports,
    -- From 1.
    number    integer not null,
    name      text    not null,
    records   bigint  not null,
    bytes     bigint  not null,
    sha256    text    not null,
    primary key (export_id, number)
);
