-- Room `abac_policies`: who may query what, from where and when.

create table abac_policies (
    policy_id   text        primary key,
    env_id      text        not null references environments,
    name        text        not null,
    description text,
    -- Admitted rules, as `contract::policy::abac` reads them.
    rules       jsonb       not null,
    priority    integer     not null,
    enabled     boolean     not null,
    created_at  timestamptz not null,
    constraint abac_policies_env_id_name_key unique (env_id, name)
);

create index abac_policies_env_id_created_at_idx on abac_policies (env_id, created_at desc, policy_id desc);

create trigger abac_policies_governance after insert or update or delete on abac_policies
    for each row execute function governance_moved_environment();
