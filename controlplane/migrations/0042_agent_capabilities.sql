-- Room `agent_capabilities`: what agents may do and no more.

create table agent_grants (
    grant_id     text        primary key,
    env_id       text        not null references environments,
    agent_id     text        not null,
    -- contract::capability::Capabilities.
    capabilities jsonb       not null,
    status       text        not null check (status in ('active', 'revoked')),
    granted_by   text        not null,
    granted_at   timestamptz not null,
    expires_at   timestamptz not null,
    revoked_by   text,
    revoked_at   timestamptz,
    constraint agent_grants_revoked_check check ((status = 'revoked') = (revoked_at is not null))
);

create index agent_grants_env_id_granted_at_idx on agent_grants (env_id, granted_at desc, grant_id desc);
create index agent_grants_env_id_agent_id_idx on agent_grants (env_id, agent_id);

-- Queries that ran under a grant, by the hour.
create table agent_grant_uses (
    grant_id text        not null references agent_grants,
    hour     timestamptz not null,
    queries  bigint      not null,
    primary key (grant_id, hour)
);

create trigger agent_grants_governance after insert or update or delete on agent_grants
    for each row execute function governance_moved_environment();
