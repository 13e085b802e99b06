//! One connection of the engine: statements one after another, a transaction if it is wanted.
//!
//! What made anything of its own is never handed from one caller to the next: temporary tables, variables and prepared
//! statements would go with it. What has read and changed rows alone is reset, and waits for whoever comes next
//! (`waiting`).

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::catalog::Catalog;
use crate::error::{Error, Kind};
use crate::line::{Connected, Reply};
use crate::message::{Change, Column, Parsed, PlanSource, Shape, What};
use crate::rows::{Held, Rows};
use crate::value::Value;

/// What a step of a transaction, or a question that names no SQL, may take.
const STEP: Duration = Duration::from_secs(30);
/// What a statement waits for the rows of the one before.
const BEFORE: Duration = Duration::from_secs(3);

/// One statement, already checked by whoever wrote it.
#[derive(Debug, Clone)]
pub struct Statement {
    pub sql: String,
    pub params: Vec<Value>,
    /// It changes something: it runs to its end before anything of it is answered, and is not run a second time
    /// here, where nobody knows whether the first one is committed.
    pub writes: bool,
}

pub enum Outcome {
    Rows(Rows),
    Changed { rows: u64, returning: Option<Held>, plan: Option<PlanSource> },
}

/// What a statement would answer with.
#[derive(Debug, Clone)]
pub struct Described {
    pub columns: Vec<Column>,
    /// None while a type waits for its parameter.
    pub schema: Option<SchemaRef>,
}

impl Described {
    pub(crate) fn read(shape: Shape) -> Result<Self, Error> {
        let schema = |text: String| {
            let stream = hex::decode(text).map_err(Error::internal)?;
            StreamReader::try_new(stream.as_slice(), None).map(|reader| reader.schema()).map_err(Error::internal)
        };
        Ok(Self { columns: shape.columns, schema: shape.schema.map(schema).transpose()? })
    }
}

/// Names what a transaction sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Snapshot(String);

impl Snapshot {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub struct Session(Arc<Mutex<Connected>>);

impl Session {
    pub(crate) fn new(connected: Connected) -> Self {
        Self(Arc::new(Mutex::new(connected)))
    }

    pub(crate) fn of(connected: Arc<Mutex<Connected>>) -> Self {
        Self(connected)
    }

    /// Opens a transaction and takes its snapshot. While the process is most likely about to end, because of
    /// somebody's statement, it waits: for the next process, or until this one is well again.
    pub async fn begin(&mut self) -> Result<Snapshot, Error> {
        let mut connected = self.steady().await?;
        connected.again_if_lost(&What::Begin, step_ends(), &CancellationToken::new()).await?.done()?;
        connected.transaction_opened();
        connected.ends_turn();
        Ok(Snapshot(connected.snapshot()))
    }

