//! What can go wrong here, and the row of the code table that says so.
//!
//! Messages are written for the caller. The engine's own text never is one: it may hold values of
//! hidden rows, names of hidden tables or policy text, so it is mapped by class and dropped.

mod advice;
mod attached;
mod class;
mod file;
mod hint;
mod particulars;
mod stage_file;
mod statement;

use std::time::Duration;

use contract::{Code, Lack, Timestamp};

use class::{engine_code, engine_message};
use statement::sql_code;

pub use attached::AttachedFault;
pub(crate) use class::TOO_MANY_TEXTS;
pub use hint::Hint;
pub use stage_file::StageFileFault;

/// Why a statement did not run, or did not run to its end.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The statement's text, or a construct in it.
    #[error("{0}")]
    Sql(sql::Error),
    /// A row that a write would make lies outside what the caller may see.
    #[error("a row does not pass the row filter of its table")]
    RowRefused,
    #[error(
        "a policy governs table {table}: while it is enabled the table is not altered, nor it or a ruled column \
         renamed unless a table of that name has the ruled columns at COMMIT, and none of them under another name"
    )]
    Governed { table: String },
    #[error("a policy hides rows of table {table} from you: you cannot drop or replace it")]
    Undroppable { table: String },
    /// The engine, by class.
    #[error("{}", engine_message(.0))]
    Engine(engine::Error),
    /// By one of several expressions; which one is chance.
    #[error("{}", Code::DataException.meaning())]
    DataException,
    /// A decimal on its way into a column that would round it.
    #[error("{digits} has more decimals than column {column} of type {holds} holds: declare it NUMERIC(p, s)")]
    Rounded { digits: String, column: String, holds: String },
    /// A column the caller wrote that no table in scope has.
    #[error("column {name} does not exist")]
    ColumnMissing { name: String },
    /// Something is not there; this is what there is.
    #[error("{error}{hint}")]
    Hinted { error: Box<Self>, hint: Box<Hint> },
    /// The caller does not stand (any more), or may not do such a thing at all.
    #[error("{}", .0.meaning())]
    Caller(Code),
    /// Their key or their role does not suffice.
    #[error("{0}")]
    Lacks(Lack),
    #[error("the organization asks for a second factor: sign in with one")]
    SecondFactorDue,
    #[error("{message}")]
    PolicyDenied { message: String },
    #[error("access to table {table} is denied by policy")]
    TableDenied { table: String },
    /// Of a branch that the caller knows by its id alone.
    #[error("the branch has tables that are denied to you: who may read all of them must do this")]
    DeniedOnBranch,
    #[error(
        "table {table} would be open on the mainline with rows that are hidden from others: write them there, not on a branch"
    )]
    OpenedOnBranch { table: String },
    #[error("the {what} is suspended")]
    Suspended { what: &'static str },
    #[error("{what} is not supported")]
    Unsupported { what: String },
    #[error("{message}")]
    InvalidParams { field: &'static str, message: String },
    /// An argument of a tool, by its name.
    #[error("{message}")]
    InvalidArgument { field: String, message: String },
    /// A file that is loaded, by its own fault.
    #[error("{}", file::refusal(.0))]
    FileRefused(engine::FileFault),
    /// A file of a stage, by its own fault.
    #[error("{}", file::staged_refusal(.path, .fault))]
    StagedFileRefused { path: String, fault: engine::FileFault },
    #[error("the file is larger than {} MiB, which is all that may be read at one time: send it in parts", .limit >> 20)]
    FileTooLarge { limit: u64 },
    /// A file of a stage.
    #[error("{0}")]
    StageFile(StageFileFault),
    /// A table of an attached database.
    #[error("{0}")]
    Attached(AttachedFault),
    #[error(
        "only statements that read are run here: run_sql, or a query without reads_only, takes one that changes something"
    )]
    ReadsOnly,
    /// What cannot be streamed must fit in memory.
    #[error("the answer is larger than {limit} bytes: ask for less, or read it where it is streamed")]
    AnswerTooLarge { limit: usize },
    /// What a client keeps here between its calls.
    #[error("too many {what}s are open: close some")]
    TooManyOpen { what: &'static str },
    #[error("there is no such {what}, or its time is over")]
    HandleNotFound { what: &'static str },
    /// Two pages would be of two answers.
    #[error("what the cursor goes on with is another answer now: {why}; ask again without it")]
    CursorOver { why: &'static str },
    /// Somebody else has made it.
    #[error("somebody else has made the {what}: who did, or the role developer or higher, may change or end it")]
    NotYours { what: &'static str },
    /// A key that was not made for an agent, of a role that keeps nothing in an agent's name.
    #[error(
        "what is kept for the agent `{agent_id}` takes a key that was made for it, or the role developer or higher: \
         without an agent's name it is kept for you"
    )]
    NotThatAgent { agent_id: String },
    #[error("there is no such memory")]
    MemoryNotFound,
    #[error("there is no such session")]
    SessionNotFound,
    /// It changed since its writer looked.
    #[error("the memory is at version {current}")]
    StaleMemory { current: i64 },
    #[error("there is no such trigger")]
    TriggerNotFound,
    #[error("the environment has {limit} triggers already")]
    TriggersFull { limit: usize },
    #[error("there is no such branch")]
    BranchNotFound,
    /// The mainline has it, and the caller may see it there.
    #[error(
        "table {table} is not on this branch, which has {}: ask for it without the branch, or make a branch that has it",
        listed(.has)
    )]
    NotOnBranch { table: String, has: Vec<String> },
    #[error("the branch is {status}")]
    BranchClosed { status: &'static str },
    /// However often the statement was judged again.
    #[error("tables of the statement are being made anew: try again")]
    Redefined,
    /// A client's transaction, of which other rules would make something else.
    #[error("the rules changed while the transaction was open, and some of it would not be the same now: run it again")]
    Rejudged,
    /// A temporary table of the connection: the rules that filled it are others, or the engine has started anew.
    #[error("temporary table {table} was dropped, because what filled it would not be the same now: make it again")]
    TemporaryGone { table: String },
    /// What was before a savepoint cannot be had again.
    #[error("another transaction has committed to what this one has read or written: run it again")]
    Overtaken,
    #[error(
        "a statement before the savepoint would not do the same again: it calls a volatile function, or follows a \
         sequence or the order of rows: run the whole transaction again"
    )]
    Unrepeatable,
    /// Of a stage, into the same table.
    #[error("another statement has loaded a file of the stage meanwhile: run it again")]
    LoadedMeanwhile,
    #[error("this `Idempotency-Key` was used with another body: use a new one for a new request")]
    KeyMismatch,
    #[error("the statement of this `Idempotency-Key` is still running: try again")]
    KeyInProgress,
    #[error("the branch is being written to: try again")]
    BranchBusy,
    #[error("table {table} has other columns now than the branch: there is nothing to compare it with")]
    Reshaped { table: String },
    #[error("a policy hides rows of table {table} from you: who sees all of them must do this")]
    HiddenOnBranch { table: String },
    #[error("the branch has changed masked columns of table {table}: who sees them must merge it")]
    MaskedOnBranch { table: String },
    /// Columns that were given for a branch, and tell rows apart no more.
    #[error(
        "({key}) does not tell the rows of table {table} apart on the {side} any more: remove NULLs and rows that are \
         there twice, and merge then"
    )]
    KeyBroken { table: String, side: &'static str, key: String },
    #[error("columns of table {table} are masked for you: who sees them must insert its rows on a branch")]
    FilledOnBranch { table: String },
    /// A branch has the tables that it was made with, as they were.
    #[error("{what} on a branch is not supported: define it on the mainline, a branch that is made afterwards has it")]
    DefinedOnBranch { what: &'static str },
    #[error("a branch can have at most {limit} {what}")]
    BranchTooLarge { what: &'static str, limit: u64 },
    #[error("the environment has {limit} branches already: merge or discard some")]
    BranchesFull { limit: usize },
    #[error("the environment remembers {limit} memories already: delete some")]
    MemoryFull { limit: usize },
    #[error("the organization knows {limit} agents already")]
    AgentsFull { limit: u32 },
    #[error("{field} names an agent that is not registered")]
    AgentNotRegistered { field: &'static str },
    #[error("too many queries run in this environment: try again")]
    ConcurrentLimit,
    #[error("too many keys are being checked: try again")]
    KeyChecksBusy,
    #[error(
        "the organization's credits for this month are used up, until {}: an owner can move it to a tier that has more",
        told(.until)
    )]
    QuotaExceeded { until: Timestamp },
    #[error("the answer has more than the {limit} rows that the organization's tier allows")]
    RowLimit { limit: u64 },
    #[error(
        "the agent's grant allows {limit} queries an hour: they are used up, until {}; an owner or admin can grant more",
        told(.until)
    )]
    HourlyLimit { limit: u64, until: Timestamp },
    #[error("the statement reads or changes more than the {limit} rows that the agent's grant allows")]
    GrantedRows { limit: u64 },
    #[error("the query ran longer than {} ms", .0.as_millis())]
    Timeout(Duration),
    /// They held a slot and a session of the engine.
    #[error("nobody has asked for the rows for {} s: ask again", .0.as_secs())]
    Unread(Duration),
    #[error("the query was cancelled")]
    Cancelled,
    #[error("the transaction has failed: only ROLLBACK is accepted")]
    FailedTransaction,
    /// The two parsers disagree about what the statement touches, or the output is not what the
    /// rewrite promised: refused, whatever the reason.
    #[error("the statement could not be verified")]
    Unverified { why: String },
    /// The local log does not take the entry that must precede the first byte.
    #[error("the query cannot be recorded now")]
    Unrecorded,
    /// The control plane has more rows than it gives.
    #[error("{message}")]
    RuntimeTooLarge { message: String },
    #[error("the data plane knows no policy to enforce yet")]
    NoGovernance,
    /// What only the control plane can do.
    #[error("the control plane is away: try again")]
    ControlPlaneAway,
    #[error("the engine is starting")]
    NotReady,
    #[error("the environment does not exist here")]
    OtherEnvironment,
    #[error("Arrow results need a tier that has them")]
    TierLimit,
    #[error("the organization stores all that its tier allows: {limit} GB")]
    StorageLimit { limit: u64 },
    #[error("the data plane is shutting down")]
    ShuttingDown,
}

