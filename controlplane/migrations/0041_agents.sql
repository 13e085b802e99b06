-- Room `agents`: who works for an organization without being one of its users.

create table agents (
    org_id              text        not null references organizations,
    agent_id            text        not null,
    -- As it was last declared.
    framework           text,
    status              text        not null check (status in ('active')),
    trust_level         text        not null check (trust_level in ('provisional')),
    registration_source text        not null
        check (registration_source in ('query', 'api_key', 'v2_create_attempt')),
    registered_at       timestamptz not null,
    primary key (org_id, agent_id)
);

-- What an agent has asked of one environment.
create table agent_uses (
    env_id   text        not null references environments,
    agent_id text        not null,
    queries  bigint      not null,
    first_at timestamptz not null,
    last_at  timestamptz not null,
    primary key (env_id, agent_id)
);

create index agent_uses_env_id_last_at_idx on agent_uses (env_id, last_at desc, agent_id desc);

-- The queries of one agent.
create index query_starts_env_id_agent_id_at_idx on query_starts (env_id, agent_id, at) where agent_id is not null;
