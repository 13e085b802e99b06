//! Statements of callers that a session keeps prepared: to plan one often takes longer than to run it.
//!
//! The engine runs a plan again while the catalogue is as it was made for, and else plans the text anew at each run: so
//! behind a definition of anybody nothing is kept here. All else that a plan takes in as it is made has to hold at each
//! run:
//!
//! - **Rows.** While `statistics_propagation` is off, no plan follows from the least and greatest values of a column, nor
//!   from how many rows there are; except that the engine counts what OFFSET leaves out as it plans.
//! - **The time, and the names of a session.** The engine plans texts with them anew at each run. The local time
//!   and the age of a constant it computes as it plans, so such texts are not kept. No text is kept while a default, a
//!   generated column or a check has one of these, since the text does not show that.
//! - **Random numbers, and what a comparison has remembered.** Their texts are not kept.
//! - **Settings and variables.** Those of the database are locked; a session that has changed its own keeps nothing.
//!
//! Until its next run a plan holds what its last one has left in it. So a query is kept only if its plan has none but
//! operators that hold little, and ran quickly: an aggregate or the first few of many rows can hold much. How large the
//! tables have become since decides nothing in such a plan.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{answer, draws, parsed};
use crate::error::Error;
use crate::ffi::{Connection, Effect, NarrowNumber, Prepared};
use crate::message::PlanSource;
use crate::types::Type;
use crate::value::Value;

/// How long a statement that is kept may take, with all that is made for it.
const QUICK: Duration = Duration::from_millis(5);
/// A longer text is made by a program, and seldom comes again.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Values of parameters that stay with a statement.
const VALUES_BYTES_MAX: usize = 64 << 10;
/// Of texts that have come once, so many are known for each statement that is kept.
const KNOWN_FACTOR: usize = 8;
/// Part of texts for which the engine counts rows as it plans.
const COUNTED: &str = "offset";
/// Parts of texts whose plan may hold for one run alone.
const OF_ONE_RUN: [&str; 6] = [COUNTED, "likeness", "localtime", "age(", "age\"(", "age ("];
/// How many columns and constraints name what is computed as a statement over them is planned.
const MOMENTARY: &str = "select count(*)::varchar from ( \
    select lower(column_default) as said from duckdb_columns() \
    union all select lower(constraint_text) from duckdb_constraints()) \
    where contains(said, 'localtime') or contains(said, 'age(')";
/// Parts of an INSERT that reads something.
const READING: [&str; 2] = ["select", "conflict"];
/// Operators that hold little when they have run quickly, as the engine names them.
const HOLDING_LITTLE: [&str; 10] = [
    "SEQ_SCAN",
    "DUMMY_SCAN",
    "COLUMN_DATA_SCAN",
    "EMPTY_RESULT",
    "FILTER",
    "PROJECTION",
    "LIMIT",
    "STREAMING_LIMIT",
    "TOP_N",
    "UNGROUPED_AGGREGATE",
];

/// What the sessions of one database have in common: how many statements each keeps, and when all begin anew.
pub struct Keeping {
    places: usize,
    definitions: AtomicU64,
}

impl Keeping {
    pub fn of(places: u16) -> Self {
        Self { places: usize::from(places), definitions: AtomicU64::new(0) }
    }

    /// Whether a query may be kept, as far as its text tells. With parameters the engine plans it at each run anyhow.
    fn may_keep_query(&self, sql: &str, parameters: usize) -> bool {
        parameters == 0 && self.has_room_for(sql) && !draws::may_draw(sql) && !names_any(sql, &OF_ONE_RUN)
    }

    /// The same of a write: of an INSERT that has its rows in it, or as parameters, which the engine does not plan anew.
    fn may_keep_write(&self, sql: &str) -> bool {
        const INSERT: &str = "INSERT ";
        let is_insert = sql.get(..INSERT.len()).is_some_and(|head| head.eq_ignore_ascii_case(INSERT));
        is_insert && self.has_room_for(sql) && !names_any(sql, &READING) && !names_any(sql, &OF_ONE_RUN)
    }

    fn known_max(&self) -> usize {
        self.places.saturating_mul(KNOWN_FACTOR)
    }

    fn has_room_for(&self, sql: &str) -> bool {
        self.places > 0 && sql.len() <= TEXT_BYTES_MAX
    }
}

/// A statement that is ready to run.
pub struct Planned<'c> {
    pub prepared: Prepared<'c>,
    /// The columns that were asked for.
    pub named: Vec<(String, Type)>,
    pub effect: Effect,
    pub source: PlanSource,
    /// Which of its parameters are narrow whole numbers, where all of them are values of columns as they stand.
    pub narrow: Vec<Option<NarrowNumber>>,
    began: Instant,
}