impl From<sql::Error> for Error {
    fn from(error: sql::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Self::Engine(error)
    }
}

impl Error {
    /// The same without the class that tells which of a statement's expressions it was.
    pub(crate) fn of_any_expression(self) -> Self {
        match self.code() {
            _ if !matches!(&self, Self::Engine(error) if !error.message.contains(sql::CYCLE)) => self,
            Code::ConversionFailed
            | Code::ValueOutOfRange
            | Code::TextTooLong
            | Code::DivisionByZero
            | Code::InvalidArgument => Self::DataException,
            _ => self,
        }
    }

    #[expect(clippy::too_many_lines, reason = "every error has its code here, and there are many")]
    pub fn code(&self) -> Code {
        match self {
            Self::Sql(error) => sql_code(&error.kind),
            Self::Engine(error) => engine_code(error),
            Self::DataException => Code::DataException,
            Self::Rounded { .. } => Code::ValueOutOfRange,
            Self::ColumnMissing { .. } => Code::UndefinedColumn,
            Self::Hinted { error, .. } => error.code(),
            Self::Caller(code) => *code,
            Self::Lacks(lack) => lack.code(),
            Self::PolicyDenied { .. }
            | Self::OpenedOnBranch { .. }
            | Self::RowRefused
            | Self::HourlyLimit { .. }
            | Self::GrantedRows { .. }
            | Self::HiddenOnBranch { .. }
            | Self::FilledOnBranch { .. }
            | Self::MaskedOnBranch { .. } => Code::PolicyDenied,
            Self::Governed { .. }
            | Self::Undroppable { .. }
            | Self::BranchClosed { .. }
            | Self::BranchBusy
            | Self::KeyBroken { .. }
            | Self::KeyMismatch
            | Self::KeyInProgress
            | Self::CursorOver { .. }
            | Self::Reshaped { .. } => Code::Conflict,
            Self::TableDenied { .. } | Self::DeniedOnBranch => Code::TableDenied,
            Self::Suspended { .. }
            | Self::TierLimit
            | Self::StorageLimit { .. }
            | Self::NotYours { .. }
            | Self::NotThatAgent { .. }
            | Self::SecondFactorDue => Code::Forbidden,
            Self::Unsupported { .. } | Self::DefinedOnBranch { .. } => Code::UnsupportedSql,
            Self::InvalidParams { .. }
            | Self::InvalidArgument { .. }
            | Self::FileRefused(_)
            | Self::StagedFileRefused { .. } => Code::InvalidParams,
            Self::FileTooLarge { .. } => Code::BodyTooLarge,
            Self::StageFile(fault) => fault.code(),
            Self::Attached(fault) => fault.code(),
            Self::ReadsOnly => Code::ScopeViolation,
            Self::MemoryNotFound | Self::SessionNotFound | Self::HandleNotFound { .. } => Code::NotFound,
            Self::Redefined
            | Self::Rejudged
            | Self::TemporaryGone { .. }
            | Self::Overtaken
            | Self::Unrepeatable
            | Self::LoadedMeanwhile => Code::WriteConflict,
            Self::BranchNotFound => Code::BranchNotFound,
            Self::NotOnBranch { .. } => Code::TableNotFound,
            Self::TriggerNotFound => Code::TriggerNotFound,
            Self::AgentNotRegistered { .. } => Code::AgentNotRegistered,
            Self::StaleMemory { .. } => Code::Stale,
            Self::ConcurrentLimit | Self::TooManyOpen { .. } => Code::ConcurrentLimit,
            Self::QuotaExceeded { .. }
            | Self::RowLimit { .. }
            | Self::AnswerTooLarge { .. }
            | Self::RuntimeTooLarge { .. }
            | Self::MemoryFull { .. }
            | Self::BranchTooLarge { .. }
            | Self::BranchesFull { .. }
            | Self::AgentsFull { .. }
            | Self::TriggersFull { .. } => Code::QuotaExceeded,
            Self::Timeout(_) | Self::Unread(_) => Code::QueryTimeout,
            Self::Cancelled => Code::QueryCancelled,
            Self::FailedTransaction => Code::FailedTransaction,
            Self::Unverified { .. } => Code::TranspileFail,
            Self::Unrecorded | Self::NotReady | Self::KeyChecksBusy => Code::ServiceUnavailable,
            Self::NoGovernance | Self::ControlPlaneAway => Code::ControlPlaneDown,
            Self::OtherEnvironment => Code::EnvNotFound,
            Self::ShuttingDown => Code::ShuttingDown,
        }
    }

