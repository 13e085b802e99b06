-- Room `shadow_mode`: queries that are run a second time, and how they compare.

create table shadow_sessions (
    session_id     text             primary key,
    env_id         text             not null references environments,
    org_id         text             not null references organizations,
    status         text             not null check (status in ('running', 'stopped')),
    -- As it was asked for: live, env:<env_id> or upload.
    source         text             not null,
    -- Where sampled queries are replayed; null: none are sampled.
    replayed_in    text             references environments,
    duration_hours integer          not null,
    sample_rate    double precision not null check (sample_rate > 0 and sample_rate <= 1),
    created_by     text             not null,
    started_at     timestamptz      not null,
    ends_at        timestamptz      not null,
    stopped_at     timestamptz,
    constraint shadow_sessions_stopped check ((status = 'stopped') = (stopped_at is not null))
);
create unique index shadow_sessions_running_key on shadow_sessions (env_id) where status = 'running';
create index shadow_sessions_env_id_idx on shadow_sessions (env_id, started_at desc);

create table shadow_uploads (
    upload_id  text        primary key,
    env_id     text        not null references environments,
    queries    integer     not null,
    created_by text        not null,
    created_at timestamptz not null
);
create index shadow_uploads_env_id_idx on shadow_uploads (env_id);

create table shadow_upload_lines (
    upload_id   text    not null references shadow_uploads on delete cascade,
    -- From 1.
    number      integer not null,
    sql         text    not null,
    duration_ms double precision,
    row_count   bigint,
    result_hash text,
    primary key (upload_id, number)
);

-- A replay of an upload, or of what a session samples (no upload then).
create table shadow_replays (
    replay_id   text        primary key,
    session_id  text        not null references shadow_sessions on delete cascade,
    upload_id   text,
    -- Where its queries run.
    env_id      text        not null references environments,
    status      text        not null check (status in ('running', 'completed')),
    concurrency integer     not null check (concurrency between 1 and 16),
    started_at  timestamptz not null,
    finished_at timestamptz
);
create index shadow_replays_running_idx on shadow_replays (started_at) where status = 'running';

create table shadow_queries (
    shadow_id    text        primary key,
    session_id   text        not null references shadow_sessions on delete cascade,
    replay_id    text        not null references shadow_replays on delete cascade,
    -- contract::wire::Forwarded: whose rights it runs under.
    caller       jsonb       not null,
    agent_id     text,
    framework    text,
    sql          text        not null,
    -- As reports show it.
    shown        text        not null,
    source_ms    double precision,
    row_count    bigint,
    result_hash  text,
    attempts     integer     not null default 0,
    -- Set while somebody replays it; not tried again before.
    locked_until timestamptz,
    -- Nobody replays it: it waits to be tried again.
    waits_again  boolean     not null default false,
    verdict      text check (verdict in ('matched', 'row_count', 'values', 'types', 'denied', 'error')),
    reason       text,
    service_ms   double precision,
    done_at      timestamptz,
    constraint shadow_queries_done check ((verdict is null) = (done_at is null))
);
create index shadow_queries_waiting_idx on shadow_queries (replay_id, shadow_id) where done_at is null;
create index shadow_queries_session_id_idx on shadow_queries (session_id, done_at desc);