impl<'c> Planned<'c> {
    fn made(connection: &'c Connection, sql: &str, may_be_kept: bool) -> Result<Self, Error> {
        let began = Instant::now();
        let prepared = connection.prepare(sql)?;
        let (named, effect) = (prepared.columns(), prepared.effect());
        let source = if may_be_kept { PlanSource::Made } else { PlanSource::NotKept };
        Ok(Self { prepared, named, effect, source, narrow: Vec::new(), began })
    }

    fn is_quick(&self) -> bool {
        self.began.elapsed() < QUICK
    }
}

/// Those of one session, which are of one connection.
pub struct KeptStatements<'c> {
    connection: &'c Connection,
    keeping: &'c Keeping,
    /// As of so many definitions.
    definitions: u64,
    /// The one that ran last stands last.
    statements: Vec<(String, Planned<'c>)>,
    hashes: RandomState,
    /// Texts that have come once, by their hashes.
    known: VecDeque<u64>,
    /// Those whose plans may hold much.
    large: VecDeque<u64>,
    /// Whether no table has anything that is computed as a statement is planned; none before that is asked.
    tables_last: Option<bool>,
}

impl<'c> KeptStatements<'c> {
    pub fn of(connection: &'c Connection, keeping: &'c Keeping) -> Self {
        let (statements, known, large) = (Vec::new(), VecDeque::new(), VecDeque::new());
        let (hashes, tables_last) = (RandomState::new(), None);
        Self { connection, keeping, definitions: 0, statements, hashes, known, large, tables_last }
    }

    /// A query from before, or as it is planned now, in a form that can be sent. `is_clean`: the session has nothing of
    /// its own.
    pub fn query(&mut self, sql: &str, parameters: usize, is_clean: bool) -> Result<Planned<'c>, Error> {
        if parameters == 0
            && let Some(planned) = self.take(sql, Effect::Query, is_clean)
        {
            return Ok(planned);
        }
        let is_large = self.large.contains(&self.hashes.hash_one(sql));
        let may_be_kept = is_clean && !is_large && self.keeping.may_keep_query(sql, parameters);
        let mut planned = Planned::made(self.connection, sql, may_be_kept)?;
        if let Some(readable) = answer::readable(sql, &planned.named) {
            planned.prepared = self.connection.prepare(&readable)?;
        }
        Ok(planned)
    }

    /// The same of a write, which is refused if it returns what cannot be sent.
    pub fn write(&mut self, sql: &str, is_clean: bool) -> Result<Planned<'c>, Error> {
        if let Some(planned) = self.take(sql, Effect::Rows, is_clean) {
            return Ok(planned);
        }
        let may_be_kept = is_clean && self.keeping.may_keep_write(sql) && (!self.is_known(sql) || self.tables_last());
        let mut planned = Planned::made(self.connection, sql, may_be_kept)?;
        answer::sendable(&planned.named)?;
        if may_be_kept && has_plain_values(sql) {
            planned.narrow = planned.prepared.narrow_numbers();
        }
        Ok(planned)
    }

    /// Keeps a query that has run well, where it was kept before.
    pub fn keep_on(&mut self, sql: String, planned: Planned<'c>) {
        if planned.source == PlanSource::Kept && planned.is_quick() {
            self.keep(sql, planned);
        }
    }

    /// The same, or a new one whose text has come before, and whose plan is small. It asks the engine for that: not for
    /// a transaction of a caller, which could end by it.
    pub fn keep_query(&mut self, sql: String, planned: Planned<'c>) {
        if planned.source != PlanSource::Made {
            self.keep_on(sql, planned);
        } else if planned.is_quick() && self.has_come(&sql) {
            if self.tables_last() && self.holds_little(&sql) {
                self.keep(sql, planned);
            } else {
                let hash = self.hashes.hash_one(&sql);
                remember(&mut self.large, hash, self.keeping.known_max());
            }
        }
    }

    /// The same of a write, which holds the values that it was given last.
    pub fn keep_write(&mut self, sql: String, planned: Planned<'c>, parameters: &[Value]) {
        let bytes: usize = parameters.iter().map(Value::bytes).sum();
        let is_to_keep = match planned.source {
            _ if bytes > VALUES_BYTES_MAX => false,
            PlanSource::Kept => true,
            PlanSource::Made => self.has_come(&sql),
            PlanSource::NotKept => false,
        };
        if is_to_keep && planned.is_quick() {
            self.keep(sql, planned);
        }
    }

    /// Tables may look different from now on, to any session.
    pub fn defined(&self) {
        self.keeping.definitions.fetch_add(1, Ordering::SeqCst);
    }

    /// The statement of a text that does this, if it is kept. A session with anything of its own lets go of all.
    fn take(&mut self, sql: &str, effect: Effect, is_clean: bool) -> Option<Planned<'c>> {
        let definitions = self.keeping.definitions.load(Ordering::SeqCst);
        if !is_clean || self.definitions != definitions {
            self.definitions = definitions;
            self.statements.clear();
            self.large.clear();
            self.tables_last = None;
        }
        let place = self.statements.iter().position(|(text, planned)| text == sql && planned.effect == effect)?;
        let (_, planned) = self.statements.remove(place);
        Some(Planned { source: PlanSource::Kept, began: Instant::now(), ..planned })
    }

    /// In place of the one that ran longest ago.
    fn keep(&mut self, sql: String, planned: Planned<'c>) {
        self.statements.push((sql, planned));
        let excess = self.statements.len().saturating_sub(self.keeping.places);
        self.statements.drain(..excess);
    }

    /// Whether a text has come before; it has from now on.
    fn has_come(&mut self, sql: &str) -> bool {
        let hash = self.hashes.hash_one(sql);
        let has_come = self.known.contains(&hash);
        if !has_come {
            remember(&mut self.known, hash, self.keeping.known_max());
        }
        has_come
    }

    fn is_known(&self, sql: &str) -> bool {
        self.known.contains(&self.hashes.hash_one(sql))
    }

    /// Asked once behind each definition; of an INSERT before it runs, so that what goes wrong here is told of that.
    fn tables_last(&mut self) -> bool {
        let connection = self.connection;
        *self.tables_last.get_or_insert_with(|| names_no_moment(connection).unwrap_or(false))
    }

    /// Whether the plan of a query surely holds little between two runs.
    fn holds_little(&self, sql: &str) -> bool {
        let is_little = |name: &String| HOLDING_LITTLE.contains(&name.as_str());
        parsed::operators(self.connection, sql).is_ok_and(|names| !names.is_empty() && names.iter().all(is_little))
    }
}

