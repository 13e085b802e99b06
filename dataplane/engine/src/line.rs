//! A session's connection to the child: one request, one reply, and what happens when the child dies
//! in between.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::engine::Shared;
use crate::error::{Error, Kind};
use crate::frame::Outgoing;
use crate::message::{Change, Done, LentRequest, What, kind};
use crate::opened::LastHead;
use crate::process::{Line, Process};
use crate::session::step_ends;
use crate::turns::SessionPermit;
use crate::watchdog::{Cause, GONE};

/// The first frame of a reply.
pub enum Reply {
    Head(Bytes),
    Done(Done),
    Answer(Bytes),
    /// It was not run.
    Unsure,
}

impl Reply {
    pub fn done(self) -> Result<(), Error> {
        match self {
            Self::Done(_) => Ok(()),
            _ => Err(Error::internal("rows where none were expected")),
        }
    }

    pub fn answer<T: DeserializeOwned>(self) -> Result<T, Error> {
        match self {
            Self::Answer(payload) => serde_json::from_slice(&payload).map_err(Error::internal),
            _ => Err(Error::internal("no answer to a question")),
        }
    }

    pub fn definitions(&self) -> bool {
        matches!(self, Self::Done(Done { definitions: true, .. }))
    }
}

pub struct Connected {
    shared: Arc<Shared>,
    process: Arc<Process>,
    line: Line,
    statement: u64,
    state: State,
    transaction: Option<Transaction>,
    /// It has read, and changed rows, alone, and nothing of that failed or was given up.
    is_clean: bool,
    /// The child has made it as a new one, and nothing was asked since.
    is_reset: bool,
    pub last_head: Option<LastHead>,
    /// None while it waits for its next statement.
    permit: Option<SessionPermit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// The child works on `statement`, or its rows are not all read.
    Busy,
    /// The line cannot be used any more; the session can, after a rollback, if the engine can.
    Lost,
    /// As `Lost`, and the child is most likely dead.
    Crashed,
}

#[derive(Default)]
struct Transaction {
    wrote: bool,
    definitions: bool,
}

impl Connected {
    pub fn new(shared: Arc<Shared>, process: Arc<Process>, line: Line, permit: SessionPermit) -> Self {
        let (state, permit) = (State::Idle, Some(permit));
        let (is_clean, is_reset, last_head) = (true, false, None);
        Self { shared, process, line, statement: 0, state, transaction: None, is_clean, is_reset, last_head, permit }
    }

    /// Whether it is as a new one once it is reset.
    pub fn can_be_reset(&self) -> bool {
        self.is_clean && self.state == State::Idle && self.process.is_alive()
    }

    /// Makes it as a new one, or fails.
    pub async fn reset(&mut self) -> Result<(), Error> {
        self.permit = None;
        let open = self.transaction.is_some();
        self.ask(&What::Reset { open }, step_ends(), &CancellationToken::new()).await?.done()?;
        self.transaction = None;
        if self.can_be_reset() { Ok(()) } else { Err(Error::unavailable("the session is over")) }
    }

    /// The answer to its last question is read, and behind that the child makes it as a new one.
    pub fn was_reset(&mut self) {
        self.is_reset = true;
    }

    /// Its permit, where it is as a new one: it waits without more ado.
    pub fn waits(&mut self) -> Option<SessionPermit> {
        self.permit.take_if(|_| self.is_reset)
    }

    /// Its turn is over though it does not wait: its transaction goes on.
    pub fn ends_turn(&mut self) {
        if let Some(permit) = &mut self.permit {
            permit.end_turn();
        }
    }

    /// Takes it from among those that wait; not one whose process is over.
    pub fn taken(&mut self, permit: SessionPermit) -> Result<(), SessionPermit> {
        if !self.can_be_reset() {
            return Err(permit);
        }
        self.permit = Some(permit);
        Ok(())
    }

    pub fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    pub fn transaction_opened(&mut self) {
        self.transaction = Some(Transaction::default());
    }

