-- Room `policies`: column masking and row-level security.

create table policies (
    policy_id  text        primary key,
    env_id     text        not null references environments,
    name       text        not null,
    type       text        not null
        constraint policies_type_known check (type in ('column_masking', 'row_level_security')),
    enabled    boolean     not null,
    -- Admitted rules, as `contract::policy` reads them.
    rules      jsonb       not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint policies_env_id_name_key unique (env_id, name)
);

create index policies_env_id_created_at_idx on policies (env_id, created_at desc, policy_id desc);
