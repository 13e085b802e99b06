-- By which endpoint and credentials an environment reads and writes files elsewhere.

create table storage_integrations (
    storage_integration_id text        primary key,
    env_id                 text        not null references environments,
    name                   text        not null,
    -- contract::storage_integration::StorageKind.
    kind                   jsonb       not null,
    allowed_prefixes       text[]      not null,
    blocked_prefixes       text[]      not null,
    enabled                boolean     not null,
    credential_type        text        not null check (credential_type in ('anonymous', 'ambient', 'access_key')),
    -- contract::storage_integration::AccessKey, sealed under the installation's secret key: the data plane needs it again.
    credentials            bytea,
    credentials_at         timestamptz,
    created_at             timestamptz not null,
    updated_at             timestamptz not null,
    constraint storage_integrations_credentials_check check (
        (credential_type = 'access_key') = (credentials is not null)
        and (credential_type = 'access_key') = (credentials_at is not null)
    )
);

-- A statement names one whatever the letters' case.
create unique index storage_integrations_env_id_name_key on storage_integrations (env_id, lower(name));
create index storage_integrations_env_id_created_at_idx
    on storage_integrations (env_id, created_at desc, storage_integration_id desc);

create trigger storage_integrations_governance after insert or update or delete on storage_integrations
    for each row execute function governance_moved_environment();
