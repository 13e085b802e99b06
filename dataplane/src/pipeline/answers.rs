//! Answers that are kept: "a query whose answer is in the result cache costs nothing".
//!
//! It is asked after every gate, in place of stages 9 to 11, so a caller is never given what they may not have. The
//! key is all that decides an answer: the generated statement, which has every mask in it, each bound value, which
//! are the caller's parameters and attributes, the role, the version of the rules and of the tables' definitions.
//! What is written makes stale what was read: an answer counts only while none of its tables has been written since
//! before it was read (stage 11 tells). An answer that another moment would change is not kept.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use contract::{Governance, Role};
use moka::sync::Cache;

use super::seen::paths;
use super::transpile::{Native, bound};
use super::{Query, runtime};

/// One answer, and all of them.
const ANSWER_BYTES_MAX: usize = 1 << 20;
const BYTES_MAX: u64 = 64 << 20;

/// Words of the engine's that make an answer of the moment, beside the functions the list calls volatile.
const MOMENTARY: [&str; 6] = ["sample", "tablesample", "nextval", "currval", "setseed", "getvariable"];

static VOLATILE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let functions = sql::functions::all().filter(|function| function.class == sql::functions::Class::Volatile);
    functions.map(|function| function.name).chain(MOMENTARY).collect()
});

/// The answers that are kept, and when each table was written last.
#[derive(Debug, Clone)]
pub(super) struct Answers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kept: Cache<Key, Arc<Kept>>,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    /// Counts the commits.
    now: u64,
    tables: HashMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    sql: String,
    values: String,
    role: Role,
    rules: u64,
    definitions: u64,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Kept {
    pub schema: SchemaRef,
    pub columns: Vec<engine::Column>,
    pub batches: Vec<RecordBatch>,
    bytes: usize,
    tables: Vec<String>,
    /// The commits there were when it was asked for.
    at: u64,
}

/// The place of an answer that is on its way; it is kept when all of it has been delivered.
#[derive(Debug)]
pub(super) struct Ticket {
    answers: Answers,
    key: Key,
    kept: Option<Kept>,
}

impl Default for Answers {
    fn default() -> Self {
        let weight = |key: &Key, kept: &Arc<Kept>| {
            u32::try_from(kept.bytes + key.sql.len() + key.values.len()).unwrap_or(u32::MAX)
        };
        let kept = Cache::builder().max_capacity(BYTES_MAX).weigher(weight).build();
        Self(Arc::new(Inner { kept, written: Mutex::default() }))
    }
}

impl Answers {
    /// The answer, or the place for it; neither for a statement whose answer is never kept. Asked before the
    /// statement's snapshot is taken.
    pub fn of(&self, rules: &Governance, query: &Query, native: &Native, definitions: u64) -> Found {
        let Some(key) = key(rules, query, native, definitions) else { return Found::Never };
        let written = self.written();
        if let Some(kept) = self.0.kept.get(&key) {
            let is_current = |table: &String| written.tables.get(table).is_none_or(|at| *at <= kept.at);
            if kept.tables.iter().all(is_current) {
                return Found::Kept(kept);
            }
        }
        // those that filters read too
        let tables = paths(&native.about, &native.sql).map(str::to_ascii_lowercase).collect();
        let kept = Kept {
            schema: SchemaRef::new(arrow::datatypes::Schema::empty()),
            columns: Vec::new(),
            batches: Vec::new(),
            bytes: 0,
            tables,
            at: written.now,
        };
        Found::Place(Ticket { answers: self.clone(), key, kept: Some(kept) })
    }

    /// These tables were written, or may have been.
    pub fn wrote<'a>(&self, tables: impl IntoIterator<Item = &'a String>) {
        let mut written = self.written();
        written.now += 1;
        let now = written.now;
        written.tables.extend(tables.into_iter().map(|table| (table.to_ascii_lowercase(), now)));
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum Found {
    Kept(Arc<Kept>),
    Place(Ticket),
    Never,
}

fn key(rules: &Governance, query: &Query, native: &Native, definitions: u64) -> Option<Key> {
    let sql = &native.sql;
    // The runtime's rows are written elsewhere: nobody tells here.
    let is_told_of = !native.about.tables.iter().any(|path| runtime::is_named(rules, path));
    let is_plain = !native.about.writes && sql.before.is_empty() && query.ask.transaction.is_none() && is_told_of;
    if !rules.environment.cache_enabled || !is_plain || native.about.tables.is_empty() || !is_steady(&sql.sql) {
        return None;
    }
    let values = bound(&sql.binds, &query.ask.params).ok()?;
    Some(Key {
        sql: sql.sql.clone(),
        values: format!("{values:?}"),
        role: native.role,
        rules: rules.version,
        definitions,
    })
}

/// Does the same statement over the same tables always answer the same? Words in quotes count as well.
fn is_steady(sql: &str) -> bool {
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    words.all(|word| !VOLATILE.contains(word.to_ascii_lowercase().as_str()))
}

impl Ticket {
    /// What its rows look like.
    pub fn headed(&mut self, schema: &SchemaRef, columns: &[engine::Column]) {
        if let Some(kept) = &mut self.kept {
            kept.schema = SchemaRef::clone(schema);
            kept.columns = columns.to_vec();
        }
    }

    /// Rows that were delivered; when they are too many, none of them is kept.
    pub fn add(&mut self, batch: &RecordBatch) {
        let Some(kept) = &mut self.kept else { return };
        kept.bytes += batch.get_array_memory_size();
        if kept.bytes > ANSWER_BYTES_MAX {
            self.kept = None;
        } else {
            kept.batches.push(batch.clone());
        }
    }

    /// All of it was delivered.
    pub fn done(self) {
        if let Some(kept) = self.kept {
            self.answers.0.kept.insert(self.key, Arc::new(kept));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_moment_would_change_is_not_kept() {
        let steady = ["SELECT \"id\" FROM raw.main.t", "SELECT sum(\"a\") FROM raw.main.t WHERE \"b\" = $1"];
        let momentary = [
            "SELECT now()",
            "SELECT CURRENT_DATE",
            "SELECT random() FROM t",
            "SELECT * FROM t USING SAMPLE 10 ROWS",
            "SELECT nextval('s')",
        ];
        assert!(steady.iter().all(|sql| is_steady(sql)));
        for sql in momentary {
            assert!(!is_steady(sql), "{sql}");
        }
    }
}
