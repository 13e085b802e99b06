//! PostgreSQL's catalogue, as one caller sees it: `pg_catalog` and `information_schema` for psql, drivers and tools.
//!
//! Each set of names that somebody may see is written into a database in memory of its own (`content.rs`), in a
//! process beside the engine's that has no file open. Questions are asked there, and cannot find what is not in it:
//! no row of a table, no table that its caller may not read, no type of a column that is masked for them.
//! They are neither billed nor audited.

mod content;
mod session_pool;

use std::time::Instant;

use arrow::datatypes::SchemaRef;
use engine::{Engine, Held, Kind, Outcome, Parsed, Session, Statement};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

pub use content::{CatalogueContent, CatalogueEntry, Sort, type_id};
use session_pool::SessionPool;

use crate::Error;

/// Questions at one time; the next ones wait.
const QUESTIONS_MAX: usize = 8;
/// What one database may hold, with what a question makes.
const MEMORY_BYTES: u64 = 128 << 20;
const ADDRESS_SPACE_BYTES: u64 = 16 << 30;

/// Functions of the catalogue's own beside those of `functions.sql`, that the engine's list refuses elsewhere.
const PERMITTED: [&str; 1] = ["generate_subscripts"];

/// The databases of the catalogue, and the process that holds them. It starts with the first question.
pub struct Catalogue {
    config: engine::Config,
    engine: OnceCell<Engine>,
    session_pool: SessionPool,
    places: Semaphore,
}

/// A question with everything it depends on.
pub struct CatalogueQuery<'a> {
    pub sql: &'a str,
    pub params: Vec<engine::Value>,
    pub seen: CatalogueContent,
    pub deadline: Instant,
    pub cancel: &'a CancellationToken,
}

/// The description of an answer before it is made.
pub struct DescribedAnswer {
    pub parameters: Vec<Option<String>>,
    pub columns: Vec<engine::Column>,
    pub schema: Option<SchemaRef>,
}

impl Catalogue {
    /// `like` is how the environment's own engine is started.
    pub fn new(like: engine::Config) -> Self {
        let config = engine::Config {
            data: None,
            run: like.run.join("catalogue"),
            memory_limit_bytes: MEMORY_BYTES,
            temp_limit_bytes: 0,
            threads: 1,
            address_space_bytes: ADDRESS_SPACE_BYTES,
            sessions_max: u16::try_from(QUESTIONS_MAX + session_pool::KEPT_MAX).unwrap_or(u16::MAX),
            mask_key: [0; 32],
            ..like
        };
        Self {
            config,
            engine: OnceCell::new(),
            session_pool: SessionPool::default(),
            places: Semaphore::new(QUESTIONS_MAX),
        }
    }

    /// The whole answer: the catalogue is small, and what is not is refused by the engine.
    pub async fn ask(&self, question: &CatalogueQuery<'_>) -> Result<Held, Error> {
        let _place = self.place(question).await?;
        if let Some(mut kept) = self.session_pool.take(&question.seen) {
            let answered = answer(&mut kept, question).await;
            if self.put_back(question, kept, &answered) {
                return answered;
            }
        }
        let mut made = self.made(question).await?;
        let answered = answer(&mut made, question).await;
        self.put_back(question, made, &answered);
        answered
    }

    pub async fn describe(&self, question: &CatalogueQuery<'_>) -> Result<DescribedAnswer, Error> {
        let _place = self.place(question).await?;
        if let Some(mut kept) = self.session_pool.take(&question.seen) {
            let described = describe(&mut kept, question).await;
            if self.put_back(question, kept, &described) {
                return described;
            }
        }
        let mut made = self.made(question).await?;
        let described = describe(&mut made, question).await;
        self.put_back(question, made, &described);
        described
    }

