//! Rows leave as they are asked for; metering and audit follow the last of them.
//!
//! What is not asked for is not kept for ever: until its end a query holds a slot of stage 1 and a session of the
//! engine, which one caller's forgotten cursors must not take from all others.

mod even_batches;
mod unread;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use contract::report::Outcome;
use engine::RowMessage;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use super::Result;
use super::result_cache::Ticket;
use super::stages::audit::Closing;
use super::stages::execute;
use super::stages::mask::RowsMax;
use super::stages::quota::Reservation;
use super::stages::semaphore::Slot;
use crate::Error;
use crate::request::answer::{Account, HeldEnd, Totals, WrittenFiles};
use crate::request::ask::Outlet;
use crate::request::trail::{Stage, millis};
use even_batches::EvenBatches;
use unread::UnreadPlace;

pub use unread::UnreadAnswers;

/// How long rows wait for whoever asked, and a transaction for its next statement: longer than anybody reads a page.
pub const UNREAD_FOR: Duration = Duration::from_mins(15);

/// Rows on their way to whoever asked, and the end of their query.
pub(super) struct RowDelivery(Arc<Mutex<Flow>>);

/// Rows, and the message that they came as.
type GivenRows = (RecordBatch, Option<RowMessage>);

/// The next rows, an error in their place, or nothing behind the last.
type NextRows = Option<std::result::Result<GivenRows, engine::Error>>;

/// The last batches of a query and what is due after them.
struct Flow {
    first: VecDeque<RecordBatch>,
    rest: Option<BoxStream<'static, std::result::Result<GivenRows, engine::Error>>>,
    /// Set where a filter hides rows: what is read of both waits there.
    even: Option<EvenBatches>,
    fails_anyhow: bool,
    changed: Option<u64>,
    delivered: u64,
    /// Rows that the organization's tier allows.
    limit: Option<RowsMax>,
    /// Rows that the caller wants, and whether there were more.
    wanted: Option<u64>,
    truncated: bool,
    /// Its end waits for files that the rows go into.
    holds_end: bool,
    began: Instant,
    place: Option<Ticket>,
    /// Since when the caller has had the next batch to ask for.
    unread_since: Option<Instant>,
    given_up: Option<Error>,
    watch: Option<UnreadPlace>,
    end: Option<QueryEnd>,
}

struct QueryEnd {
    closing: Closing,
    reservation: Reservation,
    account: Arc<Account>,
    /// Held until the last row has left.
    slot: Slot,
}

impl RowDelivery {
    /// Hands out what stage 13 let through, no more than `limit` rows of it.
    pub fn begin(
        closing: Closing,
        rows: execute::UnmaskedRows,
        limit: Option<RowsMax>,
        slot: Slot,
        account: Arc<Account>,
    ) -> Self {
        let bounds = closing.query().ask.bounds;
        let (wanted, held) = (bounds.rows, Arc::clone(&account));
        let holds_end = bounds.outlet == Some(Outlet::Files);
        let end = QueryEnd { closing, reservation: rows.reservation, account, slot };
        let flow = Flow {
            first: rows.first,
            rest: rows.rest.map(|rest| rest.into_stream().boxed()),
            even: rows.hides_rows.then(EvenBatches::default),
            fails_anyhow: rows.fails_anyhow,
            changed: rows.changed,
            delivered: 0,
            limit: limit.filter(|_| rows.changed.is_none()),
            wanted,
            truncated: false,
            holds_end,
            began: rows.began,
            place: rows.place,
            unread_since: Some(Instant::now()),
            given_up: None,
            watch: None,
            end: Some(end),
        };
        let holds_engine = flow.rest.is_some();
        let flow = Arc::new(Mutex::new(flow));
        if holds_end {
            let _ = held.held.set(Box::new(HeldFlow(Arc::downgrade(&flow))));
        }
        if holds_engine {
            let mut locked = lock(&flow);
            let place = locked.end.as_ref().map(|end| {
                let pipeline = end.closing.pipeline();
                pipeline.unread.watch(Arc::downgrade(&flow), pipeline.unread_for, &pipeline.closed)
            });
            locked.watch = place;
        }
        Self(flow)
    }
}

/// The end of a query whose rows have gone into files.
#[derive(Debug)]
struct HeldFlow(Weak<Mutex<Flow>>);

impl HeldEnd for HeldFlow {
    fn record(&self, written: &WrittenFiles) -> Result<()> {
        let flow = self.0.upgrade().ok_or(Error::Unrecorded)?;
        let flow = lock(&flow);
        let end = flow.end.as_ref().ok_or(Error::Unrecorded)?;
        end.closing.stands()?;
        end.closing.wrote(written)
    }

    fn complete(&self) {
        if let Some(flow) = self.0.upgrade() {
            lock(&flow).close(Outcome::Completed, None);
        }
    }
}

