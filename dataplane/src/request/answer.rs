//! The answer of a statement: a schema and a stream of batches, never a materialised result.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use contract::QueryId;
use contract::report::MicroCredits;
use engine::RowMessage;
use futures::Stream;
use futures::stream::BoxStream;

use crate::Error;
use crate::encode::column::Column;
use crate::request::as_of::AsOf;

/// The answer to one [`crate::Ask`]. Dropping `rows` early ends the statement; either way the
/// query is metered and audited with what was really delivered.
#[derive(Debug)]
pub struct Answer {
    pub query_id: QueryId,
    pub columns: Vec<Column>,
    pub schema: SchemaRef,
    pub command: Command,
    /// Rows a write changed; `None` for a read.
    pub changed: Option<u64>,
    /// Bare names, first appearance first.
    pub columns_masked: Vec<String>,
    pub warnings: Vec<String>,
    /// Set if it is the answer to another text than was asked.
    pub healed: Option<Healed>,
    pub cache_hit: bool,
    /// What decided its rows, where no more than some were asked for and it is known.
    pub as_of: Option<AsOf>,
    /// Set if it was given before, and is given again.
    pub replayed: Option<Replayed>,
    pub transpilation_ms: f64,
    pub rows: Rows,
}

/// The answer of a statement that was run before, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// There were rows.
    pub rows_withheld: bool,
}

/// A statement that failed, corrected and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Healed {
    /// The text that ran.
    pub sql: String,
    /// What was corrected, in words: the first of the warnings.
    pub how: String,
}

/// Of the schema of an Arrow answer: what was corrected before it was made.
pub const HEALED: &str = "sluice.healed";

impl Healed {
    /// The schema of an answer that says so before its rows.
    pub(crate) fn marked(&self, schema: &SchemaRef) -> SchemaRef {
        let mut metadata = schema.metadata().clone();
        metadata.insert(HEALED.to_owned(), self.how.clone());
        SchemaRef::new(schema.as_ref().clone().with_metadata(metadata))
    }

    /// What was corrected, as a header may say it: what is not visible in ASCII is percent-encoded.
    pub fn header(&self) -> String {
        use std::fmt::Write;
        let mut out = String::with_capacity(self.how.len());
        for byte in self.how.bytes() {
            match byte {
                b'%' => out.push_str("%25"),
                b' '..=b'~' => out.push(char::from(byte)),
                _ => {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
        out
    }
}

/// The description of a statement before it runs.
#[derive(Debug, Clone)]
pub struct Description {
    /// The type of each parameter, as the engine names it.
    pub parameters: Vec<String>,
    pub columns: Vec<Column>,
    /// The same in Arrow; none while a type waits for the value of its parameter.
    pub schema: Option<SchemaRef>,
    pub command: Command,
}

/// Known when the stream has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Rows delivered, or changed.
    pub row_count: u64,
    pub execution_time_ms: f64,
    pub micro_credits: MicroCredits,
    /// There were more rows than were asked for.
    pub truncated: bool,
}

impl Totals {
    /// A JSON number with at most six decimals.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 micro-credits for one query")]
    pub fn credits_consumed(&self) -> f64 {
        self.micro_credits as f64 / contract::report::CREDIT as f64
    }
}

/// The kind of a statement that ran, with the word of PostgreSQL's command tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    /// Counts the rows it made, as a SELECT does.
    CreateTableAs,
    /// Everything else, by its tag: `CREATE TABLE`.
    Other(&'static str),
}

impl Command {
    /// The command tag that ends the statement on the PostgreSQL wire.
    pub fn tag(self, rows: u64) -> String {
        match self {
            Self::Select | Self::CreateTableAs => format!("SELECT {rows}"),
            Self::Insert => format!("INSERT 0 {rows}"),
            Self::Update => format!("UPDATE {rows}"),
            Self::Delete => format!("DELETE {rows}"),
            Self::Merge => format!("MERGE {rows}"),
            Self::Other(tag) => tag.to_owned(),
        }
    }
}

/// Files that the rows of a statement go into, for its entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenFiles {
    /// The text that asked for them, of which the statement that ran is a part.
    pub sql: String,
    /// Of the stage, as policies have it.
    pub stage: String,
    /// Path and bytes of each.
    pub files: Vec<(String, u64)>,
}

/// The end of a statement whose rows go into files: it is in the log before the files are there.
pub(crate) trait HeldEnd: fmt::Debug + Send + Sync {
    /// Puts what is written in the log, if whoever asked may still ask.
    fn record(&self, written: &WrittenFiles) -> Result<(), Error>;
    /// The files are there.
    fn complete(&self);
}

/// State that the stream of an answer shares with its protocol.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Set by the stream when it ends, fails or is dropped.
    pub totals: OnceLock<Totals>,
    /// Why the protocol could not send the rows that it was given.
    pub unsent: OnceLock<Error>,
    /// Set where the end waits for files that the rows go into.
    pub held: OnceLock<Box<dyn HeldEnd>>,
    /// Rows that the protocol was given and did not hand on.
    kept_back: AtomicU64,
    /// The protocol sends rows on as they came, where they can be.
    takes_messages: AtomicBool,
    /// The rows that were given last, and the message that they came as.
    came: Mutex<Option<(RecordBatch, RowMessage)>>,
}

