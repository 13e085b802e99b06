-- Room `environments`: "Each environment has independent policies, API keys and connection credentials."

create table environments (
    env_id                 text        primary key,
    org_id                 text        not null references organizations,
    name                   text        not null,
    slug                   text        not null,
    status                 text        not null
        constraint environments_status_known
        check (status in ('provisioning', 'active', 'suspended', 'decommissioning')),
    query_timeout_ms       bigint      not null
        constraint environments_query_timeout_ms_in_range check (query_timeout_ms between 1 and 300000),
    max_concurrent_queries integer     not null
        constraint environments_max_concurrent_queries_in_range check (max_concurrent_queries between 1 and 10000),
    cache_enabled          boolean     not null,
    test_mode              boolean     not null,
    -- Where callers connect; null until the data plane is placed.
    pg_host                text,
    pg_port                integer,
    tools_host             text,
    tools_port             integer,
    -- Where the control plane forwards queries to.
    internal_address       text,
    -- Grows with every change that the data plane must learn of: see 0010_governance.
    governance_version     bigint      not null default 1,
    created_at             timestamptz not null,
    updated_at             timestamptz not null,
    constraint environments_org_id_slug_key unique (org_id, slug)
);

create index environments_org_id_created_at_idx on environments (org_id, created_at desc, env_id desc);
