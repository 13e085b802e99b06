//! An answer on its way to the client, all at once or a few rows at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::pin;

use arrow::array::RecordBatch;
use bytes::BytesMut;
use chrono_tz::Tz;
use contract::Code;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::copy::CopyEncoder;
use super::failure::ErrorResponse;
use super::message::Formats;
use super::watch::{Stop, Watch};
use super::wire::{ConnectionEnd, Wire};
use crate::encode::batch_bytes::batch_bytes;
use crate::encode::pg_rows::{self, Field, PgType};
use crate::encode::pieces::{self, ColumnPieces};
use crate::pipeline::AuthorizationState;
use crate::{Answer, Column, Command, Error, Rows};

/// What the rest of a suspended answer may take when the next statement needs the session.
const SET_ASIDE_BYTES_MAX: usize = 64 << 20;

/// Rows that were not sent yet, and how to write them.
pub struct PgDelivery {
    pub fields: Vec<Field>,
    pub command: Command,
    /// Rows a write changed.
    changed: Option<u64>,
    cancel: CancellationToken,
    rows: Option<Rows>,
    /// Read from the engine, not sent.
    waiting: VecDeque<RecordBatch>,
    /// Rows of the first waiting batch that were sent.
    offset: usize,
    /// The rules and the caller it was started under.
    authorization: AuthorizationState,
    /// Rows leave as those of a copy.
    form: Option<CopyEncoder>,
    /// Rows of the first waiting batch that are written at a time.
    share: usize,
    /// Room for the columns of a share.
    columns: Vec<ColumnPieces>,
}

/// How the columns are told to the client.
pub fn fields(columns: &[Column], formats: &Formats) -> Result<Vec<Field>, ErrorResponse> {
    let formats = formats.of(columns.len())?;
    let field = |(column, format): (&Column, _)| Field {
        name: column.name.clone(),
        kind: PgType::from_engine(&column.type_name),
        format,
    };
    Ok(columns.iter().zip(formats).map(field).collect())
}

impl PgDelivery {
    pub fn new(
        answer: Answer,
        formats: &Formats,
        cancel: CancellationToken,
        authorization: AuthorizationState,
    ) -> Result<Self, ErrorResponse> {
        Ok(Self {
            fields: fields(&answer.columns, formats)?,
            command: answer.command,
            changed: answer.changed,
            cancel,
            rows: Some(answer.rows),
            waiting: VecDeque::new(),
            offset: 0,
            authorization,
            form: None,
            share: 1,
            columns: Vec::new(),
        })
    }

    pub fn copied_as(&mut self, form: CopyEncoder) {
        self.form = Some(form);
    }

    /// All of the copy has left.
    pub fn copied(&mut self, out: &mut BytesMut) {
        if let Some(form) = self.form.take() {
            form.end(out);
        }
    }

    /// Rows that a write changed.
    pub fn changed(&self) -> u64 {
        self.changed.unwrap_or(0)
    }