    /// Whatever the outcome, the transaction is over. What depends on the catalog is told that it may have changed
    /// before the child is asked, and again when it has answered.
    pub async fn commit(&mut self, changes: Vec<Change>, deadline: Instant) -> Result<(), Error> {
        let Some(Transaction { wrote, definitions }) = &self.transaction else {
            return Err(Error::new(Kind::InvalidInput, "no transaction is open"));
        };
        let (wrote, defining) = (*wrote, definitions.then(|| self.shared.defining()));
        let outcome = self.ask(&What::Commit(changes), deadline, &CancellationToken::new()).await.and_then(Reply::done);
        // Whatever ended the child, it may have committed before: the end is what counts. One that was cut off at its
        // deadline is told as that too, and never as a statement that timed out and did nothing.
        let is_unknown = |error: &Error| error.is_lost() || (error.kind == Kind::Timeout && self.state == State::Lost);
        let outcome =
            outcome.map_err(|error| if is_unknown(&error) { Error { kind: Kind::Crashed, ..error } } else { error });
        self.transaction = None;
        if outcome.is_ok() && wrote {
            self.shared.wrote();
        }
        if self.state != State::Idle {
            // The child did not answer: it may be at it until it is killed.
            self.shared.spawn(async move {
                tokio::time::sleep(GONE).await;
                drop(defining);
            });
        }
        outcome
    }

    pub fn rolled_back(&mut self) {
        self.transaction = None;
    }

    pub fn wrote(&mut self, definitions: bool) {
        if let Some(transaction) = &mut self.transaction {
            transaction.wrote = true;
            transaction.definitions |= definitions;
        } else {
            self.shared.wrote();
            drop(definitions.then(|| self.shared.defining()));
        }
    }

    /// Waits while the child is most likely about to end because of somebody else's statement.
    pub async fn steady(&self) {
        self.process.steady().await;
    }

