//! Errors of the data plane, and the row of the code table of each.
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

use contract::{Code, MissingPermission, Timestamp};

use class::{engine_code, engine_message};
use statement::sql_code;

pub use attached::AttachedFault;
pub(crate) use class::TOO_MANY_TEXTS;
pub use hint::Hint;
pub use stage_file::StageFileFault;

contract::coded! {
    /// Why a statement did not run, or did not run to its end.
    #[derive(Debug, Clone, thiserror::Error)]
    pub enum Error {
        /// The statement's text, or a construct in it.
        #[error("{0}")]
        Sql(#[from] sql::Error),
        /// A row that a write would make lies outside what the caller may see.
        #[error("a row does not pass the row filter of its table")]
        RowRefused => PolicyDenied,
        #[error(
            "a policy governs table {table}: while it is enabled the table is not altered, nor it or a ruled column \
             renamed unless a table of that name has the ruled columns at COMMIT, and none of them under another name"
        )]
        Governed { table: String } => Conflict,
        #[error("a policy hides rows of table {table} from you: you cannot drop or replace it")]
        Undroppable { table: String } => Conflict,
        /// The engine, by class.
        #[error("{}", engine_message(.0))]
        Engine(engine::Error),
        /// By one of several expressions; which one is chance.
        #[error("{}", Code::DataException.meaning())]
        DataException => DataException,
        /// A decimal on its way into a column that would round it.
        #[error("{digits} has more decimals than column {column} of type {holds} holds: declare it NUMERIC(p, s)")]
        Rounded { digits: String, column: String, holds: String } => ValueOutOfRange,
        /// A column the caller wrote that no table in scope has.
        #[error("column {name} does not exist")]
        ColumnMissing { name: String } => UndefinedColumn,
        /// Something is not there; this is what there is.
        #[error("{error}{hint}")]
        Hinted { error: Box<Self>, hint: Box<Hint> },
        /// The caller does not stand (any more), or may not do such a thing at all.
        #[error("{}", .0.meaning())]
        Caller(Code),
        /// Their key or their role does not suffice.
        #[error("{0}")]
        Lacks(MissingPermission),
        #[error("the organization asks for a second factor: sign in with one")]
        SecondFactorDue => Forbidden,
        #[error("{message}")]
        PolicyDenied { message: String } => PolicyDenied,
        #[error("access to table {table} is denied by policy")]
        TableDenied { table: String } => TableDenied,
        /// Of a branch that the caller knows by its id alone.
        #[error("the branch has tables that are denied to you: who may read all of them must do this")]
        DeniedOnBranch => TableDenied,
        #[error(
            "table {table} would be open on the mainline with rows that are hidden from others: write them there, not on a branch"
        )]
        OpenedOnBranch { table: String } => PolicyDenied,
        #[error("the {what} is suspended")]
        Suspended { what: &'static str } => Forbidden,
        #[error("{what} is not supported")]
        Unsupported { what: String } => UnsupportedSql,
        #[error("{message}")]
        InvalidParams { field: &'static str, message: String } => InvalidParams,
        /// An argument of a tool, by its name.
        #[error("{message}")]
        InvalidArgument { field: String, message: String } => InvalidParams,
        /// A file that is loaded, by its own fault.
        #[error("{}", file::refusal(.0))]
        FileRefused(engine::FileFault) => InvalidParams,
        /// A file of a stage, by its own fault.
        #[error("{}", file::staged_refusal(.path, .fault))]
        StagedFileRefused { path: String, fault: engine::FileFault } => InvalidParams,
        #[error("the file is larger than {} MiB, which is all that may be read at one time: send it in parts", .limit >> 20)]
        FileTooLarge { limit: u64 } => BodyTooLarge,
        /// A file of a stage.
        #[error("{0}")]
        StageFile(#[from] StageFileFault),
        /// A table of an attached database.
        #[error("{0}")]
        Attached(#[from] AttachedFault),
        #[error(
            "only statements that read are run here: run_sql, or a query without reads_only, takes one that changes something"
        )]
        ReadsOnly => ScopeViolation,
        /// An answer that cannot be streamed must fit in memory.
        #[error("the answer is larger than {limit} bytes: ask for less, or read it where it is streamed")]
        AnswerTooLarge { limit: usize } => QuotaExceeded,
        /// What a client keeps here between its calls.
        #[error("too many {what}s are open: close some")]
        TooManyOpen { what: &'static str } => ConcurrentLimit,
        #[error("there is no such {what}, or its time is over")]
        HandleNotFound { what: &'static str } => NotFound,
        /// Two pages would be of two answers.
        #[error("what the cursor goes on with is another answer now: {why}; ask again without it")]
        CursorOver { why: &'static str } => Conflict,
        /// Somebody else has made it.
        #[error("somebody else has made the {what}: who did, or the role developer or higher, may change or end it")]
        NotYours { what: &'static str } => Forbidden,
        /// A key that was not made for an agent, of a role that keeps nothing in an agent's name.
        #[error(
            "what is kept for the agent `{agent_id}` takes a key that was made for it, or the role developer or higher: \
             without an agent's name it is kept for you"
        )]
        NotThatAgent { agent_id: String } => Forbidden,
        #[error("there is no such memory")]
        MemoryNotFound => NotFound,
        #[error("there is no such session")]
        SessionNotFound => NotFound,
        /// It changed since its writer looked.
        #[error("the memory is at version {current}")]
        StaleMemory { current: i64 } => Stale,
        #[error("there is no such trigger")]
        TriggerNotFound => TriggerNotFound,
        #[error("the environment has {limit} triggers already")]
        TriggersFull { limit: usize } => QuotaExceeded,
        #[error("there is no such branch")]
        BranchNotFound => BranchNotFound,
        /// The mainline has it, and the caller may see it there.
        #[error(
            "table {table} is not on this branch, which has {}: ask for it without the branch, or make a branch that has it",
            listed(.has)
        )]
        NotOnBranch { table: String, has: Vec<String> } => TableNotFound,
        #[error("the branch is {status}")]
        BranchClosed { status: &'static str } => Conflict,
        /// However often the statement was judged again.
        #[error("tables of the statement are being made anew: try again")]
        Redefined => WriteConflict,
        /// A client's transaction, of which other rules would make something else.
        #[error("the rules changed while the transaction was open, and some of it would not be the same now: run it again")]
        Rejudged => WriteConflict,
        /// A temporary table of the connection: the rules that filled it are others, or the engine has started anew.
        #[error("temporary table {table} was dropped, because what filled it would not be the same now: make it again")]
        TemporaryGone { table: String } => WriteConflict,
        /// Nothing leads back to before a savepoint.
        #[error("another transaction has committed to what this one has read or written: run it again")]
        Overtaken => WriteConflict,
        #[error(
            "a statement before the savepoint would not do the same again: it calls a volatile function, or follows a \
             sequence or the order of rows: run the whole transaction again"
        )]
        Unrepeatable => WriteConflict,
        /// Of a stage, into the same table.
        #[error("another statement has loaded a file of the stage meanwhile: run it again")]
        LoadedMeanwhile => WriteConflict,
        #[error("this `Idempotency-Key` was used with another body: use a new one for a new request")]
        KeyMismatch => Conflict,
        #[error("the statement of this `Idempotency-Key` is still running: try again")]
        KeyInProgress => Conflict,
        #[error("the branch is being written to: try again")]
        BranchBusy => Conflict,
        #[error("table {table} has other columns now than the branch: there is nothing to compare it with")]
        Reshaped { table: String } => Conflict,
        #[error("a policy hides rows of table {table} from you: who sees all of them must do this")]
        HiddenOnBranch { table: String } => PolicyDenied,
        #[error("the branch has changed masked columns of table {table}: who sees them must merge it")]
        MaskedOnBranch { table: String } => PolicyDenied,
        /// Columns that were given for a branch, and tell rows apart no more.
        #[error(
            "({key}) does not tell the rows of table {table} apart on the {side} any more: remove NULLs and rows that are \
             there twice, and merge then"
        )]
        KeyBroken { table: String, side: &'static str, key: String } => Conflict,
        #[error("columns of table {table} are masked for you: who sees them must insert its rows on a branch")]
        FilledOnBranch { table: String } => PolicyDenied,
        /// A branch has the tables that it was made with, as they were.
        #[error("{what} on a branch is not supported: define it on the mainline, a branch that is made afterwards has it")]
        DefinedOnBranch { what: &'static str } => UnsupportedSql,
        #[error("a branch can have at most {limit} {what}")]
        BranchTooLarge { what: &'static str, limit: u64 } => QuotaExceeded,
        #[error("the environment has {limit} branches already: merge or discard some")]
        BranchesFull { limit: usize } => QuotaExceeded,
        #[error("the environment remembers {limit} memories already: delete some")]
        MemoryFull { limit: usize } => QuotaExceeded,
        #[error("the organization knows {limit} agents already")]
        AgentsFull { limit: u32 } => QuotaExceeded,
        #[error("{field} names an agent that is not registered")]
        AgentNotRegistered { field: &'static str } => AgentNotRegistered,
        #[error("too many queries run in this environment: try again")]
        ConcurrentLimit => ConcurrentLimit,
        #[error("too many keys are being checked: try again")]
        KeyChecksBusy => ServiceUnavailable,
        #[error(
            "the organization's credits for this month are used up, until {}: an owner can move it to a tier that has more",
            told(.until)
        )]
        QuotaExceeded { until: Timestamp } => QuotaExceeded,
        #[error("the answer has more than the {limit} rows that the organization's tier allows")]
        RowLimit { limit: u64 } => QuotaExceeded,
        #[error(
            "the agent's grant allows {limit} queries an hour: they are used up, until {}; an owner or admin can grant more",
            told(.until)
        )]
        HourlyLimit { limit: u64, until: Timestamp } => PolicyDenied,
        #[error("the statement reads or changes more than the {limit} rows that the agent's grant allows")]
        GrantedRows { limit: u64 } => PolicyDenied,
        #[error("the query ran longer than {} ms", .0.as_millis())]
        Timeout(Duration) => QueryTimeout,
        /// They held a slot and a session of the engine.
        #[error("nobody has asked for the rows for {} s: ask again", .0.as_secs())]
        Unread(Duration) => QueryTimeout,
        #[error("the query was cancelled")]
        Cancelled => QueryCancelled,
        #[error("the transaction has failed: only ROLLBACK is accepted")]
        FailedTransaction => FailedTransaction,
        /// The two parsers disagree about what the statement touches, or the output is not what the
        /// rewrite promised: refused, whatever the reason.
        #[error("the statement could not be verified")]
        Unverified { why: String } => TranspileFail,
        /// The local log does not take the entry that must precede the first byte.
        #[error("the query cannot be recorded now")]
        Unrecorded => ServiceUnavailable,
        /// The control plane has more rows than it gives.
        #[error("{message}")]
        RuntimeTooLarge { message: String } => QuotaExceeded,
        #[error("the data plane knows no policy to enforce yet")]
        NoGovernance => ControlPlaneDown,
        /// What only the control plane can do.
        #[error("the control plane is away: try again")]
        ControlPlaneAway => ControlPlaneDown,
        #[error("the engine is starting")]
        NotReady => ServiceUnavailable,
        #[error("the environment does not exist here")]
        OtherEnvironment => EnvNotFound,
        #[error("Arrow results need a tier that has them")]
        TierLimit => Forbidden,
        #[error("the organization may store {limit} GB by its tier, which has no room for this: remove what is not needed")]
        StorageLimit { limit: u64 } => Forbidden,
        #[error("the data plane is shutting down")]
        ShuttingDown => ShuttingDown,
    }

    Self::Sql(error) => sql_code(&error.kind),
    Self::Engine(error) => engine_code(error),
    Self::Hinted { error, .. } => error.code(),
    Self::Caller(code) => *code,
    Self::Lacks(lack) => lack.code(),
    Self::StageFile(fault) => fault.code(),
    Self::Attached(fault) => fault.code(),
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
