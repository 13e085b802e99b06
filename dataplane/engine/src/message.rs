//! What the two processes say to each other.
//!
//! Heads are JSON: small, readable in a trace, and one place where a field can be added. Rows are
//! Arrow IPC stream messages, never JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::value::Value;

/// Kinds of frame.
pub mod kind {
    /// Parent to child, control socket: [`super::Order`].
    pub const ORDER: u8 = b'o';
    /// Child to parent, control socket: [`super::Notice`].
    pub const NOTICE: u8 = b'n';
    /// Parent to child, session socket: [`super::Request`].
    pub const REQUEST: u8 = b'q';
    /// The statement answers with rows: length of [`super::Head`], the head, Arrow IPC messages.
    pub const HEAD: u8 = b'h';
    /// More of the same Arrow IPC stream.
    pub const ROWS: u8 = b'b';
    /// No more rows; the end mark of the Arrow IPC stream.
    pub const END: u8 = b'e';
    /// The statement changed something and has no rows: [`super::Done`].
    pub const DONE: u8 = b'd';
    /// The answer to a question about SQL, its own JSON.
    pub const ANSWER: u8 = b'a';
    /// The query was not run: it may read other tables than it was said to. Empty.
    pub const UNSURE: u8 = b'u';
    /// It failed: [`super::Error`].
    pub const FAILED: u8 = b'x';
}

/// The first order is `Start`; the rest may come at any time.
#[derive(Serialize, Deserialize)]
pub enum Order {
    Start(Box<Start>),
    /// End this statement of this session, if it is still that one.
    Cancel {
        session: u64,
        statement: u64,
    },
    /// Checkpoint and exit.
    Stop,
}

#[derive(Serialize, Deserialize)]
pub struct Start {
    pub data: Option<PathBuf>,
    pub spill: PathBuf,
    /// The one folder whose files it may read; none for a database in memory.
    pub spool: Option<PathBuf>,
    pub memory_limit_bytes: u64,
    pub temp_limit_bytes: u64,
    pub threads: u16,
    pub address_space_bytes: u64,
    pub kept_statements: u16,
    pub mask_key: [u8; 32],
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Notice {
    /// When it opened, by its own clock: no two starts of one database share it.
    Ready {
        opened_micros: i64,
    },
    Failed(Error),
    /// The thread of this session is gone, and its connection closed.
    Ended {
        session: u64,
    },
    /// It keeps more in memory than it may, and is given none until it says that it `Fits`.
    Full,
    Fits,
    /// The checkpoint is done, or why not.
    Stopped(Result<(), Error>),
}

#[derive(Deserialize)]
pub struct Request {
    pub statement: u64,
    pub what: What,
}

/// A [`Request`] as it is written.
#[derive(Serialize)]
pub struct LentRequest<'w> {
    pub statement: u64,
    pub what: &'w What,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum What {
    /// Rows as they are made.
    Read {
        sql: String,
        parameters: Vec<Value>,
    },
    /// The same in a transaction of its own, which ends with the rows: one message and one answer.
    Query {
        sql: String,
        parameters: Vec<Value>,
        /// Run only if the engine's parser finds these tables in it, and what its host permits; none if that is known.
        tables: Option<Vec<String>>,
    },
    /// To its end, then what it changed or returned.
    Write {
        sql: String,
        parameters: Vec<Value>,
        /// In a transaction that begins with it, and is over where it fails.
        begins: bool,
        /// As of a query; of an INSERT alone, as the parser tells no tables of other writes.
        tables: Option<Vec<String>>,
    },
    Begin,
    /// Behind these lines of the log of changes. Whatever comes of it, the transaction is over.
    Commit(Vec<Change>),
    Rollback,
    Track(Vec<Change>),
    Describe {
        sql: String,
    },
    Parameters {
        sql: String,
    },
    Parse {
        sql: String,
    },
    Catalog,
    /// Makes a session that has only read as a new one is; `open`: it is in a transaction.
    Reset {
        open: bool,
    },
}

impl What {
    /// Whether a session is as a new one once it has done this and is reset; of a write, where it has changed rows alone.
    /// What is not named here ends it.
    pub fn leaves_nothing(&self) -> bool {
        match self {
            Self::Begin
            | Self::Read { .. }
            | Self::Query { .. }
            | Self::Rollback
            | Self::Catalog
            | Self::Write { .. }
            | Self::Track(_)
            | Self::Commit(_)
            | Self::Reset { .. } => true,
            Self::Describe { .. } | Self::Parameters { .. } | Self::Parse { .. } => false,
        }
    }

    /// Whether something of it may be committed, though no answer has come.
    pub fn may_commit(&self) -> bool {
        match self {
            Self::Write { begins, .. } => !begins,
            Self::Commit(_) => true,
            Self::Begin
            | Self::Read { .. }
            | Self::Query { .. }
            | Self::Rollback
            | Self::Track(_)
            | Self::Describe { .. }
            | Self::Parameters { .. }
            | Self::Parse { .. }
            | Self::Catalog
            | Self::Reset { .. } => false,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Head {
    pub columns: Vec<Column>,
    /// All rows are in this frame.
    pub ended: bool,
    /// The rows are what a write returned.
    pub returning: bool,
    /// Behind the rows the child makes the session as a new one, or ends it.
    pub resets: bool,
    pub plan: Option<PlanSource>,
}

/// Where the engine's plan of a statement is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanSource {
    /// It was kept, from when the text came before.
    Kept,
    /// It was made, of a text whose plan may be kept.
    Made,
    /// It was made, and is of this run alone.
    NotKept,
}

impl PlanSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Made => "made",
            Self::NotKept => "not_kept",
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Done {
    pub rows: u64,
    /// Tables or schemas may look different from now on.
    pub definitions: bool,
    /// Behind this the child makes the session as a new one, or ends it.
    pub resets: bool,
    /// Of a statement.
    pub plan: Option<PlanSource>,
}

/// A column of an answer or a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    /// As the engine names it: `BIGINT`, `DECIMAL(12,2)`, `TIMESTAMP WITH TIME ZONE`.
    pub type_name: String,
    pub nullable: bool,
}

/// What a statement would answer with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shape {
    pub columns: Vec<Column>,
    /// An Arrow IPC stream without rows, as hex; none while a type waits for its parameter.
    pub schema: Option<String>,
}

/// What the engine's own parser found. None means that it cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parsed {
    /// As they are written, without names that a `WITH` makes, without the target for INSERT; for
    /// UPDATE, DELETE and MERGE those its plan reads; none for definitions.
    pub tables: Option<Vec<String>>,
    /// Functions by their engine name, operators left out; none for anything but a query.
    pub functions: Option<Vec<String>>,
}

/// A row of the write-ahead log in `raw._svc_dirty.changes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Change {
    pub query_id: String,
    pub table: String,
    pub operation: String,
    pub rows: u64,
    pub snapshot: String,
    pub at_micros: i64,
}
