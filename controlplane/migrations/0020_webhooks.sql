-- Room `webhooks`: who is told of what happens, and what they were told.

create table webhooks (
    webhook_id        text        primary key,
    org_id            text        not null references organizations,
    -- Which of the two: the organization's webhooks, or those for triggers, billing and notices.
    surface           text        not null check (surface in ('organization', 'notices')),
    url               text        not null,
    description       text,
    -- The names as they were subscribed.
    events            text[]      not null check (cardinality(events) > 0),
    -- Sealed under the installation's secret key: signatures need it again.
    secret            bytea       not null,
    status            text        not null check (status in ('active', 'failed')),
    last_delivered_at timestamptz,
    last_status_code  integer,
    -- Failed attempts since the last successful one.
    failure_count     integer     not null default 0,
    created_at        timestamptz not null,
    updated_at        timestamptz not null
);

create index webhooks_org_id_created_at_idx on webhooks (org_id, surface, created_at desc, webhook_id desc);

-- One event for one webhook: outbox, queue and log.
create table webhook_deliveries (
    delivery_id      text        primary key,
    webhook_id       text        not null references webhooks on delete cascade,
    org_id           text        not null references organizations,
    event_id         text        not null,
    event_type       text        not null,
    occurred_at      timestamptz not null,
    -- The bytes that are signed and sent, each time the same.
    body             bytea       not null,
    status           text        not null check (status in ('pending', 'delivered', 'failed')),
    -- Attempts since it was made or replayed.
    attempts         integer     not null default 0,
    next_attempt_at  timestamptz not null,
    last_attempt_at  timestamptz,
    last_status_code integer,
    last_error       text,
    delivered_at     timestamptz,
    created_at       timestamptz not null,
    -- Set while somebody attempts it; one who died loses it after this.
    locked_until     timestamptz,
    -- Raised at each claim: who lost it cannot say how it ended.
    epoch            bigint      not null default 0,
    constraint webhook_deliveries_webhook_id_event_id_key unique (webhook_id, event_id)
);

create index webhook_deliveries_due_idx on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_org_id_created_at_idx on webhook_deliveries (org_id, created_at desc, delivery_id desc);
create index webhook_deliveries_event_id_idx on webhook_deliveries (org_id, event_id);
create index webhook_deliveries_ended_idx on webhook_deliveries (created_at) where status <> 'pending';

create function notify_webhook_deliveries() returns trigger
language plpgsql as $$
begin
    perform pg_notify('webhook_deliveries', '');
    return null;
end
$$;

create trigger webhook_deliveries_notify
after insert on webhook_deliveries
for each statement execute function notify_webhook_deliveries();