impl Account {
    /// The rows that are given now came as this message.
    pub fn came(&self, batch: &RecordBatch, message: Option<RowMessage>) {
        if self.takes_messages.load(Ordering::Acquire) {
            let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
            *came = message.map(|message| (batch.clone(), message));
        }
    }

    pub fn kept_back(&self) -> u64 {
        self.kept_back.load(Ordering::Acquire)
    }
}

/// The batches of one answer.
pub struct Rows {
    /// Never locked: the mutex lets a protocol that holds rows be shared between threads.
    stream: Mutex<BoxStream<'static, Result<RecordBatch, Error>>>,
    account: Arc<Account>,
}

impl Rows {
    pub(crate) fn new(
        stream: impl Stream<Item = Result<RecordBatch, Error>> + Send + 'static,
        account: Arc<Account>,
    ) -> Self {
        Self { stream: Mutex::new(Box::pin(stream)), account }
    }

    /// Known once the stream has given its end or an error; zeros before.
    pub fn totals(&self) -> Totals {
        self.account.totals.get().copied().unwrap_or_default()
    }

    /// Rows that were given and are not handed on, said before more are asked for: nobody is billed for them.
    pub(crate) fn keep_back(&self, rows: u64) {
        self.account.kept_back.fetch_add(rows, Ordering::AcqRel);
    }

    /// Asks for the messages that rows come as, before the first are asked for.
    pub(crate) fn take_messages(&self) {
        self.account.takes_messages.store(true, Ordering::Release);
    }

    /// The message that these rows, which were given last, came as; none where they are to be encoded.
    pub(crate) fn message_of(&self, batch: &RecordBatch) -> Option<RowMessage> {
        let (given, message) = self.account.came.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (given, asked) = (given.columns(), batch.columns());
        let is_it = !asked.is_empty()
            && given.len() == asked.len()
            && given.iter().zip(asked).all(|(one, other)| Arc::ptr_eq(one, other));
        is_it.then_some(message)
    }

    /// The end of the statement, where it waits for files that the rows go into.
    pub(crate) fn held(&self) -> Option<&dyn HeldEnd> {
        self.account.held.get().map(|held| &**held)
    }

    /// The rows cannot be sent: dropped after this, they have failed, and not been given up.
    pub(crate) fn unsent(&self, error: Error) -> Error {
        let _ = self.account.unsent.set(error.clone());
        error
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll_next(cx)
    }
}

contract::opaque!(Rows);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_postgresql() {
        let tags =
            [Command::Select, Command::Insert, Command::Delete, Command::Other("CREATE TABLE")].map(|c| c.tag(3));
        assert_eq!(tags, ["SELECT 3", "INSERT 0 3", "DELETE 3", "CREATE TABLE"]);
    }

    #[test]
    fn a_header_says_what_was_corrected_in_ascii() {
        let healed = Healed { sql: String::new(), how: "healed: KÄSE was read as 100%\n".to_owned() };
        assert_eq!(healed.header(), "healed: K%C3%84SE was read as 100%25%0A");
    }

    #[test]
    fn credits_are_millionths() {
        let totals = Totals { micro_credits: 1_100_000, ..Totals::default() };
        assert!((totals.credits_consumed() - 1.1).abs() < 1e-9);
    }
}