fn lock(flow: &Mutex<Flow>) -> MutexGuard<'_, Flow> {
    flow.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flow {
    /// Lets go of the engine and the slot where its caller has not come for the rows for so long: none then, else the
    /// moment by which that would be so.
    fn given_up_or_due(&mut self, patience: Duration, now: Instant) -> Option<Instant> {
        self.end.as_ref()?;
        let since = self.unread_since.unwrap_or(now);
        if now.duration_since(since) < patience {
            return Some(since + patience);
        }
        self.given_up = Some(Error::Unread(patience));
        self.close(Outcome::Failed, Some(&Error::Unread(patience)));
        None
    }

    /// A key that is revoked, or a user who is suspended, gets no more rows; what a write returns is done already.
    fn to_whom_it_may(&self) -> Result<()> {
        match &self.end {
            Some(end) if self.changed.is_none() => end.closing.stands(),
            _ => Ok(()),
        }
    }

    fn counted(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = self.cut(batch);
        let delivered = self.delivered.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
        if let Some(limit) = self.limit {
            limit.admits(delivered)?;
        }
        self.delivered = delivered;
        if let Some(place) = &mut self.place {
            place.add(&batch);
        }
        Ok(batch)
    }

    /// What is still wanted of it; the engine is let go where that is not all.
    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(wanted) = self.wanted else { return batch };
        let left = usize::try_from(wanted.saturating_sub(self.delivered)).unwrap_or(usize::MAX);
        if batch.num_rows() <= left {
            return batch;
        }
        self.truncated = true;
        self.place = None;
        self.let_go();
        batch.slice(0, left)
    }

    /// No more rows are given.
    fn let_go(&mut self) {
        self.first.clear();
        (self.rest, self.even) = (None, None);
    }

    /// Meters and audits, once; the engine's side is let go first.
    fn close(&mut self, outcome: Outcome, error: Option<&Error>) {
        let Some(QueryEnd { mut closing, reservation, account, slot: _slot }) = self.end.take() else { return };
        drop(self.watch.take());
        self.let_go();
        let took = self.began.elapsed();
        let delivered = self.delivered.saturating_sub(account.kept_back());
        let rows = self.changed.unwrap_or(delivered);
        let charged = closing.trail().now(Stage::Meter, || reservation.settle(closing.due(delivered)));
        let _ = account.totals.set(Totals {
            row_count: rows,
            execution_time_ms: millis(took),
            micro_credits: charged,
            truncated: self.truncated,
        });
        if outcome == Outcome::Completed {
            closing.noticed();
        }
        closing.close(outcome, error, rows, charged, took);
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<RecordBatch>>> {
        self.close(error.outcome(), Some(&error));
        Poll::Ready(Some(Err(error)))
    }

    /// The next rows, as they are made or in batches of one size.
    fn next_rows(&mut self, cx: &mut Context<'_>) -> Poll<NextRows> {
        loop {
            if let Some(full) = self.even.as_mut().and_then(EvenBatches::full) {
                return Poll::Ready(Some(full.map(|batch| (batch, None))));
            }
            let next = match (self.first.pop_front(), &mut self.rest) {
                (Some(batch), _) => Some(Ok((batch, None))),
                (None, Some(rest)) => match rest.poll_next_unpin(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(next) => next,
                },
                (None, None) => None,
            };
            match (next, &mut self.even) {
                (Some(Ok((batch, _))), Some(even)) => even.add(batch),
                (None, Some(even)) => {
                    self.rest = None; // it is not asked again behind its end
                    return Poll::Ready(even.last().map(|last| last.map(|batch| (batch, None))));
                }
                (next, _) => return Poll::Ready(next),
            }
        }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        self.unread_since = None;
        if self.end.is_none() {
            return Poll::Ready(self.given_up.take().map(Err));
        }
        let Poll::Ready(next) = self.next_rows(cx) else { return Poll::Pending };
        match next {
            Some(Ok((batch, message))) => match self.to_whom_it_may().and_then(|()| self.counted(batch)) {
                Ok(batch) => {
                    if let Some(end) = &self.end {
                        // of rows that were cut it says too much
                        end.account.came(&batch, message.filter(|_| !self.truncated));
                    }
                    self.unread_since = Some(Instant::now());
                    Poll::Ready(Some(Ok(batch)))
                }
                Err(error) => self.fail(error),
            },
            Some(Err(error)) => {
                let error = match &self.end {
                    Some(end) => {
                        end.closing.query().transaction_failed();
                        end.closing.query().fault(error)
                    }
                    None => error.into(),
                };
                self.fail(if self.fails_anyhow { error.of_any_expression() } else { error })
            }
            None => {
                if let Some(place) = self.place.take() {
                    place.done();
                }
                if self.holds_end {
                    self.rest = None; // the engine is free while the files are placed
                    return Poll::Ready(None);
                }
                self.close(Outcome::Completed, None);
                Poll::Ready(None)
            }
        }
    }
}

impl Stream for RowDelivery {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        lock(&self.0).next(cx)
    }
}

impl Drop for RowDelivery {
    fn drop(&mut self) {
        let mut flow = lock(&self.0);
        let unsent = flow.end.as_ref().and_then(|end| end.account.unsent.get().cloned());
        let outcome = match &unsent {
            // a change is made, whether or not anybody reads what it returns
            _ if flow.changed.is_some() => Outcome::Completed,
            Some(error) => error.outcome(),
            None => Outcome::Cancelled,
        };
        flow.close(outcome, unsent.as_ref());
    }
}
