//! A session from login to goodbye: messages in, answers out.

mod telling;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use contract::Code;
use tokio_util::sync::CancellationToken;

use super::SharedConnections;
use super::cancel::Cancellable;
use super::command::{self, PgCommand};
use super::delivery::PgDelivery;
use super::extended::{Life, Portal, PreparedStatement};
use super::failure::ErrorResponse;
use super::lex::{self, LexedStatement};
use super::login::Login;
use super::message::{Formats, FrontendMessage};
use super::reply::{self, Severity};
use super::request::BoundValues;
use super::session::CommandReply;
use super::settings::{REPORTED, SessionSettings};
use super::transaction::SessionTransaction;
use super::watch::{Stop, Watch};
use super::wire::{ConnectionEnd, FRAME_BYTES_MAX, Wire};
use crate::request::last_load::LastLoad;
use crate::{Ask, Bounds, Pipeline};

/// What a client has for its next message, while the process waits to end: a cursor that is fetched
/// and a transaction that is committed come to their end.
const LULL: Duration = Duration::from_secs(2);

pub struct Conversation {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) wire: Wire,
    pub(super) watch: Watch,
    pub(super) settings: SessionSettings,
    pub(super) database: Option<String>,
    pub(super) last_load: LastLoad,
    pub(super) cancellable: Cancellable,
    pub(super) statements: HashMap<String, Arc<PreparedStatement>>,
    pub(super) portals: HashMap<String, Portal>,
    pub(super) transaction: SessionTransaction,
    /// The query that is served has several statements, which are one transaction.
    pub(super) several: bool,
    /// An extended message failed: all others are skipped up to `Sync`.
    skipping: bool,
    draining: CancellationToken,
    /// What is served now came when nothing new may begin.
    late: bool,
}

impl Conversation {
    pub fn new(wire: Wire, login: Login, hall: &SharedConnections) -> Self {
        let watch = Watch::new(hall.context.sessions.clone(), &login, hall.ending.closed.clone());
        let Login { settings, database, .. } = login;
        Self {
            pipeline: Arc::clone(&hall.context.pipeline),
            wire,
            watch,
            settings,
            database,
            last_load: LastLoad::of_session(),
            cancellable: hall.cancels.register(&hall.context.pipeline.entropy),
            statements: HashMap::new(),
            portals: HashMap::new(),
            transaction: SessionTransaction::default(),
            several: false,
            skipping: false,
            draining: hall.ending.draining.clone(),
            late: false,
        }
    }

    /// Gives the connection back for the last words; what was open is rolled back.
    pub async fn into_wire(mut self) -> Wire {
        self.portals.clear();
        let _ = self.transaction.rollback().await;
        self.wire
    }

    /// Greets, then serves messages until one side ends it.
    pub async fn run(&mut self) -> ConnectionEnd {
        reply::authentication_ok(&mut self.wire.out);
        for name in REPORTED {
            self.report(name);
        }
        self.tell_isolation();
        reply::backend_key(&mut self.wire.out, self.cancellable.process, &self.cancellable.secret());
        loop {
            match self.ready().await {
                Ok(()) => {}
                Err(end) => return end,
            }
            if let Err(end) = self.until_sync().await {
                return end;
            }
        }
    }

    async fn ready(&mut self) -> Result<(), ConnectionEnd> {
        reply::ready(&mut self.wire.out, self.transaction.standing());
        self.wire.flush().await
    }

    /// Serves messages up to the next `ReadyForQuery`.
    async fn until_sync(&mut self) -> Result<(), ConnectionEnd> {
        let mut first = true;
        loop {
            let (kind, body) = self.next(std::mem::take(&mut first)).await?;
            let message = match FrontendMessage::read(kind, body) {
                Ok(message) => message,
                // Where a message ends is known, so the conversation can go on.
                Err(failure) if kind == b'Q' => {
                    self.failed(failure).await;
                    return Ok(());
                }
                Err(failure) => {
                    self.skip(failure).await;
                    continue;
                }
            };
            match message {
                FrontendMessage::Terminate => return Err(ConnectionEnd::Closed),
                FrontendMessage::Unknown(kind) => {
                    let message = format!("there is no message of type {:?}", char::from(kind));
                    return Err(ConnectionEnd::Fatal(ErrorResponse::protocol(message)));
                }
                FrontendMessage::Query(text) => return self.simple(&text).await,
                FrontendMessage::Sync => return self.sync().await,
                FrontendMessage::FunctionCall => {
                    self.failed(ErrorResponse::unsupported("the function call message")).await;
                    return Ok(());
                }
                FrontendMessage::Copy => {}
                FrontendMessage::Flush => self.wire.flush().await?,
                _ if self.skipping => {}
                message => match self.extended(message).await {
                    Ok(()) => {}
                    Err(Stop::End(end)) => return Err(end),
                    Err(Stop::Failure(failure)) => self.skip(failure).await,
                },
            }
            if self.wire.is_full() {
                self.wire.flush().await?;
            }
        }
    }

