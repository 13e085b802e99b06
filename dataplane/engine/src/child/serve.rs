//! One session: reads a request, executes it on its own connection, writes what came out.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::answer::{self, HeadFields, LastSchema, Sent};
use super::databases::Databases;
use super::draws;
use super::kept_statements::{self, KeptStatements, Planned};
use super::own_statements::{OwnStatements, Step, bind, bind_narrow};
use super::parsed;
use super::questions::{describe, parameters};
use super::requests::Requests;
use super::table::{Running, Sessions};
use crate::catalog;
use crate::comparison::Agreeing;
use crate::error::{Error, Kind};
use crate::ffi::{Connection, Effect};
use crate::frame::{self, Outgoing, REQUEST_MAX_BYTES, RESPONSE_MAX_BYTES};
use crate::message::{Change, Done, PlanSource, Request, What, kind};
use crate::store::Native;
use crate::value::Value;

/// What is read of a request at once: most are shorter.
const READ_BYTES: usize = 4 << 10;

/// Serves until the parent closes the session, or the socket breaks.
pub fn session(
    socket: &UnixStream,
    (databases, agreeing): (&Databases, Option<Agreeing>),
    sessions: &Sessions,
    number: u64,
) {
    let connection = match databases.connect() {
        Ok(connection) => connection,
        Err(error) => {
            let _ = refuse(socket, &error);
            return;
        }
    };
    let running = sessions.enter(number, connection.interrupter());
    let is_stored = databases.is_stored();
    let (connection, own) = (&connection, OwnStatements::of(&connection));
    let kept = KeptStatements::of(connection, &sessions.keeping);
    let state = SessionState { optimizes: true, is_clean: true, has_drawn: false };
    let schema = LastSchema::default();
    let mut session = Session { socket, connection, running, agreeing, own, kept, schema, is_stored, state };
    let mut requests = BufReader::with_capacity(READ_BYTES, Requests(socket));
    while let Ok(Some((kind::REQUEST, payload))) = frame::read(&mut requests, REQUEST_MAX_BYTES) {
        let Ok(request) = super::read::<Request>(&payload) else {
            return;
        };
        session.running.begin(request.statement);
        let outcome = session.handle(request.what);
        session.running.end();
        if outcome.is_err() {
            return;
        }
    }
}

struct Session<'a> {
    socket: &'a UnixStream,
    connection: &'a Connection,
    running: Arc<Running>,
    /// What its host says of queries.
    agreeing: Option<Agreeing>,
    own: OwnStatements<'a>,
    kept: KeptStatements<'a>,
    schema: LastSchema,
    /// The database has a file.
    is_stored: bool,
    state: SessionState,
}

/// What is left in a session of its statements.
struct SessionState {
    /// Statements are optimized as they are prepared.
    optimizes: bool,
    /// It has run queries, and changes of rows, alone, and none of them failed: nothing of them is in the session.
    is_clean: bool,
    /// Random numbers may have been drawn, or begun where somebody knows.
    has_drawn: bool,
}

impl<'a> Session<'a> {
    /// Answers one request; an error here is the socket's, and ends the session.
    fn handle(&mut self, what: What) -> io::Result<()> {
        if let What::Read { sql, .. } | What::Query { sql, .. } | What::Write { sql, .. } = &what {
            catalog::heed(sql);
        }
        self.state.is_clean &= what.leaves_nothing();
        if let Some(Err(error)) = optimized(&what).map(|wanted| self.optimize(wanted)) {
            return refuse(self.socket, &error);
        }
        let result = match what {
            What::Read { sql, parameters } => return self.read_within(sql, &parameters),
            What::Query { sql, parameters, tables } => return self.query(sql, &parameters, tables.as_deref()),
            What::Write { sql, parameters, begins, tables } => {
                return self.write(sql, &parameters, (begins, tables.as_deref()));
            }
            What::Begin => self.begin(),
            What::Commit(changes) => return self.commit(&changes),
            What::Rollback => self.own.step(Step::Rollback).map(|()| Done::default()),
            What::Track(changes) => self.own.track(&changes),
            What::Describe { sql } => return self.reply(describe(self.connection, &sql)),
            What::Parameters { sql } => return self.reply(parameters(self.connection, &sql)),
            What::Parse { sql } => return self.reply(parsed::statement(self.connection, &sql)),
            What::Catalog => return self.reply(catalog::load(self.connection)),
            What::Reset { open } => self.reset(open),
        };
        match result {
            Ok(done) => tell(self.socket, &done),
            Err(error) => refuse(self.socket, &error),
        }
    }

    fn optimize(&mut self, wanted: bool) -> Result<(), Error> {
        if self.state.optimizes != wanted {
            self.connection.execute(if wanted { "pragma enable_optimizer" } else { "pragma disable_optimizer" })?;
            self.state.optimizes = wanted;
        }
        Ok(())
    }

    fn reply<T: serde::Serialize>(&mut self, answer: Result<T, Error>) -> io::Result<()> {
        match answer {
            Ok(answer) => send(self.socket, Outgoing::json(kind::ANSWER, &answer)?),
            Err(error) => refuse(self.socket, &error),
        }
    }

