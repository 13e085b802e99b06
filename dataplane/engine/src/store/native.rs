//! One file per environment, one process that has it open.
//!
//! The file is `raw.duckdb`, so its catalog is `raw`. Our own tables are `_svc*` schemas of the same
//! file, because a transaction can write only one database.

use std::path::{Path, PathBuf};

/// Schemas that begin so are ours and hidden.
pub const OURS: &str = "_svc";

pub struct Native {
    file: PathBuf,
}

impl Native {
    pub fn new(data: &Path) -> Self {
        Self { file: data.join("raw.duckdb") }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Made at every open, before the configuration is locked.
    ///
    /// `changes` is the specification's write-ahead log: a row for each table a query wrote, in the
    /// same transaction as the write, before the first byte of the answer. `memories` is what agents
    /// keep: every version a row, the live one without an end. `steps` is their chain of thought. `branches`
    /// says which copies of tables there are, in schemas of their own. `answers` is what was told of statements that
    /// came with a key of their own, for a day. `files` is what COPY INTO has loaded, and `asked` what each was asked, for
    /// 64 days. Files of before get the columns that came later.
    pub const PRELUDE: [&'static str; 23] = [
        "create schema if not exists raw._svc_dirty",
        r#"create table if not exists raw._svc_dirty.changes (
           query_id varchar not null,
           table_name varchar not null,
           operation varchar not null,
           rows ubigint not null,
           snapshot varchar not null,
           "at" timestamp with time zone not null
         )"#,
        "create schema if not exists raw._svc_memory",
        "create table if not exists raw._svc_memory.memories (
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
         )",
        "create schema if not exists raw._svc_thoughts",
        "create table if not exists raw._svc_thoughts.steps (
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
         )",
        "create schema if not exists raw._svc_branches",
        "create table if not exists raw._svc_branches.branches (
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
         )",
        "create schema if not exists raw._svc_triggers",
        "create table if not exists raw._svc_triggers.triggers (
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
         )",
        "create table if not exists raw._svc_triggers.firings (
           trigger_id varchar not null,
           agent_id varchar not null,
           last_at timestamp with time zone not null
         )",
        "alter table raw._svc_memory.memories add column if not exists made_by varchar",
        "alter table raw._svc_branches.branches add column if not exists made_by varchar",
        "alter table raw._svc_triggers.triggers add column if not exists made_by varchar",
        "alter table raw._svc_triggers.triggers add column if not exists action_config varchar",
        // a search reads ten memories of a hundred thousand
        "create index if not exists memories_by_id on raw._svc_memory.memories (memory_id)",
        "create schema if not exists raw._svc_once",
        "create table if not exists raw._svc_once.answers (
           claim varchar not null,
           request varchar not null,
           query_id varchar not null,
           rows ubigint not null,
           returned boolean not null,
           \"at\" timestamp with time zone not null
         )",
        "create index if not exists answers_by_claim on raw._svc_once.answers (claim)",
        "create schema if not exists raw._svc_loads",
        "create table if not exists raw._svc_loads.files (
           table_name varchar not null,
           stage_id varchar not null,
           path varchar not null,
           bytes bigint not null,
           md5 varchar not null,
           at_micros bigint not null,
           primary key (table_name, stage_id, path)
         )",
        // of each load a row without a path, and those of its files
        "create table if not exists raw._svc_loads.asked (
           query_id varchar not null,
           asked_by varchar not null,
           table_name varchar not null,
           stage_id varchar not null,
           said varchar,
           path varchar not null,
           bytes bigint not null,
           md5 varchar not null,
           at_micros bigint not null
         )",
        // of one without files, and of each that has some, a row without a path
        "create table if not exists raw._svc_loads.external_files (
           table_id varchar not null,
           path varchar not null,
           bytes bigint not null,
           md5 varchar not null,
           primary key (table_id, path)
         )",
    ];

    /// A statement that reads this catalog, so that a transaction's snapshot is taken now.
    pub const TOUCH: &'static str = "select rows from raw._svc_dirty.changes limit 0";

    pub const TRACK: &'static str = "insert into raw._svc_dirty.changes values ($1, $2, $3, $4, $5, $6)";

    pub const CHECKPOINT: &'static str = "checkpoint raw";
}
