-- The recovery ladder: what is done about a failure, and what a task waits for because of it.
alter table svc_runtime.tasks
    -- What the next attempt should do otherwise.
    add column next_attempt_hint jsonb,
    -- Nobody may try it until a person has decided; says why.
    add column blocked_reason text,
    -- The task whose artifact this one repairs.
    add column repairs text,
    -- The repair it waits for.
    add column awaits_repair text,
    add constraint tasks_repairs foreign key (repairs) references svc_runtime.tasks (id),
    add constraint tasks_awaits_repair foreign key (awaits_repair) references svc_runtime.tasks (id);
create index tasks_awaiting on svc_runtime.tasks (awaits_repair) where awaits_repair is not null;

alter table svc_runtime.task_attempts
    add column recovery_level text,
    add column recovers_attempt_id text,
    add column model_hint text,
    -- Its holder is asked to stop soon.
    add column cancel_requested boolean not null default false;
create index task_attempts_started on svc_runtime.task_attempts (org_id) where status in ('pending', 'running');

create table svc_runtime.recovery_actions (
    id text not null,
    org_id text not null,
    task_id text not null,
    task_attempt_id text not null,
    failure_kind text not null,
    -- The failure kind was not said but concluded.
    derived boolean not null default false,
    action_type text not null,
    level text,
    status text not null,
    trigger_event text,
    state_before jsonb not null default '{}',
    state_after jsonb not null default '{}',
    executed_by text not null,
    model_id text,
    override_reason text,
    new_attempt_hint jsonb,
    review_id text,
    created_at timestamptz not null,
    position bigint generated always as identity,
    constraint recovery_actions_pkey primary key (id),
    constraint recovery_actions_task foreign key (task_id) references svc_runtime.tasks (id),
    constraint recovery_actions_attempt foreign key (task_attempt_id) references svc_runtime.task_attempts (id),
    constraint recovery_actions_review foreign key (review_id) references svc_runtime.review_requests (id),
    constraint recovery_actions_level check (level in ('L1', 'L2', 'L3', 'L4', 'blocked'))
);
create index recovery_actions_task_id on svc_runtime.recovery_actions (task_id, position);
create index recovery_actions_newest on svc_runtime.recovery_actions (org_id, created_at desc, id desc);

create trigger recovery_actions_append_only
before update or delete or truncate on svc_runtime.recovery_actions
for each statement execute function svc_runtime.refuse_change();

create index artifact_instances_depends_on on svc_runtime.artifact_instances using gin (depends_on);
create index model_decisions_time on svc_runtime.model_decisions (org_id, created_at);
create index workflow_events_attempt on svc_runtime.workflow_events (attempt_id, sequence_num) where attempt_id is not null;
