-- Room `operations`: long work that can be looked at and cancelled, kept for a day.
create table operations (
    org_id              text        not null references organizations,
    -- Whoever starts it chooses its id.
    operation_id        text        not null,
    env_id              text        not null references environments,
    kind                text        not null check (kind in ('load')),
    status              text        not null check (status in ('running', 'succeeded', 'failed', 'cancelled')),
    created_by          text        not null,
    bytes_done          bigint      not null,
    -- As far as it is said before.
    bytes_total         bigint,
    rows_done           bigint,
    error               jsonb,
    result              jsonb,
    started_at          timestamptz not null,
    -- Written each second by the process that runs it.
    heartbeat_at        timestamptz not null,
    cancel_requested_at timestamptz,
    finished_at         timestamptz,
    primary key (org_id, operation_id),
    constraint operations_ended check ((status = 'running') = (finished_at is null)),
    constraint operations_failed check ((status = 'failed') = (error is not null)),
    constraint operations_succeeded check ((status = 'succeeded') = (result is not null))
);

create index operations_finished_at_idx on operations (finished_at);
create index operations_heartbeat_at_idx on operations (heartbeat_at) where status = 'running';