    pub fn snapshot(&self) -> String {
        self.process.snapshot()
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// As `ask`, and once more on a new line when the child died first. For what changes nothing.
    pub async fn again_if_lost(
        &mut self,
        what: &What,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Reply, Error> {
        match self.ask(what, deadline, cancel).await {
            Err(error) if error.is_lost() && self.transaction.is_none() => self.ask(what, deadline, cancel).await,
            other => other,
        }
    }

    /// Sends a request and waits for the first frame of its reply.
    ///
    /// A session whose reset behind an answer failed is over, and nobody is told. Its first request is sent once more,
    /// on a new line, unless that may commit by itself.
    pub async fn ask(&mut self, what: &What, deadline: Instant, cancel: &CancellationToken) -> Result<Reply, Error> {
        let was_reset = self.is_reset;
        match self.ask_once(what, deadline, cancel).await {
            Err(error) if was_reset && error.kind == Kind::Crashed && !what.may_commit() && self.process.is_alive() => {
                self.state = State::Lost; // the line alone: its process goes on
                self.ask_once(what, deadline, cancel).await
            }
            reply => reply,
        }
    }

    async fn ask_once(&mut self, what: &What, deadline: Instant, cancel: &CancellationToken) -> Result<Reply, Error> {
        self.ready(deadline).await?;
        self.is_clean &= what.leaves_nothing();
        self.is_reset = false;
        self.statement += 1;
        let request = LentRequest { statement: self.statement, what };
        let frame = Outgoing::json(kind::REQUEST, &request).map_err(Error::internal)?;
        self.process.watchdog.start(self.line.number, self.statement, self.line.lane.socket(), deadline);
        // From here on a dropped future leaves the line busy, and `drop` ends the statement.
        self.state = State::Busy;
        if let Err(error) = self.line.lane.send(frame).await {
            return Err(self.lost(is_closed(&error)).await);
        }
        let (kind, payload) = self.receive(cancel).await?;
        let reply = match kind {
            kind::HEAD => return Ok(Reply::Head(payload)),
            kind::DONE => return self.did(&payload),
            kind::ANSWER => Ok(Reply::Answer(payload)),
            kind::UNSURE => Ok(Reply::Unsure),
            _ => Err(Error::internal(format!("a frame of kind {kind}"))),
        };
        self.finish();
        reply
    }

    /// The statement is done, and has no rows.
    fn did(&mut self, payload: &[u8]) -> Result<Reply, Error> {
        self.finish();
        let done: Done = serde_json::from_slice(payload).map_err(Error::internal)?;
        self.is_clean &= !done.definitions;
        self.is_reset = done.resets;
        Ok(Reply::Done(done))
    }

    /// A line that can take a request, a new one if it was lost outside a transaction.
    async fn ready(&mut self, deadline: Instant) -> Result<(), Error> {
        match self.state {
            State::Idle => Ok(()),
            State::Busy => Err(Error::unavailable("the session's last statement was given up")),
            State::Lost | State::Crashed if self.transaction.is_some() => {
                Err(Error::unavailable("the transaction is lost; roll it back"))
            }
            State::Lost | State::Crashed => {
                let dead = (self.state == State::Crashed).then_some(&self.process);
                (self.process, self.line) = self.shared.line(deadline, dead).await?;
                self.statement = 0;
                self.state = State::Idle;
                Ok(())
            }
        }
    }

    /// The next frame of the current statement; a failure of it, or of the child, is an error.
    pub async fn receive(&mut self, cancel: &CancellationToken) -> Result<(u8, Bytes), Error> {
        let frame = tokio::select! {
            biased;
            frame = self.line.lane.receive() => frame,
            () = cancel.cancelled() => {
                self.process.watchdog.cancel(self.line.number, Instant::now());
                self.line.lane.receive().await
            }
        };
        match frame {
            Ok(Some((kind::FAILED, payload))) => Err(self.failed(&payload)),
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(self.lost(true).await),
            Err(error) => Err(self.lost(is_closed(&error)).await),
        }
    }

    /// All frames of the statement are read.
    pub fn finish(&mut self) -> Option<Cause> {
        self.state = State::Idle;
        self.line.lane.release();
        let cause = self.process.watchdog.finish(self.line.number);
        self.is_clean &= cause.is_none();
        cause
    }

    /// Ends the statement and reads what is left of it.
    pub async fn drain(&mut self) {
        if self.state == State::Busy {
            self.process.watchdog.cancel(self.line.number, Instant::now());
        }
        let never = CancellationToken::new();
        while self.state == State::Busy {
            if let Ok((kind::END, _)) = self.receive(&never).await {
                self.finish();
            }
        }
    }

    fn failed(&mut self, payload: &[u8]) -> Error {
        self.is_clean = false;
        let cause = self.finish();
        let error: Error = serde_json::from_slice(payload).unwrap_or_else(Error::internal);
        match (error.kind, cause) {
            (Kind::Interrupted, Some(Cause::Deadline)) => Error { kind: Kind::Timeout, ..error },
            (Kind::Fatal, _) => {
                self.state = State::Crashed; // the child ends itself behind this answer
                error
            }
            _ => error,
        }
    }

    /// As `lose`; of a child that died, whether it was its memory.
    async fn lost(&mut self, is_closed: bool) -> Error {
        match self.lose(is_closed) {
            error if error.kind == Kind::Crashed && self.process.starved().await => {
                Error::new(Kind::Starved, "the engine process ended: it kept too much in memory")
            }
            error => error,
        }
    }

    /// The line broke: the child died, or the watchdog cut it, or the child closed the session.
    fn lose(&mut self, is_closed: bool) -> Error {
        self.is_clean = false;
        let cause = self.process.watchdog.abandon(self.line.number, Instant::now());
        if is_closed && cause.is_none() {
            // It runs nothing any more. That it is over the child may have said before this request was watched.
            self.process.watchdog.finish(self.line.number);
        }
        self.state = if cause.is_some() { State::Lost } else { State::Crashed };
        match cause {
            Some(Cause::Deadline) => Error::new(Kind::Timeout, "the statement did not end at its deadline"),
            Some(Cause::Caller) => Error::new(Kind::Interrupted, "the statement was cancelled"),
            None => Error::new(Kind::Crashed, "the engine process ended"),
        }
    }
}

/// Whether an error of a line says that the other side has closed it.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl Drop for Connected {
    fn drop(&mut self) {
        if self.state == State::Busy {
            self.process.watchdog.abandon(self.line.number, Instant::now());
        }
    }
}