    /// How the query ended, for its audit entry.
    pub fn outcome(&self) -> contract::report::Outcome {
        use contract::report::Outcome;
        match self {
            Self::Hinted { error, .. } => error.outcome(),
            Self::Cancelled | Self::ShuttingDown => Outcome::Cancelled,
            Self::Engine(error) if error.kind == engine::Kind::Interrupted => Outcome::Cancelled,
            Self::Engine(_)
            | Self::ColumnMissing { .. }
            | Self::Timeout(_)
            | Self::Unread(_)
            | Self::RowLimit { .. } => Outcome::Failed,
            _ => Outcome::Refused,
        }
    }
}

/// Names, or that there are none.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "none that you may see".to_owned() } else { names.join(", ") }
}

/// A moment as every body has it.
fn told(moment: &Timestamp) -> String {
    moment.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_engines_text_is_shown() {
        let secret = engine::Error::new(engine::Kind::Conversion, "Could not convert string '078-05-1120' to INT32");
        let problem = Error::from(secret).problem();
        assert_eq!(problem.message, "a value cannot be converted to the type asked for");
        assert!(!format!("{:?}", problem.details).contains("078"));
    }

    #[test]
    fn the_callers_data_errors_are_not_engine_failures() {
        for kind in [engine::Kind::Conversion, engine::Kind::DivideByZero, engine::Kind::OutOfRange] {
            assert_eq!(Error::from(engine::Error::new(kind, "")).code().http(), 400, "{kind:?}");
        }
    }
}