    /// Executes one statement.
    ///
    /// A read answers when its first rows are there; if the engine's process dies before that, and
    /// no transaction is open, it is run once more. A write answers when it has run to its end.
    pub async fn run(
        &mut self,
        statement: Statement,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Error> {
        let mut connected = self.connected().await?;
        let Statement { sql, params: parameters, writes } = statement;
        if writes {
            let what = What::Write { sql, parameters, begins: false, tables: None };
            let reply = connected.ask(&what, deadline, cancel).await?;
            return written(&mut connected, reply);
        }
        match connected.again_if_lost(&What::Read { sql, parameters }, deadline, cancel).await? {
            Reply::Head(payload) => Rows::open(connected, &payload, cancel.clone()).map(Outcome::Rows),
            Reply::Done(done) => Ok(Outcome::Changed { rows: done.rows, returning: None, plan: done.plan }),
            Reply::Answer(_) | Reply::Unsure => Err(Error::internal("an answer to no question")),
        }
    }

    /// Opens a transaction by a write: one message and one answer. Where the write fails, none is open. Whether the
    /// tables are still those that it was made for, who asks finds out before it is committed.
    ///
    /// With `tables` it runs only if the engine's parser surely finds no others in it that it reads: else nothing is
    /// done, and no transaction is open. It is sure of an INSERT alone.
    pub async fn begin_by(
        &mut self,
        write: Statement,
        tables: Option<&[String]>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Option<Outcome>, Error> {
        let mut connected = self.steady().await?;
        let Statement { sql, params: parameters, .. } = write;
        let what = What::Write { sql, parameters, begins: true, tables: tables.map(<[String]>::to_vec) };
        let reply = connected.ask(&what, deadline, cancel).await?;
        if matches!(reply, Reply::Unsure) {
            return Ok(None);
        }
        connected.transaction_opened();
        connected.ends_turn(); // the commit waits for the disk
        written(&mut connected, reply).map(Some)
    }

    /// Executes one query in a transaction of its own, which ends with its rows: one message and one answer. It sees
    /// one state of the database, and changes none. Nothing is run twice here: who asks finds out whether the tables
    /// are still those that it was made for, once the first rows are there.
    ///
    /// With `tables` it runs only if the engine's parser surely finds those in it, and no more than the host permits:
    /// else there are no rows.
    pub async fn query(
        &mut self,
        statement: Statement,
        tables: Option<&[String]>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Option<Rows>, Error> {
        let mut connected = self.steady().await?;
        let Statement { sql, params: parameters, .. } = statement;
        let what = What::Query { sql, parameters, tables: tables.map(<[String]>::to_vec) };
        match connected.ask(&what, deadline, cancel).await? {
            Reply::Head(payload) => Rows::open(connected, &payload, cancel.clone()).map(Some),
            Reply::Unsure => Ok(None),
            Reply::Done(_) | Reply::Answer(_) => Err(Error::internal("no rows of a query")),
        }
    }

    /// Names what the next query sees.
    pub async fn next_snapshot(&self) -> Result<Snapshot, Error> {
        Ok(Snapshot(self.connected().await?.snapshot()))
    }

    /// Makes a temporary table for the statements behind: the database is as before.
    pub async fn keep(
        &mut self,
        statement: Statement,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let Statement { sql, params: parameters, .. } = statement;
        let what = What::Write { sql, parameters, begins: false, tables: None };
        self.connected().await?.ask(&what, deadline, cancel).await?.done()
    }

    /// Writes to the log of changes, in the open transaction.
    pub async fn track(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.step(What::Track(changes.to_vec())).await
    }

    /// Whatever the outcome, the transaction is over. `Crashed` is the one error that does not tell
    /// whether it was committed. Once begun it goes to its end, whether or not anybody waits for it.
    pub async fn commit(&mut self) -> Result<(), Error> {
        self.commit_then(Vec::new(), || ()).await
    }

    /// The same behind these lines of the log of changes; `then` is called at its end, whether or not anybody waits for
    /// that.
    pub async fn commit_then(
        &mut self,
        changes: Vec<Change>,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<(), Error> {
        let mut connected = self.connected().await?;
        let shared = Arc::clone(connected.shared());
        let committing = async move {
            let outcome = connected.commit(changes, step_ends()).await;
            then();
            outcome
        };
        shared.spawn(committing).await.map_err(Error::internal)?
    }

    /// Also right when no transaction is open, or the engine has ended it.
    pub async fn rollback(&mut self) -> Result<(), Error> {
        if !self.connected().await?.in_transaction() {
            return Ok(());
        }
        let outcome = self.step(What::Rollback).await;
        self.connected().await?.rolled_back();
        match outcome {
            // What is lost is rolled back.
            Err(error) if error.is_lost() || error.kind == Kind::Unavailable => Ok(()),
            other => other,
        }
    }

    /// The columns a statement would answer with; it is not executed. For a parameter of type `t`
    /// write `(select cast(null as t))`: a plain `cast(null as t)` is a constant, which the engine
    /// folds, and then forgets its type.
    ///
    /// The engine computes constants as it prepares, so a question takes as long as its caller's text makes
    /// it: this one and the two below have an end, and can be given up, as a statement has and can.
    pub async fn describe(
        &mut self,
        sql: &str,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Described, Error> {
        Described::read(self.question(What::Describe { sql: sql.to_owned() }, deadline, cancel).await?)
    }

    /// The types of a statement's parameters, where the engine can tell them without values.
    pub async fn parameters(
        &mut self,
        sql: &str,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<Option<String>>, Error> {
        self.question(What::Parameters { sql: sql.to_owned() }, deadline, cancel).await
    }

    /// The tables as this session sees them, with what its transaction has defined.
    pub async fn catalog(&mut self) -> Result<Catalog, Error> {
        self.question(What::Catalog, step_ends(), &CancellationToken::new()).await
    }

    /// What the engine's own parser makes of a statement.
    pub async fn parsed(&mut self, sql: &str, deadline: Instant, cancel: &CancellationToken) -> Result<Parsed, Error> {
        self.question(What::Parse { sql: sql.to_owned() }, deadline, cancel).await
    }

    pub(crate) async fn question<T: serde::de::DeserializeOwned>(
        &mut self,
        what: What,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<T, Error> {
        let mut connected = self.connected().await?;
        connected.again_if_lost(&what, deadline, cancel).await?.answer()
    }

    async fn step(&mut self, what: What) -> Result<(), Error> {
        let mut connected = self.connected().await?;
        if !connected.in_transaction() {
            return Err(Error::new(Kind::InvalidInput, "no transaction is open"));
        }
        connected.ask(&what, step_ends(), &CancellationToken::new()).await?.done()
    }

    /// The connection for what is to open a transaction, once its process is well.
    async fn steady(&self) -> Result<OwnedMutexGuard<Connected>, Error> {
        let connected = self.connected().await?;
        if connected.in_transaction() {
            return Err(Error::new(Kind::InvalidInput, "a transaction is open already"));
        }
        connected.steady().await;
        Ok(connected)
    }

    /// The connection, once the rows of the statement before have let go of it.
    async fn connected(&self) -> Result<OwnedMutexGuard<Connected>, Error> {
        if let Ok(connected) = Arc::clone(&self.0).try_lock_owned() {
            return Ok(connected); // as nearly always: nothing is waited for
        }
        let free = Arc::clone(&self.0).lock_owned();
        timeout(BEFORE, free).await.map_err(|_| Error::unavailable("rows of the statement before are still open"))
    }
}

/// What a write has answered with.
fn written(connected: &mut Connected, reply: Reply) -> Result<Outcome, Error> {
    connected.wrote(reply.definitions());
    match reply {
        Reply::Done(done) => Ok(Outcome::Changed { rows: done.rows, returning: None, plan: done.plan }),
        Reply::Head(payload) => {
            connected.finish(); // what a write returns comes in one frame
            let (held, plan) = Held::read(&payload)?;
            Ok(Outcome::Changed { rows: held.rows(), returning: Some(held), plan })
        }
        Reply::Answer(_) | Reply::Unsure => Err(Error::internal("an answer to no question")),
    }
}

impl Drop for Session {
    /// It waits for its next statement, if it may. One whose rows are still open ends with them.
    fn drop(&mut self) {
        if let Ok(connected) = Arc::clone(&self.0).try_lock_owned() {
            Arc::clone(connected.shared()).rest(connected);
        }
    }
}

pub(crate) fn step_ends() -> Instant {
    Instant::now() + STEP
}
