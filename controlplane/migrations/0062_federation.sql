-- Room `federation`: cloud identities that an organization believes.
create table federation_providers (
    provider_id text        primary key,
    org_id      text        not null references organizations,
    type        text        not null check (type in ('aws_sts', 'gcp_workload_identity', 'azure_ad')),
    config      jsonb       not null,
    status      text        not null check (status in ('active')),
    created_at  timestamptz not null,
    updated_at  timestamptz not null
);

create index federation_providers_org_id_idx on federation_providers (org_id, created_at, provider_id);

-- A token of Azure names its audience and no provider of ours: an audience means one provider.
create unique index federation_providers_audience_key
    on federation_providers ((config ->> 'tenant_id'), (config ->> 'audience')) where type = 'azure_ad';

-- Whom a provider means by a subject: a user of the organization who has no account.
create table federation_subjects (
    provider_id text not null references federation_providers on delete cascade,
    subject     text not null,
    user_id     text not null references users on delete cascade,
    constraint federation_subjects_pkey primary key (provider_id, subject)
);

create index federation_subjects_user_id_idx on federation_subjects (user_id);

-- A token that was believed, and the session that stands for it.
create table federated_tokens (
    token_sha256 bytea       primary key,
    provider_id  text        not null references federation_providers on delete cascade,
    session_id   text        not null references sessions on delete cascade
);

create index federated_tokens_session_id_idx on federated_tokens (session_id);
create index federated_tokens_provider_id_idx on federated_tokens (provider_id);

alter table sessions drop constraint sessions_method_check;
alter table sessions add constraint sessions_method_check
    check (method in ('password', 'magic_link', 'sso', 'federated'));