    fn begin(&mut self) -> Result<Done, Error> {
        self.own.step(Step::Begin)?;
        if self.is_stored {
            self.connection.execute(Native::TOUCH)?;
        }
        Ok(Done::default())
    }

    /// Ends the transaction, and behind the answer makes the session as a new one, or ends it.
    fn commit(&mut self, changes: &[Change]) -> io::Result<()> {
        if let Err(error) = self.committed(changes) {
            return self.failed(&error);
        }
        let resets = self.can_be_reset();
        tell(self.socket, &Done { resets, ..Done::default() })?;
        if !resets {
            return Ok(());
        }
        self.running.over();
        self.reset(false).map(drop).map_err(io::Error::other)
    }

    fn committed(&mut self, changes: &[Change]) -> Result<(), Error> {
        if !changes.is_empty()
            && let Err(error) = self.own.track(changes)
        {
            self.own.step(Step::Rollback)?;
            return Err(error);
        }
        self.own.step(Step::Commit)?;
        if !self.state.is_clean {
            self.kept.defined(); // it may have been a definition that is seen from now on
        }
        Ok(())
    }

    fn can_be_reset(&self) -> bool {
        self.state.is_clean && self.is_stored
    }

    /// As a new session, or an error. Nothing is left of a query, or of a change of rows, but its transaction and what it
    /// drew of random numbers.
    fn reset(&mut self, open: bool) -> Result<Done, Error> {
        if !self.can_be_reset() {
            return Err(Error::new(Kind::InvalidInput, "the session may have something of its own"));
        }
        if open {
            self.own.step(Step::Rollback)?;
        }
        self.optimize(true)?;
        if std::mem::take(&mut self.state.has_drawn) {
            self.own.reseed()?;
        }
        Ok(Done::default())
    }

    /// A read in a transaction of its own, which is the engine's for one statement. Where that would keep changes, it is
    /// one that is rolled back. What could not be ended, or made as a new session is, ends here.
    fn query(&mut self, sql: String, parameters: &[Value], tables: Option<&[String]>) -> io::Result<()> {
        if tables.is_some_and(|tables| !self.agrees(&sql, tables, false)) {
            return send(self.socket, Outgoing::new(kind::UNSURE));
        }
        // No touch as behind `Begin`: the statement that follows takes the snapshot.
        let is_counted = kept_statements::is_counted_first(&sql);
        if is_counted && let Err(error) = self.own.step(Step::Begin) {
            return self.failed(&error);
        }
        let planned = match self.kept.query(&sql, parameters.len(), self.state.is_clean) {
            Ok(planned) => planned,
            Err(error) => {
                if is_counted && error.kind != Kind::Fatal {
                    self.running.over();
                    self.own.step(Step::Rollback).map_err(io::Error::other)?;
                }
                return self.failed(&error);
            }
        };
        let opens = is_counted || planned.effect != Effect::Query;
        if opens
            && !is_counted
            && let Err(error) = self.own.step(Step::Begin)
        {
            return self.failed(&error);
        }
        let is_done = self.read(&planned, &sql, parameters, true)?;
        self.running.over();
        let ended = match (self.can_be_reset(), opens) {
            (true, _) => self.reset(opens).map(drop),
            (false, true) => self.own.step(Step::Rollback),
            (false, false) => Ok(()),
        };
        ended.map_err(io::Error::other)?;
        if is_done {
            self.kept.keep_query(sql, planned);
        }
        Ok(())
    }

    /// A read in the transaction that is open, or in none.
    fn read_within(&mut self, sql: String, parameters: &[Value]) -> io::Result<()> {
        let planned = match self.kept.query(&sql, parameters.len(), self.state.is_clean) {
            Ok(planned) => planned,
            Err(error) => return self.failed(&error),
        };
        if self.read(&planned, &sql, parameters, false)? {
            self.kept.keep_on(sql, planned);
        }
        Ok(())
    }

    fn failed(&mut self, error: &Error) -> io::Result<()> {
        self.state.is_clean = false;
        refuse(self.socket, error)
    }

    /// Whether the engine's parser is sure to find in it what is said of it. Nothing of it is computed for that.
    fn agrees(&mut self, sql: &str, tables: &[String], writes: bool) -> bool {
        let Some(agreeing) = self.agreeing else { return false };
        let found = if writes { Ok(parsed::insert(self.connection, sql)) } else { self.own.parsed(sql) };
        matches!(found, Ok(Some(found)) if agreeing(&found, tables, writes))
    }

    /// Runs it and sends its rows; says whether it went well. `resets`: where it has only read, the session is made as a
    /// new one next.
    fn read(&mut self, planned: &Planned<'a>, sql: &str, parameters: &[Value], resets: bool) -> io::Result<bool> {
        // A kept plan draws nothing.
        self.state.has_drawn |= planned.source != PlanSource::Kept && draws::may_draw(sql);
        match self.stream(planned, parameters, resets) {
            Ok(sent) => sent.map(|()| true),
            Err(error) => self.failed(&error).map(|()| false),
        }
    }

