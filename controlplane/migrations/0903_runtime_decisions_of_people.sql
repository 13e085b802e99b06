-- What people decide in the runtime: gates, what they were evaluated to, reviews and releases.

-- Who holds the lease: whoever made something does not approve it.
alter table svc_runtime.task_attempts add column held_by text not null default 'system';

-- A project's own rule for a gate; its highest version counts. Append-only.
create table svc_runtime.gate_definitions (
    org_id text not null,
    project_id text not null,
    gate_id text not null,
    version integer not null,
    predicates jsonb not null,
    auto_approvable boolean not null,
    approval_role text not null,
    defined_by text not null,
    created_at timestamptz not null,
    constraint gate_definitions_pkey primary key (org_id, project_id, gate_id, version)
);

create table svc_runtime.gate_evaluations (
    id text not null,
    org_id text not null,
    project_id text not null,
    gate_id text not null,
    gate_version integer not null,
    task_id text,
    result text not null,
    facts jsonb not null,
    facts_hash text not null,
    passed_conditions jsonb not null,
    failed_conditions jsonb not null,
    evaluated_by text not null,
    evaluated_at timestamptz not null,
    position bigint generated always as identity,
    constraint gate_evaluations_pkey primary key (id),
    constraint gate_evaluations_task foreign key (task_id) references svc_runtime.tasks (id),
    constraint gate_evaluations_result check (result in ('AutoApproved', 'PendingManual', 'Failed'))
);
create index gate_evaluations_latest on svc_runtime.gate_evaluations (org_id, project_id, gate_id, position);
create index gate_evaluations_newest on svc_runtime.gate_evaluations (org_id, evaluated_at desc, id desc);

create table svc_runtime.review_requests (
    id text not null,
    org_id text not null,
    project_id text not null,
    entity_type text not null,
    entity_id text not null,
    -- What the entity belongs to.
    task_id text,
    attempt_id text,
    artifact_id text,
    gate_evaluation_id text,
    gate_predicate_id text,
    reason text not null,
    urgency text not null,
    assigned_to text not null,
    status text not null default 'pending',
    evidence_bundle jsonb not null default '{}',
    requested_by text not null,
    due_at timestamptz,
    resolution_reason text,
    reviewer_notes text,
    reviewed_by text,
    reviewed_at timestamptz,
    version integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint review_requests_pkey primary key (id),
    constraint review_requests_task foreign key (task_id) references svc_runtime.tasks (id),
    constraint review_requests_attempt foreign key (attempt_id) references svc_runtime.task_attempts (id),
    constraint review_requests_artifact foreign key (artifact_id) references svc_runtime.artifact_instances (id),
    constraint review_requests_evaluation
        foreign key (gate_evaluation_id) references svc_runtime.gate_evaluations (id),
    constraint review_requests_entity check (entity_type in ('gate', 'artifact', 'release_decision', 'recovery')),
    constraint review_requests_urgency check (urgency in ('low', 'medium', 'high', 'critical')),
    constraint review_requests_status check (status in ('pending', 'in_review', 'approved', 'rejected', 'deferred')),
    constraint review_requests_ended check (status not in ('approved', 'rejected') or reviewed_at is not null)
);
create index review_requests_newest on svc_runtime.review_requests (org_id, created_at desc, id desc);
create index review_requests_task_id on svc_runtime.review_requests (task_id) where task_id is not null;
-- A gate of a project waits for one decision at a time, on its latest facts.
create unique index review_requests_gate on svc_runtime.review_requests (org_id, project_id, entity_id)
where gate_evaluation_id is not null and status in ('pending', 'in_review', 'deferred');

create table svc_runtime.releases (
    id text not null,
    org_id text not null,
    project_id text not null,
    artifact_id text,
    artifact_ids jsonb not null default '[]',
    gate_id text,
    review_id text,
    outcome text not null,
    evidence_bundle jsonb not null default '{}',
    policy_version text,
    rationale text,
    override_reason text,
    decided_by text not null,
    decided_at timestamptz not null,
    constraint releases_pkey primary key (id),
    constraint releases_artifact foreign key (artifact_id) references svc_runtime.artifact_instances (id),
    constraint releases_review foreign key (review_id) references svc_runtime.review_requests (id),
    constraint releases_outcome check (outcome in ('approved', 'blocked', 'shadow'))
);
create index releases_newest on svc_runtime.releases (org_id, decided_at desc, id desc);
create index releases_artifact_id on svc_runtime.releases (artifact_id, decided_at) where artifact_id is not null;

create trigger gate_definitions_append_only
before update or delete or truncate on svc_runtime.gate_definitions
for each statement execute function svc_runtime.refuse_change();

create trigger gate_evaluations_append_only
before update or delete or truncate on svc_runtime.gate_evaluations
for each statement execute function svc_runtime.refuse_change();

create trigger releases_append_only
before update or delete or truncate on svc_runtime.releases
for each statement execute function svc_runtime.refuse_change();
