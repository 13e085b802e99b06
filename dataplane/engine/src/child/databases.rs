//! Where a session's connection comes from: the environment's one file, or a database of its own.

use std::path::Path;
use std::sync::Arc;

use super::{answer, compare, harden, mask, pattern};
use crate::comparison::Comparing;
use crate::error::Error;
use crate::ffi::{Connection, Database, WorkerWatch};
use crate::message::Start;
use crate::store::Native;

/// Tables are found under the same names as in a file.
const SCRATCH: &str = "attach ':memory:' as raw";

pub enum Databases {
    /// One file, open for as long as the process lives.
    File(Arc<Database>),
    /// A new one in memory for each session, gone with it: no session can see into another.
    Scratch(Box<Start>),
}

impl Databases {
    /// Ready to serve, and when that was.
    pub fn open(start: Box<Start>, comparing: Option<Comparing>) -> Result<(Self, i64), Error> {
        harden::limit_address_space(start.address_space_bytes)?;
        let databases = match &start.data {
            Some(data) => {
                let file = Native::new(data);
                replay(file.file(), &start)?;
                let database = Database::open(file.file(), &harden::with_workers(&start))?;
                database.start_workers(start.threads.saturating_sub(1)).map_err(Error::internal)?;
                let connection = database.connect()?;
                // In one transaction: the file has all of it or nothing, and is written once.
                connection.execute("begin transaction")?;
                for sql in Native::prelude() {
                    connection.execute(sql)?;
                }
                connection.execute("commit")?;
                mask::register(&connection, start.mask_key)?;
                pattern::register(&connection)?;
                comparing.map_or(Ok(()), |comparing| compare::register(&connection, comparing))?;
                lock(&connection, &start)?;
                Self::File(database)
            }
            None => Self::Scratch(start),
        };
        let connection = databases.connect()?;
        let clock = connection.prepare("select epoch_us(now())::varchar")?;
        let opened = answer::text(&mut clock.run(false)?)?;
        Ok((databases, opened.parse().map_err(Error::internal)?))
    }

    pub fn connect(&self) -> Result<Connection, Error> {
        match self {
            Self::File(database) => database.connect(),
            Self::Scratch(start) => {
                let connection = Database::open(Path::new(":memory:"), &harden::options(start))?.connect()?;
                connection.execute(SCRATCH)?;
                mask::register(&connection, start.mask_key)?;
                pattern::register(&connection)?;
                lock(&connection, start)?;
                Ok(connection)
            }
        }
    }

    /// Is there a file, with tables of ours in it?
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// The watch over the file's workers; a database in memory has none.
    pub fn worker_watch(&self) -> Option<WorkerWatch> {
        match self {
            Self::File(database) => Some(WorkerWatch::of(database)),
            Self::Scratch(_) => None,
        }
    }

    /// Writes everything to the file, where there is one.
    pub fn checkpoint(&self) -> Result<(), Error> {
        match self {
            Self::File(database) => database.connect()?.execute(Native::CHECKPOINT),
            Self::Scratch(_) => Ok(()),
        }
    }
}

/// Brings into the file what a process that was killed has left in its log. As the engine opens a file, it cannot replay a
/// change of a table that has a default with a function in it: there is no database yet to look the function up in. As
/// it attaches one, it can. The checkpoint is made by the engine's own threads.
fn replay(file: &Path, start: &Start) -> Result<(), Error> {
    let mut log = file.as_os_str().to_owned();
    log.push(".wal");
    if !Path::new(&log).exists() {
        return Ok(());
    }
    let name = file.to_str().ok_or_else(|| Error::internal("the file has no name in UTF-8"))?;
    let connection = Database::open(Path::new(":memory:"), &harden::options(start))?.connect()?;
    connection.execute(&format!("attach '{}' as raw", name.replace('\'', "''")))?;
    connection.execute("checkpoint raw")?;
    connection.execute("detach raw")
}

fn lock(connection: &Connection, start: &Start) -> Result<(), Error> {
    harden::lock(start)?.iter().try_for_each(|sql| connection.execute(sql))
}