    pub fn has_rows(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The command tag when all is sent, of which these were the last rows.
    pub fn tag(&self, rows: u64) -> String {
        self.command.tag(if self.has_rows() { rows } else { self.changed.unwrap_or(0) })
    }

    /// Writes the row that was sent or passed last once more, unless it stands before the first or behind the last.
    pub fn send_again(&mut self, zone: Tz, wire: &mut Wire, watch: &Watch) -> Result<u64, Stop> {
        self.holds(watch)?;
        let Some(last) = self.offset.checked_sub(1) else { return Ok(0) };
        let Some(batch) = self.waiting.front().cloned() else { return Ok(0) };
        self.write(&batch, last..last + 1, zone, wire)?;
        Ok(1)
    }

    /// Steps over up to `most` rows; how many there were, and whether more may follow.
    pub async fn pass(&mut self, most: Option<u64>, wire: &mut Wire, watch: &mut Watch) -> Result<(u64, bool), Stop> {
        self.holds(watch)?;
        let mut passed = 0;
        while most.is_none_or(|most| passed < most) {
            let Some(batch) = self.batch(wire, watch).await? else { return Ok((passed, false)) };
            passed += self.step(batch.num_rows(), most.map(|most| most - passed));
        }
        Ok((passed, true))
    }

    /// Nothing is told, not even how many rows there are, by rules that are not in force any more. The tag of a
    /// command that counts no rows tells nothing, and an error in its place would deny what is done.
    fn holds(&mut self, watch: &Watch) -> Result<(), ErrorResponse> {
        let tells = self.has_rows() || !matches!(self.command, Command::Other(_));
        if !tells || watch.still_holds(&self.authorization) {
            return Ok(());
        }
        self.keep_back();
        self.rows = None;
        self.waiting.clear();
        Err(ErrorResponse::new(Code::PolicyDenied, "the rules changed while the cursor was open"))
    }

    /// Nobody is billed for the rows that it was given and that were not sent.
    fn keep_back(&self) {
        if let Some(rows) = &self.rows {
            let given: usize = self.waiting.iter().map(RecordBatch::num_rows).sum();
            rows.keep_back(u64::try_from(given.saturating_sub(self.offset)).unwrap_or(0));
        }
    }

    /// Moves on in the first waiting batch.
    fn step(&mut self, rows: usize, most: Option<u64>) -> u64 {
        let wanted = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        // A share at a time, so that the buffer stays small however large the batch.
        let take = rows.saturating_sub(self.offset).min(wanted).min(self.share);
        self.offset += take;
        u64::try_from(take).unwrap_or(0)
    }

    /// Writes up to `most` rows; how many there were, and whether more may follow.
    pub async fn send(
        &mut self,
        most: Option<u64>,
        zone: Tz,
        wire: &mut Wire,
        watch: &mut Watch,
    ) -> Result<(u64, bool), Stop> {
        self.holds(watch)?;
        let mut written = 0;
        while most.is_none_or(|most| written < most) {
            let Some(batch) = self.batch(wire, watch).await? else {
                self.columns = Vec::new();
                return Ok((written, false));
            };
            let from = self.offset;
            written += self.step(batch.num_rows(), most.map(|most| most - written));
            self.write(&batch, from..self.offset, zone, wire)?;
            if wire.is_full() {
                attend_to_send(wire, watch, &self.cancel).await?;
            }
        }
        // It may be long until the next rows are asked for.
        self.columns = Vec::new();
        Ok((written, true))
    }

    fn write(
        &mut self,
        batch: &RecordBatch,
        which: Range<usize>,
        zone: Tz,
        wire: &mut Wire,
    ) -> Result<(), ErrorResponse> {
        let written = match &mut self.form {
            Some(form) => form.write(&mut wire.out, batch, which, &self.fields, zone),
            None => pg_rows::write(&mut self.columns, &mut wire.out, batch, which, &self.fields, zone),
        };
        written.map_err(|mismatch| {
            tracing::error!(%mismatch, "a column is not as announced");
            if let Some(rows) = &self.rows {
                rows.unsent(Error::Unverified { why: mismatch.to_string() });
            }
            ErrorResponse::new(Code::Internal, Code::Internal.meaning())
        })
    }

    /// The batch that is next, when it has rows left.
    async fn batch(&mut self, wire: &mut Wire, watch: &mut Watch) -> Result<Option<RecordBatch>, Stop> {
        loop {
            match self.waiting.front() {
                Some(batch) if self.offset < batch.num_rows() => {
                    if self.offset == 0 {
                        self.share = pieces::share(batch);
                    }
                    return Ok(Some(batch.clone()));
                }
                Some(_) => {
                    self.waiting.pop_front();
                    self.offset = 0;
                }
                None => {
                    let Some(rows) = &mut self.rows else { return Ok(None) };
                    match watch.attend(wire, &self.cancel, rows.next()).await? {
                        Some(batch) => self.waiting.push_back(batch.map_err(ErrorResponse::from)?),
                        None => self.rows = None,
                    }
                }
            }
        }
    }

    /// Bytes of the rows that wait here.
    pub fn held(&self) -> usize {
        self.waiting.iter().map(batch_bytes).sum()
    }

    /// Takes what the engine still has, so that its session is free for the next statement.
    /// How many bytes it holds then; `others`: what the session's other portals hold.
    pub async fn set_aside(&mut self, others: usize, wire: &mut Wire, watch: &mut Watch) -> Result<usize, Stop> {
        let mut held = self.held();
        while let Some(rows) = &mut self.rows {
            match watch.attend(wire, &self.cancel, rows.next()).await? {
                None => self.rows = None,
                Some(batch) => {
                    let batch = batch.map_err(ErrorResponse::from)?;
                    held += batch_bytes(&batch);
                    self.waiting.push_back(batch);
                }
            }
            if others + held > SET_ASIDE_BYTES_MAX {
                let message =
                    "the session's suspended cursors have too many rows left for another statement to run beside them";
                return Err(ErrorResponse::new(Code::QuotaExceeded, message).into());
            }
        }
        Ok(held)
    }
}

impl Drop for PgDelivery {
    fn drop(&mut self) {
        self.keep_back();
    }
}

/// Sends, unless the session ends or the statement is cancelled meanwhile.
async fn attend_to_send(wire: &mut Wire, watch: &mut Watch, cancel: &CancellationToken) -> Result<(), Stop> {
    let mut sending = pin!(wire.flush());
    tokio::select! {
        biased;
        sent = &mut sending => Ok(sent?),
        failure = watch.over() => {
            cancel.cancel();
            Err(Stop::End(ConnectionEnd::Fatal(failure)))
        }
    }
}
