-- Room `jit_access`: roles for a while.

create table jit_requests (
    request_id       text        primary key,
    env_id           text        not null references environments,
    -- No reference: what was asked and granted outlives the user.
    requester_id     text        not null,
    requester_email  text        not null,
    -- The requester's role when it was asked.
    held_role        text        not null,
    requested_role   text        not null check (requested_role in ('admin', 'developer', 'analyst')),
    reason           text        not null,
    duration_minutes integer     not null check (duration_minutes between 1 and 480),
    status           text        not null check (status in ('pending', 'approved', 'denied', 'revoked')),
    requested_at     timestamptz not null,
    -- Approved or denied.
    decided_by       text,
    decided_at       timestamptz,
    denial_reason    text,
    expires_at       timestamptz,
    revoked_by       text,
    revoked_at       timestamptz,
    -- When `jit.expired` was said.
    expired_at       timestamptz,
    constraint jit_requests_decided_check check ((status = 'pending') = (decided_at is null)),
    constraint jit_requests_expires_check check ((status in ('approved', 'revoked')) = (expires_at is not null)),
    constraint jit_requests_revoked_check check ((status = 'revoked') = (revoked_at is not null))
);

-- Nobody asks twice for the same.
create unique index jit_requests_pending_key on jit_requests (env_id, requester_id, requested_role)
    where status = 'pending';
create index jit_requests_env_id_requested_at_idx on jit_requests (env_id, requested_at desc, request_id desc);
-- Those that raise somebody.
create index jit_requests_standing_idx on jit_requests (env_id, requester_id)
    where status = 'approved' and expired_at is null;

-- Asking and denying raise nobody.
create trigger jit_requests_governance after update on jit_requests
    for each row when (old.status = 'approved' or new.status = 'approved')
    execute function governance_moved_environment();
create trigger jit_requests_governance_given after insert on jit_requests
    for each row when (new.status = 'approved')
    execute function governance_moved_environment();
create trigger jit_requests_governance_taken after delete on jit_requests
    for each row when (old.status = 'approved')
    execute function governance_moved_environment();
