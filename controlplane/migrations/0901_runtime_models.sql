-- Which model was chosen for an attempt and why, and what each call to it cost. Append-only.
create table svc_runtime.model_decisions (
    id text not null,
    org_id text not null,
    task_id text not null,
    attempt_id text not null,
    model_id text not null,
    routing_reason text,
    confidence double precision,
    fallback_used boolean not null default false,
    cost_estimate double precision,
    context jsonb not null default '{}',
    created_at timestamptz not null,
    position bigint generated always as identity,
    constraint model_decisions_pkey primary key (id),
    constraint model_decisions_attempt foreign key (attempt_id) references svc_runtime.task_attempts (id),
    constraint model_decisions_confidence check (confidence between 0 and 1),
    constraint model_decisions_cost check (cost_estimate >= 0)
);
create index model_decisions_task on svc_runtime.model_decisions (task_id, position);

create table svc_runtime.llm_invocations (
    id text not null,
    org_id text not null,
    task_id text not null,
    decision_id text not null,
    model_id text not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    cost_usd double precision not null,
    latency_ms bigint not null,
    prompt_hash text,
    error text,
    created_at timestamptz not null,
    position bigint generated always as identity,
    constraint llm_invocations_pkey primary key (id),
    constraint llm_invocations_decision foreign key (decision_id) references svc_runtime.model_decisions (id),
    constraint llm_invocations_counts check (input_tokens >= 0 and output_tokens >= 0 and latency_ms >= 0),
    constraint llm_invocations_cost check (cost_usd >= 0)
);
create index llm_invocations_task on svc_runtime.llm_invocations (task_id, position);
create index llm_invocations_time on svc_runtime.llm_invocations (org_id, created_at);

create trigger model_decisions_append_only
before update or delete or truncate on svc_runtime.model_decisions
for each statement execute function svc_runtime.refuse_change();

create trigger llm_invocations_append_only
before update or delete or truncate on svc_runtime.llm_invocations
for each statement execute function svc_runtime.refuse_change();