    async fn place(&self, question: &CatalogueQuery<'_>) -> Result<SemaphorePermit<'_>, Error> {
        let left = question.deadline.saturating_duration_since(Instant::now());
        tokio::select! {
            place = self.places.acquire() => place.map_err(|_| Error::ShuttingDown),
            () = question.cancel.cancelled() => Err(Error::Cancelled),
            () = tokio::time::sleep_until(question.deadline.into()) => Err(Error::Timeout(left)),
        }
    }

    /// Keeps the database for the next question, unless it was lost: then what it answered counts for nothing.
    fn put_back<T>(&self, question: &CatalogueQuery<'_>, session: Session, outcome: &Result<T, Error>) -> bool {
        let kind = match outcome {
            Err(Error::Engine(error)) => Some(error.kind),
            _ => None,
        };
        let is_lost = kind.is_some_and(may_be_lost);
        if !is_lost && !kind.is_some_and(may_be_busy) {
            self.session_pool.put(&question.seen, session);
        }
        !is_lost
    }

    /// A database that holds what is seen.
    async fn made(&self, question: &CatalogueQuery<'_>) -> Result<Session, Error> {
        let mut session = self.engine().await?.session().await?;
        content::fill(&mut session, &question.seen, question.deadline).await?;
        Ok(session)
    }

    async fn engine(&self) -> Result<&Engine, Error> {
        Ok(self.engine.get_or_try_init(|| Engine::start(self.config.clone())).await?)
    }

    pub async fn stop(&self) {
        self.session_pool.clear();
        if let Some(engine) = self.engine.get() {
            engine.stop().await;
        }
    }
}

async fn answer(session: &mut Session, question: &CatalogueQuery<'_>) -> Result<Held, Error> {
    verify(&parsed(session, question).await?)?;
    // As a write: never run a second time on a database that was lost meanwhile, and answered whole.
    let statement = Statement { sql: question.sql.to_owned(), params: question.params.clone(), writes: true };
    match session.run(statement, question.deadline, question.cancel).await? {
        Outcome::Changed { returning: Some(held), .. } => Ok(held),
        _ => Err(unlike_a_question()),
    }
}

async fn describe(session: &mut Session, question: &CatalogueQuery<'_>) -> Result<DescribedAnswer, Error> {
    verify(&parsed(session, question).await?)?;
    let CatalogueQuery { sql, deadline, cancel, .. } = question;
    let parameters = session.parameters(sql, *deadline, cancel).await?;
    let engine::Described { columns, schema } = session.describe(sql, *deadline, cancel).await?;
    Ok(DescribedAnswer { parameters, columns, schema })
}

async fn parsed(session: &mut Session, question: &CatalogueQuery<'_>) -> Result<Parsed, Error> {
    let parsed = session.parsed(question.sql, question.deadline, question.cancel).await;
    parsed.map_err(|error| match error.kind {
        // Both parsers take every form that a question may have: it is one that only PostgreSQL has, such as a WITH
        // that writes.
        Kind::Parser => Error::Unsupported { what: "this form of a statement over PostgreSQL's catalogue".to_owned() },
        _ => Error::Engine(error),
    })
}

/// After one of these the database may be empty: its process ended, and another took its place.
fn may_be_lost(kind: Kind) -> bool {
    matches!(kind, Kind::Crashed | Kind::Starved | Kind::Unavailable | Kind::CatalogMissing)
}

/// After one of these it may be at the question still, or have made too much of it: the next one has another.
fn may_be_busy(kind: Kind) -> bool {
    matches!(kind, Kind::Timeout | Kind::Interrupted | Kind::OutOfMemory)
}

/// The engine's own parser must find nothing but tables of the catalogue and functions that are on a list.
fn verify(parsed: &Parsed) -> Result<(), Error> {
    let (Some(tables), Some(functions)) = (&parsed.tables, &parsed.functions) else {
        return Err(unlike_a_question());
    };
    if let Some(other) = tables.iter().find(|name| !content::holds(name)) {
        return Err(Error::Unverified { why: format!("{other} is no table of the catalogue") });
    }
    let is_listed = |name: &String| {
        content::defines(name)
            || PERMITTED.contains(&name.as_str())
            || sql::dialect::class(name).is_some_and(|class| class != sql::functions::catalogue::Class::Denied)
    };
    match functions.iter().find(|name| !is_listed(name)) {
        Some(name) => Err(Error::Unsupported { what: format!("function {name}") }),
        None => Ok(()),
    }
}

fn unlike_a_question() -> Error {
    Error::Unverified { why: "the catalogue only answers questions".to_owned() }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogue").field("started", &self.engine.initialized()).finish_non_exhaustive()
    }
}