fn names_no_moment(connection: &Connection) -> Result<bool, Error> {
    let prepared = connection.prepare(MOMENTARY)?;
    let count = answer::text(&mut prepared.run(false)?)?;
    Ok(count == "0")
}

/// In place of the one that came first.
fn remember(hashes: &mut VecDeque<u64>, hash: u64, max: usize) {
    if hashes.len() >= max {
        hashes.pop_front();
    }
    hashes.push_back(hash);
}

/// Whether the rows of an INSERT are parameters and numbers alone, of which nothing is computed.
fn has_plain_values(sql: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_digit() || b"$(), ".contains(&byte);
    sql.rsplit_once(" VALUES ").is_some_and(|(_, rows)| rows.bytes().all(is_plain))
}

fn names_any(sql: &str, parts: &[&str]) -> bool {
    let lower = sql.to_ascii_lowercase();
    parts.iter().any(|part| lower.contains(*part))
}

/// Whether the engine counts rows as it plans a text: it is planned in the transaction that it runs in.
pub fn is_counted_first(sql: &str) -> bool {
    names_any(sql, &[COUNTED])
}

/// Whether a definition is of a temporary table, which no other session sees.
pub fn is_of_session(sql: &str) -> bool {
    ["CREATE TEMP ", "CREATE OR REPLACE TEMP "].iter().any(|head| sql.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_kept_is_told_by_its_text() {
        let keeping = Keeping::of(2);
        assert!(keeping.may_keep_query("select \"id\" from raw.main.t where \"id\" = 7", 0));
        for (sql, parameters) in [
            ("select \"id\" from raw.main.t where \"id\" = $1", 1),
            ("select random()", 0),
            ("select \"id\" from raw.main.t order by 1 limit 2 OFFSET 200000", 0),
            ("select sluice_likeness(\"a\", 'b') from raw.main.t", 0),
            ("select current_localtimestamp()", 0),
            ("select LOCALTIME", 0),
            ("select AGE(TIMESTAMP '2020-01-01')", 0),
        ] {
            assert!(!keeping.may_keep_query(sql, parameters), "{sql}");
        }
        assert!(!keeping.may_keep_query(&format!("select '{}'", "x".repeat(TEXT_BYTES_MAX)), 0));
        assert!(keeping.may_keep_write("INSERT INTO raw.main.t VALUES ($1, 2)"));
        for sql in ["INSERT INTO t SELECT 1", "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "UPDATE t SET a = 1"] {
            assert!(!keeping.may_keep_write(sql), "{sql}");
        }
        assert!(!Keeping::of(0).may_keep_query("select 1", 0), "there is no place");
    }

    #[test]
    fn rows_are_plain_of_which_nothing_is_computed() {
        assert!(has_plain_values("INSERT INTO t (\"a\") VALUES ($1, 2), ($2, $3)"));
        for computed in ["($1 + 1)", "(abs($1))", "(CAST($1 AS INTEGER))", "('x')", "($1) RETURNING a"] {
            assert!(!has_plain_values(&format!("INSERT INTO t VALUES {computed}")), "{computed}");
        }
        assert!(!has_plain_values("INSERT INTO t DEFAULT VALUES"));
    }
}