    /// The outer error is the statement's, the inner one the socket's.
    fn stream(&mut self, planned: &Planned<'a>, parameters: &[Value], resets: bool) -> Result<io::Result<()>, Error> {
        self.state.is_clean &= planned.effect == Effect::Query;
        bind(&planned.prepared, parameters)?;
        self.not_interrupted()?;
        let mut run = planned.prepared.run(true)?;
        if planned.effect == Effect::Definitions && !resets {
            self.kept.defined(); // of a query that is rolled back, such as EXPLAIN, nothing is seen
        }
        let told = HeadFields { resets: resets && self.can_be_reset(), plan: planned.source };
        match answer::stream((self.socket, &mut self.schema), &mut run, &planned.named, told)? {
            Sent::All => Ok(Ok(())),
            Sent::Broken(error) => Ok(Err(error)),
        }
    }

    /// `begins`: in a transaction that begins with it; a failure is told when that is over.
    fn write(
        &mut self,
        sql: String,
        parameters: &[Value],
        (begins, tables): (bool, Option<&[String]>),
    ) -> io::Result<()> {
        if tables.is_some_and(|tables| !self.agrees(&sql, tables, true)) {
            return send(self.socket, Outgoing::new(kind::UNSURE));
        }
        if begins && let Err(error) = self.own.step(Step::Begin) {
            return self.failed(&error);
        }
        match self.change(sql, parameters) {
            Ok(sent) => sent,
            Err(error) => {
                if begins && error.kind != Kind::Fatal {
                    self.running.over();
                    self.own.step(Step::Rollback).map_err(io::Error::other)?;
                }
                self.failed(&error)
            }
        }
    }

    fn change(&mut self, sql: String, parameters: &[Value]) -> Result<io::Result<()>, Error> {
        self.state.has_drawn = true; // a column's default may draw, which no text says
        let planned = self.kept.write(&sql, self.state.is_clean)?;
        let sent = self.changed(&planned, &sql, parameters)?;
        if sent.is_ok() && self.state.is_clean {
            self.kept.keep_write(sql, planned, parameters);
        }
        Ok(sent)
    }

    fn changed(&mut self, planned: &Planned<'a>, sql: &str, parameters: &[Value]) -> Result<io::Result<()>, Error> {
        let definitions = planned.effect == Effect::Definitions;
        self.state.is_clean &= planned.effect == Effect::Rows;
        bind_narrow(&planned.prepared, parameters, &planned.narrow)?;
        self.not_interrupted()?;
        let mut run = planned.prepared.run(false)?;
        let plan = Some(planned.source);
        if definitions {
            if !kept_statements::is_of_session(sql) {
                self.kept.defined();
            }
            // CREATE TABLE AS answers with its count as a row, and says that it changed nothing.
            let rows = answer::count(&mut run)?;
            return Ok(tell(self.socket, &Done { rows, definitions, plan, ..Done::default() }));
        }
        if let Some(rows) = run.changed() {
            return Ok(tell(self.socket, &Done { rows, plan, ..Done::default() }));
        }
        match answer::returned(self.socket, &mut run, &planned.named, planned.source)? {
            Sent::All => Ok(Ok(())),
            Sent::Broken(error) => Ok(Err(error)),
        }
    }

    fn not_interrupted(&self) -> Result<(), Error> {
        if self.running.interrupted() {
            return Err(Error::new(Kind::Interrupted, "interrupted before it ran"));
        }
        Ok(())
    }
}

/// Is it to be optimized as it is prepared? A question only wants to know what a statement is: the constants in it need
/// not be computed for that. For the rest it does not matter. A MERGE with `NOT MATCHED BY SOURCE` the engine prepares
/// only if it may optimize: left as it is, its rows have no number, which ends the process.
fn optimized(what: &What) -> Option<bool> {
    match what {
        What::Describe { sql } | What::Parameters { sql } | What::Parse { sql } if sql.starts_with("MERGE ") => {
            Some(true)
        }
        What::Describe { .. } | What::Parameters { .. } | What::Parse { .. } => Some(false),
        What::Read { .. } | What::Query { .. } | What::Write { .. } => Some(true),
        What::Begin | What::Commit(_) | What::Rollback | What::Track(_) | What::Catalog | What::Reset { .. } => None,
    }
}

fn tell(socket: &UnixStream, done: &Done) -> io::Result<()> {
    send(socket, Outgoing::json(kind::DONE, done)?)
}

/// After a fatal error every statement of this process fails: better to start again.
fn refuse(socket: &UnixStream, error: &Error) -> io::Result<()> {
    send(socket, Outgoing::json(kind::FAILED, error)?)?;
    if error.kind == Kind::Fatal {
        super::die();
    }
    Ok(())
}

fn send(mut socket: &UnixStream, frame: Outgoing) -> io::Result<()> {
    socket.write_all(&frame.close(RESPONSE_MAX_BYTES)?)
}
