-- Room `audit`: what data planes report, two entries a query, written once and never changed.

-- One log of a data plane: entries are stored in order, each once.
create table report_logs (
    env_id   text   not null references environments,
    log      text   not null,
    -- Every entry up to this one is stored.
    sequence bigint not null,
    primary key (env_id, log)
);

create table query_starts (
    env_id          text        not null references environments,
    query_id        text        not null,
    at              timestamptz not null,
    user_id         text,
    key_id          text,
    agent_id        text,
    operation       text,
    tables_accessed text[]      not null,
    -- contract::report::Started.
    entry           jsonb       not null,
    primary key (env_id, query_id)
);

create index query_starts_env_id_at_idx on query_starts (env_id, at desc, query_id desc);

create table query_ends (
    env_id            text             not null,
    query_id          text             not null,
    at                timestamptz      not null,
    cache_hit         boolean          not null,
    execution_time_ms double precision not null,
    micro_credits     bigint           not null,
    -- contract::report::Finished.
    entry             jsonb            not null,
    primary key (env_id, query_id),
    constraint query_ends_of_a_start foreign key (env_id, query_id) references query_starts
);

-- `refuse_change` is the IAM chain's: 0003_iam_events.
create trigger query_starts_append_only before update or delete on query_starts
    for each row execute function refuse_change();
create trigger query_starts_never_empty before truncate on query_starts
    for each statement execute function refuse_change();
create trigger query_ends_append_only before update or delete on query_ends
    for each row execute function refuse_change();
create trigger query_ends_never_empty before truncate on query_ends
    for each statement execute function refuse_change();
