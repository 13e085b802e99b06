-- The governed runtime, `/v2`: tasks, their attempts under leases, and what happened to both.
create schema svc_runtime;

-- Leases end by the database's clock alone: workers and replicas may disagree about the time, and
-- it does not matter. Every time in this schema is of this clock.
create function svc_runtime.clock() returns timestamptz
language sql stable
as $$ select clock_timestamp() $$;

create table svc_runtime.tasks (
    id text not null,
    org_id text not null,
    project_id text not null,
    kind text not null,
    status text not null default 'pending',
    work_item_key text,
    priority integer not null default 0,
    retry_count integer not null default 0,
    max_retries integer not null,
    metadata jsonb not null default '{}',
    -- After a failure: no attempt before this.
    not_before timestamptz,
    -- From `metadata`: when the task fails whatever its state, and how long one attempt may run.
    deadline timestamptz,
    max_runtime_secs integer,
    completed_at timestamptz,
    failure_reason text,
    cancel_reason text,
    created_by text not null,
    version integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The next number of the events that belong to no attempt.
    next_sequence integer not null default 1,
    constraint tasks_pkey primary key (id),
    constraint tasks_status check (status in ('pending', 'active', 'completed', 'failed', 'cancelled')),
    constraint tasks_retries check (retry_count between 0 and max_retries and max_retries between 0 and 20),
    constraint tasks_ended check ((status in ('completed', 'failed', 'cancelled')) = (completed_at is not null))
);
-- "At most one non-terminal task exists per key per organization."
create unique index tasks_work_item_key on svc_runtime.tasks (org_id, work_item_key)
where status in ('pending', 'active') and work_item_key is not null;
create index tasks_newest on svc_runtime.tasks (org_id, created_at desc, id desc);
create index tasks_waiting on svc_runtime.tasks (org_id, priority desc, created_at, id) where status = 'pending';
create index tasks_deadline on svc_runtime.tasks (deadline)
where deadline is not null and status in ('pending', 'active');

create table svc_runtime.task_attempts (
    id text not null,
    org_id text not null,
    task_id text not null,
    -- Also the epoch of the lease: an attempt has one lease, and a later attempt a later one.
    attempt_number integer not null,
    agent_id text,
    branch_id text,
    status text not null default 'pending',
    retry_count integer not null,
    max_retries integer not null,
    lease_token_sha256 bytea not null,
    lease_ttl_secs integer not null,
    lease_expires_at timestamptz not null,
    last_heartbeat_at timestamptz,
    heartbeat_count integer not null default 0,
    progress jsonb,
    started_at timestamptz,
    runtime_ends_at timestamptz,
    completed_at timestamptz,
    failure_kind text,
    failure_reason text,
    result jsonb,
    -- What it was completed with, and what was answered: a repetition is answered the same.
    completion_sha256 bytea,
    completion jsonb,
    version integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    next_sequence integer not null default 1,
    constraint task_attempts_pkey primary key (id),
    constraint task_attempts_number unique (task_id, attempt_number),
    constraint task_attempts_task foreign key (task_id) references svc_runtime.tasks (id),
    constraint task_attempts_status
        check (status in ('pending', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled')),
    constraint task_attempts_ended check ((status in ('pending', 'running')) = (completed_at is null))
);
-- "At most one active attempt exists per task."
create unique index task_attempts_active on svc_runtime.task_attempts (task_id)
where status in ('pending', 'running');
create index task_attempts_leases on svc_runtime.task_attempts (least(lease_expires_at, runtime_ends_at))
where status in ('pending', 'running');

-- "Append-only; no UPDATE or DELETE on rows." "Event sequence numbers are assigned atomically per
-- attempt."
create table svc_runtime.workflow_events (
    id text not null,
    org_id text not null,
    task_id text not null,
    -- Null: of the task itself, numbered for itself.
    attempt_id text,
    sequence_num integer not null,
    kind text not null,
    payload jsonb not null,
    actor text not null,
    created_at timestamptz not null,
    -- Tells the order of what one transaction appended.
    position bigint generated always as identity,
    constraint workflow_events_pkey primary key (id),
    constraint workflow_events_sequence unique nulls not distinct (task_id, attempt_id, sequence_num),
    constraint workflow_events_task foreign key (task_id) references svc_runtime.tasks (id),
    constraint workflow_events_attempt foreign key (attempt_id) references svc_runtime.task_attempts (id)
);
create index workflow_events_order on svc_runtime.workflow_events (task_id, created_at, position);

create function svc_runtime.refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create trigger workflow_events_append_only
before update or delete or truncate on svc_runtime.workflow_events
for each statement execute function svc_runtime.refuse_change();
