-- What attempts have made, and what validators said of it.
create table svc_runtime.artifact_instances (
    id text not null,
    org_id text not null,
    project_id text not null,
    task_id text not null,
    attempt_id text not null,
    kind text not null,
    content_hash text not null,
    confidence double precision not null,
    artifact_key text,
    -- Null: mainline.
    branch_id text,
    validation_status text,
    uri text,
    depends_on jsonb not null default '[]',
    metadata jsonb not null default '{}',
    promoted_at timestamptz,
    promoted_by text,
    -- A mainline artifact of the same project and key that came later.
    superseded_by text,
    created_at timestamptz not null,
    constraint artifact_instances_pkey primary key (id),
    constraint artifact_instances_attempt foreign key (attempt_id) references svc_runtime.task_attempts (id),
    constraint artifact_instances_published unique nulls not distinct (attempt_id, artifact_key, content_hash),
    constraint artifact_instances_hash check (content_hash ~ '^sha256:[0-9a-f]{64}$'),
    constraint artifact_instances_confidence check (confidence between 0 and 1),
    constraint artifact_instances_validation check (validation_status in ('pass', 'fail', 'warning', 'skipped'))
);
create index artifact_instances_task on svc_runtime.artifact_instances (task_id, created_at desc, id desc);
create index artifact_instances_project
on svc_runtime.artifact_instances (org_id, project_id, created_at desc, id desc);
-- One artifact of a key stands on the mainline of a project.
create unique index artifact_instances_mainline on svc_runtime.artifact_instances (org_id, project_id, artifact_key)
where branch_id is null and superseded_by is null and artifact_key is not null;

create table svc_runtime.artifact_validations (
    id text not null,
    org_id text not null,
    artifact_id text not null,
    validator_kind text not null,
    result text not null,
    evidence jsonb not null default '{}',
    message text,
    validated_by text not null,
    created_at timestamptz not null,
    position bigint generated always as identity,
    constraint artifact_validations_pkey primary key (id),
    constraint artifact_validations_artifact
        foreign key (artifact_id) references svc_runtime.artifact_instances (id),
    constraint artifact_validations_result check (result in ('pass', 'fail', 'warning', 'skipped'))
);
create index artifact_validations_latest on svc_runtime.artifact_validations (artifact_id, validator_kind, position);

create trigger artifact_validations_append_only
before update or delete or truncate on svc_runtime.artifact_validations
for each statement execute function svc_runtime.refuse_change();
