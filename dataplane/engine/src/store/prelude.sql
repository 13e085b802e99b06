create schema if not exists raw._svc_dirty;

create table if not exists raw._svc_dirty.changes (
  query_id varchar not null,
  table_name varchar not null,
  operation varchar not null,
  rows ubigint not null,
  snapshot varchar not null,
  "at" timestamp with time zone not null
);

create schema if not exists raw._svc_memory;

create table if not exists raw._svc_memory.memories (
  memory_id varchar not null,
  agent_id varchar not null,
  session_id varchar,
  namespace varchar not null,
  memory_key varchar,
  memory_type varchar not null,
  content varchar not null,
  value varchar,
  metadata varchar not null,
  importance double not null,
  branch_id varchar,
  embedding blob not null,
  embedder_id varchar not null,
  content_sha256 varchar not null,
  version bigint not null,
  supersedes varchar,
  valid_from timestamp with time zone not null,
  valid_to timestamp with time zone,
  expires_at timestamp with time zone
);

create schema if not exists raw._svc_thoughts;

create table if not exists raw._svc_thoughts.steps (
  trace_id varchar not null,
  session_id varchar not null,
  agent_id varchar not null,
  step_number bigint not null,
  step_type varchar not null,
  content varchar not null,
  input varchar,
  output varchar,
  model_name varchar,
  token_count bigint,
  latency_ms bigint,
  importance double not null,
  metadata varchar not null,
  prev_hash varchar not null,
  hash varchar not null,
  created_at timestamp with time zone not null
);

create schema if not exists raw._svc_branches;

create table if not exists raw._svc_branches.branches (
  branch_id varchar not null,
  name varchar not null,
  description varchar,
  agent_id varchar not null,
  tables varchar not null,
  base_snapshot varchar not null,
  status varchar not null,
  salt varchar not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  ended_at timestamp with time zone
);

create schema if not exists raw._svc_triggers;

create table if not exists raw._svc_triggers.triggers (
  trigger_id varchar not null,
  name varchar not null,
  concept varchar not null,
  threshold double not null,
  action varchar not null,
  cooldown_secs bigint not null,
  sources varchar not null,
  agent_filter varchar,
  enabled boolean not null,
  fire_count bigint not null,
  last_fired_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null
);

create table if not exists raw._svc_triggers.firings (
  trigger_id varchar not null,
  agent_id varchar not null,
  last_at timestamp with time zone not null
);

alter table raw._svc_memory.memories add column if not exists made_by varchar;

alter table raw._svc_branches.branches add column if not exists made_by varchar;

alter table raw._svc_triggers.triggers add column if not exists made_by varchar;

alter table raw._svc_triggers.triggers add column if not exists action_config varchar;

-- a search reads ten memories of a hundred thousand
create index if not exists memories_by_id on raw._svc_memory.memories (memory_id);

create schema if not exists raw._svc_once;

create table if not exists raw._svc_once.answers (
  claim varchar not null,
  request varchar not null,
  query_id varchar not null,
  rows ubigint not null,
  returned boolean not null,
  "at" timestamp with time zone not null
);

create index if not exists answers_by_claim on raw._svc_once.answers (claim);

create schema if not exists raw._svc_loads;

create table if not exists raw._svc_loads.files (
  table_name varchar not null,
  stage_id varchar not null,
  path varchar not null,
  bytes bigint not null,
  md5 varchar not null,
  at_micros bigint not null,
  primary key (table_name, stage_id, path)
);

-- of each load a row without a path, and those of its files
create table if not exists raw._svc_loads.asked (
  query_id varchar not null,
  asked_by varchar not null,
  table_name varchar not null,
  stage_id varchar not null,
  said varchar,
  path varchar not null,
  bytes bigint not null,
  md5 varchar not null,
  at_micros bigint not null
);

-- of one without files, and of each that has some, a row without a path
create table if not exists raw._svc_loads.external_files (
  table_id varchar not null,
  path varchar not null,
  bytes bigint not null,
  md5 varchar not null,
  primary key (table_id, path)
);