    /// The next message; an idle session also ends when its key or this process does. Between two
    /// statements it ends at once; inside something, after a lull.
    async fn next(&mut self, at_rest: bool) -> Result<(u8, bytes::Bytes), ConnectionEnd> {
        if !at_rest && let Some(frame) = self.wire.whole_frame(FRAME_BYTES_MAX)? {
            return Ok(frame); // it came in one flight with those before
        }
        let lull = if at_rest && !self.transaction.is_explicit() { Duration::ZERO } else { LULL };
        let draining = self.draining.clone();
        let ending = async {
            draining.cancelled().await;
            if !lull.is_zero() {
                tokio::time::sleep(lull).await;
            }
        };
        let (explicit, patience) = (self.transaction.is_explicit(), self.pipeline.unread_for);
        let idle = async {
            if !explicit {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(patience).await;
        };
        let message = tokio::select! {
            biased; // what had not begun when the drain did, does not begin
            () = ending => Err(shutting_down()),
            frame = self.wire.frame(FRAME_BYTES_MAX) => frame,
            failure = self.watch.vanished() => Err(ConnectionEnd::Fatal(failure)),
            () = idle => Err(ConnectionEnd::Fatal(idle_in_transaction(patience))),
        };
        if at_rest {
            self.late = self.draining.is_cancelled();
        }
        message
    }

    async fn skip(&mut self, failure: ErrorResponse) {
        self.failed(failure).await;
        self.skipping = true;
    }

    /// Tells of a failure; a transaction fails with it.
    async fn failed(&mut self, failure: ErrorResponse) {
        reply::error(&mut self.wire.out, Severity::Error, &failure);
        if self.transaction.is_explicit() || self.transaction.is_implicit() {
            self.drop_portals();
            self.transaction.fail().await;
        }
        if !self.transaction.is_explicit() {
            self.change(|settings| settings.end(false));
        }
    }

    async fn sync(&mut self) -> Result<(), ConnectionEnd> {
        self.skipping = false;
        self.end_implicit().await;
        if !self.transaction.is_explicit() {
            self.drop_portals();
        }
        Ok(())
    }

    /// Ends what the client never opened by name, and with it what was set there.
    async fn end_implicit(&mut self) {
        let mut stands = true;
        if self.transaction.is_implicit() {
            self.drop_portals();
            if let Err(error) = self.transaction.commit().await {
                reply::error(&mut self.wire.out, Severity::Error, &ErrorResponse::from(&error));
                stands = false;
            }
        }
        if !self.transaction.is_explicit() {
            self.change(|settings| settings.end(stands));
        }
    }

    /// A simple query: statements that stand and fall together, each with its answer.
    async fn simple(&mut self, text: &str) -> Result<(), ConnectionEnd> {
        self.skipping = false;
        self.statements.remove("");
        self.portals.remove("");
        let text = match self.settings.standard(text) {
            Ok(text) => text,
            Err(failure) => {
                self.failed(failure).await;
                return self.sync().await;
            }
        };
        let strings = self.settings.strings();
        let pieces: Vec<_> = lex::split(&text).into_iter().map(|piece| (command::read(&piece.tokens), piece)).collect();
        if pieces.is_empty() {
            reply::bare(&mut self.wire.out, reply::EMPTY_QUERY);
        }
        let runs = |command: &Option<PgCommand>| matches!(command, None | Some(PgCommand::Execute { .. }));
        let together = pieces.iter().filter(|(command, _)| runs(command)).count() > 1;
        self.several = pieces.len() > 1;
        for (command, piece) in &pieces {
            self.settings.begin();
            match self.statement(command.as_ref(), piece, together).await {
                // what stands behind it was read by the rule that held before
                Ok(()) if self.several && self.settings.strings() != strings => {
                    let failure = "standard_conforming_strings changed beside other statements";
                    self.failed(ErrorResponse::unsupported(failure)).await;
                    break;
                }
                Ok(()) => {}
                Err(Stop::End(end)) => return Err(end),
                Err(Stop::Failure(failure)) => {
                    self.failed(failure.shifted(piece.before)).await;
                    break;
                }
            }
        }
        self.several = false;
        self.end_implicit().await;
        Ok(())
    }

    async fn statement(
        &mut self,
        command: Option<&PgCommand>,
        piece: &LexedStatement<'_>,
        together: bool,
    ) -> Result<(), Stop> {
        self.may_go_on(command)?;
        if let Some(PgCommand::Execute { name, values }) = command {
            if together {
                self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
            }
            return self.execute_prepared(name, values, true, &Formats::default()).await;
        }
        if let Some(command) = command {
            let reply = self.command(command, piece.text, &piece.starts, BoundValues::default()).await?;
            return self.answer(command, reply).await;
        }
        if together {
            self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
        }
        let mut delivery =
            self.start(piece.text, BoundValues::default(), &Formats::default(), Bounds::default()).await?;
        if delivery.has_rows() {
            reply::row_description(&mut self.wire.out, &delivery.fields);
        }
        let (rows, _) = delivery.send(None, self.settings.zone(), &mut self.wire, &mut self.watch).await?;
        reply::command_complete(&mut self.wire.out, &delivery.tag(rows));
        Ok(())
    }

    /// Sends what a session command answers.
    async fn answer(&mut self, command: &PgCommand, reply: CommandReply) -> Result<(), Stop> {
        if let PgCommand::Fetch { name, count, moves } = command {
            return self.fetch(name, *count, *moves, true).await;
        }
        if !reply.fields.is_empty() {
            reply::row_description(&mut self.wire.out, &reply.fields);
        }
        self.send_reply(&reply);
        Ok(())
    }

    /// Rows and tag of a command's answer.
    pub(super) fn send_reply(&mut self, reply: &CommandReply) {
        for row in &reply.rows {
            reply::made_row(&mut self.wire.out, &reply.fields, row);
        }
        reply::command_complete(&mut self.wire.out, &reply.tag);
    }

    /// Is the caller still somebody, and the transaction still one that takes statements?
    pub(super) fn may_go_on(&self, command: Option<&PgCommand>) -> Result<(), Stop> {
        if let Some(failure) = self.watch.ended() {
            return Err(Stop::End(ConnectionEnd::Fatal(failure)));
        }
        let ends = matches!(command, Some(PgCommand::Commit | PgCommand::Rollback | PgCommand::RollbackTo(_)));
        if self.transaction.has_failed() && !ends {
            return Err(crate::Error::FailedTransaction.into());
        }
        Ok(())
    }

    /// Reads what these portals are suspended on to its end: together they hold no more than a session may.
    pub(super) async fn set_aside(&mut self, which: impl Fn(&Portal) -> bool) -> Result<(), Stop> {
        let mut held: usize = self.portals.values().map(Portal::held).sum();
        for portal in self.portals.values_mut().filter(|portal| which(portal)) {
            held -= portal.held();
            held += portal.set_aside(held, &mut self.wire, &mut self.watch).await?;
        }
        Ok(())
    }

    /// Runs a statement through the pipeline up to its first rows.
    pub(super) async fn start(
        &mut self,
        sql: &str,
        params: BoundValues,
        formats: &Formats,
        bounds: Bounds,
    ) -> Result<PgDelivery, Stop> {
        if self.late {
            return Err(Stop::End(shutting_down()));
        }
        self.refuse_writes_if_read_only(sql)?;
        if lex::makes_temporary(sql) {
            self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
        }
        self.go_on_with_temporary();
        if self.transaction.handle().is_some() {
            // One session runs one statement: what is suspended on it is read to its end first.
            self.set_aside(|portal| portal.life != Life::Session).await?;
        }
        let authorization = self.watch.authorization(self.declared())?;
        let cancel = self.cancellable.next();
        let ask = self.ask(sql, params, cancel.clone());
        let ask = Ask { bounds: Bounds { heal: ask.bounds.heal, strings: ask.bounds.strings, ..bounds }, ..ask };
        let answer = self.watch.attend(&mut self.wire, &cancel, Box::pin(self.pipeline.run(ask))).await??;
        for warning in &answer.warnings {
            reply::notice(&mut self.wire.out, Severity::Notice, &telling::notice(warning));
        }
        Ok(PgDelivery::new(answer, formats, cancel, authorization)?)
    }

    /// Temporary tables are in the session of a transaction: what may name them belongs in one.
    pub(super) fn go_on_with_temporary(&mut self) {
        if self.transaction.has_temporary() {
            self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
        }
    }

    fn refuse_writes_if_read_only(&self, sql: &str) -> Result<(), ErrorResponse> {
        // What cannot be parsed is the pipeline's to refuse.
        if self.settings.is_read_only()
            && sql::parse_with(sql, &self.settings.variables()).is_ok_and(|statement| statement.is_write())
        {
            let message = "the transaction is read-only";
            return Err(ErrorResponse::new(Code::Forbidden, message).with_state("25006"));
        }
        Ok(())
    }
}

/// A transaction holds a session of the engine.
fn idle_in_transaction(patience: Duration) -> ErrorResponse {
    let message = format!("the transaction was idle for {} s and is rolled back", patience.as_secs());
    ErrorResponse::new(Code::QueryTimeout, message).with_state("25P03").with_hint("begin it again")
}

fn shutting_down() -> ConnectionEnd {
    ConnectionEnd::Fatal(ErrorResponse::from(&crate::Error::ShuttingDown))
}
