//! Answers that are kept: "a query whose answer is in the result cache costs nothing".
//!
//! It is asked after every gate, in place of stages 9 to 11, so a caller is never given what they may not have. The
//! key is all that decides an answer: the generated statement, which has every mask in it, each bound value, which
//! are the caller's parameters and attributes, the role, the version of the rules and of the tables' definitions.
//! What is written makes stale what was read: an answer counts only while none of its tables has been written since
//! before it was read (stage 11 tells). An answer that another moment would change is not kept.
//!
//! Whether an answer is still here is told (`cache_hit`), so neither hidden rows nor chance may decide it: an answer
//! weighs what its rows weigh, however the engine came to cut them, and the one that was asked for longest ago goes.

mod kept;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use contract::{Governance, Role};
use sha2::{Digest, Sha256};

use super::catalog_snapshot::paths;
use super::stages::transpile::{Native, bound};
use super::{Query, runtime};
use crate::encode::batch_bytes::batch_bytes;
use crate::request::as_of::AsOf;
use kept::KeptAnswers;

/// One answer, and all of them.
const ANSWER_BYTES_MAX: usize = 1 << 20;
const BYTES_MAX: usize = 64 << 20;

/// Words of the engine's that make an answer of the moment, beside functions that change.
const MOMENTARY: [&str; 2] = ["sample", "tablesample"];

static VOLATILE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let functions = sql::functions::catalogue::all().filter(|function| function.is_of_engine() && function.changes());
    functions.map(|function| function.name).chain(MOMENTARY).collect()
});

/// The answers that are kept, and when each table was written last.
#[derive(Debug, Clone)]
pub(super) struct Answers(Arc<ResultCacheInner>);

#[derive(Debug)]
struct ResultCacheInner {
    kept: Mutex<KeptAnswers>,
    written: Mutex<TableWrites>,
}

#[derive(Debug, Default)]
struct TableWrites {
    /// Counts the commits.
    now: u64,
    tables: HashMap<String, u64>,
}

impl TableWrites {
    /// The latest commit to a table.
    fn of(&self, table: &str) -> u64 {
        self.tables.get(table).copied().unwrap_or(0)
    }

    fn counted(&self, table: String) -> (String, u64) {
        let commit = self.of(&table);
        (table, commit)
    }
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
pub(super) struct CachedAnswer {
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
    kept: Option<CachedAnswer>,
    /// As the rows came, in parts that follow hidden ones: about as many as the whole will have.
    bytes: usize,
}

impl Default for Answers {
    fn default() -> Self {
        let kept = Mutex::new(KeptAnswers::new(BYTES_MAX));
        Self(Arc::new(ResultCacheInner { kept, written: Mutex::default() }))
    }
}

impl Answers {
    /// The answer, or the place for it; neither for a statement whose answer is never kept. Asked before the
    /// statement's snapshot is taken.
    pub fn of(&self, rules: &Governance, query: &Query, native: &Native, definitions: u64) -> CacheLookup {
        let Some(key) = key(rules, query, native, definitions) else { return CacheLookup::Never };
        let written = self.written();
        let kept = self.kept().get(&key);
        if let Some(kept) = kept {
            let is_current = |table: &String| written.tables.get(table).is_none_or(|at| *at <= kept.at);
            if kept.tables.iter().all(is_current) {
                return CacheLookup::Kept(kept);
            }
        }
        // those that filters read too
        let tables = paths(&native.about, &native.sql).map(str::to_ascii_lowercase).collect();
        let kept = CachedAnswer {
            schema: SchemaRef::new(arrow::datatypes::Schema::empty()),
            columns: Vec::new(),
            batches: Vec::new(),
            bytes: 0,
            tables,
            at: written.now,
        };
        CacheLookup::Place(Ticket { answers: self.clone(), key, kept: Some(kept), bytes: 0 })
    }

    /// What decides the answer; none where another moment may, or a commit that nobody tells here.
    pub fn as_of(&self, rules: &Governance, query: &Query, native: &Native, definitions: u64) -> Option<AsOf> {
        let sql = &native.sql;
        let is_one_read = is_read_alone(native) && query.ask.transaction.is_none();
        if !is_one_read || native.about.takes_in() || !is_told_of(rules, native) || !is_steady(&sql.sql) {
            return None;
        }
        let values = bound(&sql.binds, &query.ask.params).ok()?;
        let statement = Sha256::digest(format!("{:?}", (&sql.sql, values, native.role))).into();
        let written = self.written();
        let tables = paths(&native.about, sql).map(str::to_ascii_lowercase);
        Some(AsOf { statement, definitions, commits: tables.map(|table| written.counted(table)).collect() })
    }

    /// Whether each table has had so many commits, and no more.
    pub fn have_seen(&self, commits: &BTreeMap<String, u64>) -> bool {
        let written = self.written();
        commits.iter().all(|(table, count)| written.of(table) == *count)
    }

    /// These tables were written, or may have been.
    pub fn wrote<'a>(&self, tables: impl IntoIterator<Item = &'a String>) {
        let mut written = self.written();
        written.now += 1;
        let now = written.now;
        written.tables.extend(tables.into_iter().map(|table| (table.to_ascii_lowercase(), now)));
    }

