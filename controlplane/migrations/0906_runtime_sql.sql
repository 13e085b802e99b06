-- The runtime's tables as SQL reads them through the query proxy. No text of a caller comes this far: a data plane names
-- tables out of a closed list. Still, whoever reads stands behind three walls that do not need each other: a role that
-- may read these columns and nothing else, row-level security, and views that are barriers. All three ask for the
-- organization that the transaction has named; one that named none sees no row.
create schema svc_runtime_sql;

create function svc_runtime_sql.reading() returns text
language sql stable
as $$ select current_setting('svc_runtime.org_id', true) $$;

-- The reader's own role: of this installation's user, since roles are shared by all databases of a server.
create function svc_runtime_sql.reader() returns text
language sql stable
as $$ select left(current_user, 40) || '_reads_runtime' $$;

create view svc_runtime_sql.tasks with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.project_id, r.kind, r.status, r.work_item_key, r.priority, r.retry_count,
    r.max_retries, r.metadata, r.not_before, r.deadline, r.completed_at, r.failure_reason, r.cancel_reason,
    r.next_attempt_hint, r.blocked_reason, r.repairs, r.awaits_repair, r.created_by, r.version, r.created_at,
    r.updated_at
from svc_runtime.tasks as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.task_attempts with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.task_id, r.attempt_number, r.agent_id, r.branch_id, r.status, r.retry_count,
    r.max_retries, r.lease_expires_at, r.last_heartbeat_at, r.heartbeat_count, r.progress, r.started_at,
    r.completed_at, r.failure_kind, r.failure_reason, r.result, r.recovery_level, r.recovers_attempt_id,
    r.model_hint, r.cancel_requested, r.created_at, r.updated_at
from svc_runtime.task_attempts as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.model_decisions with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.task_id, r.attempt_id, r.model_id, r.routing_reason, r.confidence, r.fallback_used,
    r.cost_estimate, r.context, r.created_at
from svc_runtime.model_decisions as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.llm_invocations with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.task_id, r.decision_id, r.model_id, r.input_tokens, r.output_tokens, r.cost_usd,
    r.latency_ms, r.prompt_hash, r.error, r.created_at
from svc_runtime.llm_invocations as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.artifact_instances with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.project_id, r.task_id, r.attempt_id, r.kind, r.content_hash, r.confidence,
    r.artifact_key, r.branch_id, r.validation_status, r.uri, r.depends_on, r.metadata, r.promoted_at,
    r.promoted_by, r.superseded_by, r.created_at
from svc_runtime.artifact_instances as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.artifact_validations with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.artifact_id, r.validator_kind, r.result, r.evidence, r.message, r.validated_by,
    r.created_at
from svc_runtime.artifact_validations as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.workflow_events with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.task_id, r.attempt_id, r.sequence_num, r.kind, r.payload, r.actor, r.created_at
from svc_runtime.workflow_events as r
where r.org_id = svc_runtime_sql.reading();

create view svc_runtime_sql.recovery_actions with (security_barrier, security_invoker) as
select
    r.id, r.org_id, r.task_id, r.task_attempt_id, r.failure_kind, r.derived, r.action_type, r.level,
    r.status, r.trigger_event, r.state_before, r.state_after, r.executed_by, r.model_id, r.override_reason,
    r.new_attempt_hint, r.review_id, r.created_at
from svc_runtime.recovery_actions as r
where r.org_id = svc_runtime_sql.reading();

-- Who owns the tables, as the runtime does, is not held to it; anybody else is.
do $$
declare
    shown record;
begin
    for shown in select table_name from information_schema.views where table_schema = 'svc_runtime_sql' loop
        execute format('alter table svc_runtime.%I enable row level security', shown.table_name);
        execute format(
            'create policy of_one_organization on svc_runtime.%I for select using (org_id = svc_runtime_sql.reading())',
            shown.table_name);
    end loop;
end
$$;

-- Where the user may not make roles, the reader has none, and the views and a read-only transaction hold alone.
do $$
declare
    reader text := svc_runtime_sql.reader();
    shown record;
begin
    if not exists (select from pg_roles where rolname = reader) then
        begin
            execute format('create role %I nologin', reader);
        exception
            -- Of two databases that are migrated at once, one is first.
            when duplicate_object or unique_violation then null;
            when insufficient_privilege then
                raise notice 'no role % can be made: svc_runtime is read without one', reader;
                return;
        end;
    end if;
    begin
        if not (select rolsuper from pg_roles where rolname = current_user) then
            execute format('grant %I to current_user', reader);
        end if;
        execute format('grant usage on schema svc_runtime, svc_runtime_sql to %I', reader);
        execute format('grant select on all tables in schema svc_runtime_sql to %I', reader);
        for shown in
            select table_name, string_agg(quote_ident(column_name), ', ') as columns
            from information_schema.columns where table_schema = 'svc_runtime_sql' group by table_name
        loop
            execute format('grant select (%s) on svc_runtime.%I to %I', shown.columns, shown.table_name, reader);
        end loop;
    exception
        when insufficient_privilege then
            raise notice 'role % is not ours to use: svc_runtime is read without it', reader;
    end;
end
$$;

-- Whether the runtime is on, as the control plane that started last has it: data planes list its tables only then.
create table runtime_switch (
    one boolean not null default true,
    is_on boolean not null,
    constraint runtime_switch_pkey primary key (one),
    constraint runtime_switch_one check (one)
);
insert into runtime_switch (is_on) values (false);

create function governance_moved_everywhere() returns trigger language plpgsql as $$
begin
    perform governance_moved(array(select env_id from environments));
    return null;
end
$$;

create trigger runtime_switch_governance after update of is_on on runtime_switch
for each row execute function governance_moved_everywhere();