    fn kept(&self) -> MutexGuard<'_, KeptAnswers> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, TableWrites> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum CacheLookup {
    Kept(Arc<CachedAnswer>),
    Place(Ticket),
    Never,
}

/// Whether it is a read of which no step but the last decides the answer.
fn is_read_alone(native: &Native) -> bool {
    !native.about.writes && native.sql.before.iter().all(|step| step.checks)
}

fn key(rules: &Governance, query: &Query, native: &Native, definitions: u64) -> Option<Key> {
    let sql = &native.sql;
    let is_told_of = is_told_of(rules, native);
    // of an answer that follows the plan, the rows that come first are those of whoever asked first
    let is_of_parts = native.care == sql::ExecutionMode::Materialized && query.ask.bounds.tells_parts();
    let is_read = is_read_alone(native) && !native.about.takes_in();
    let is_plain = !is_of_parts && is_read && query.ask.transaction.is_none() && is_told_of;
    if !rules.environment.settings.cache_enabled || !is_plain || native.about.tables.is_empty() || !is_steady(&sql.sql)
    {
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

/// The runtime's rows are written elsewhere: nobody tells here.
fn is_told_of(rules: &Governance, native: &Native) -> bool {
    !native.about.tables.iter().any(|path| runtime::is_named(rules, path))
}

/// Does the same statement over the same tables always answer the same? Words in quotes count as well.
pub(super) fn is_steady(sql: &str) -> bool {
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let mut lower = String::new(); // for all of them: it is asked of each statement
    words.all(|word| {
        lower.clear();
        lower.push_str(word);
        lower.make_ascii_lowercase();
        !VOLATILE.contains(lower.as_str())
    })
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
        self.bytes = self.bytes.saturating_add(batch_bytes(batch));
        if self.bytes > 2 * ANSWER_BYTES_MAX {
            self.kept = None;
        } else {
            kept.batches.push(batch.clone());
        }
    }

    /// All of it was delivered.
    pub fn done(self) {
        let Some(kept) = self.kept.and_then(CachedAnswer::compact) else { return };
        self.answers.kept().insert(self.key, kept);
    }
}

impl CachedAnswer {
    /// Its rows in one piece and without room for more, if they are not too many.
    fn compact(mut self) -> Option<Self> {
        // a single batch would be given back as it is, with the engine's room for 2,048 rows
        self.batches.push(RecordBatch::new_empty(SchemaRef::clone(&self.schema)));
        let whole = concat_batches(&self.schema, &self.batches).ok()?;
        self.bytes = whole.get_array_memory_size();
        self.batches = vec![whole];
        (self.bytes <= ANSWER_BYTES_MAX).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

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

    fn place(answers: &Answers, sql: &str) -> Ticket {
        let key = Key { sql: sql.to_owned(), values: String::new(), role: Role::Analyst, rules: 1, definitions: 1 };
        let schema = numbers(0).schema();
        let (columns, batches, tables) = (Vec::new(), Vec::new(), Vec::new());
        let kept = CachedAnswer { schema, columns, batches, bytes: 0, tables, at: 0 };
        Ticket { answers: answers.clone(), key, kept: Some(kept), bytes: 0 }
    }

    fn numbers(rows: i64) -> RecordBatch {
        let column = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    /// The answer to `sql`, which comes in these parts.
    fn answer(answers: &Answers, sql: &str, parts: impl IntoIterator<Item = RecordBatch>) {
        let mut place = place(answers, sql);
        for part in parts {
            place.add(&part);
        }
        place.done();
    }

    #[test]
    fn what_an_answer_weighs_does_not_follow_the_parts_in_which_it_came() {
        let answers = Answers::default();
        let all = numbers(1000);
        answer(&answers, "a", [all.clone()]);
        answer(&answers, "b", (0..1000).map(|at| all.slice(at, 1)));
        answer(&answers, "c", [numbers(2048).slice(0, 1000)]);
        let [a, b, c] = ["a", "b", "c"].map(|sql| answers.kept().get(&place(&answers, sql).key).unwrap());
        assert_eq!(a.batches, b.batches);
        assert_eq!((a.bytes, a.bytes), (b.bytes, c.bytes));
        assert!(a.bytes < 10_000, "{} bytes for 1,000 numbers", a.bytes);
    }

    #[test]
    fn what_was_asked_for_longest_ago_goes_first() {
        let answers = Answers::default();
        let all = numbers(100_000); // 800 KB, of which 83 fit
        for at in 0..84 {
            answer(&answers, &at.to_string(), [all.clone()]);
        }
        let kept: Vec<bool> =
            (0..84).map(|at| answers.kept().get(&place(&answers, &at.to_string()).key).is_some()).collect();
        assert_eq!(kept.iter().position(|kept| *kept), Some(1), "{kept:?}");
        assert!(kept[1..].iter().all(|kept| *kept), "{kept:?}");
        answer(&answers, "too much", [all.clone(), all]);
        assert!(answers.kept().get(&place(&answers, "too much").key).is_none());
    }
}
