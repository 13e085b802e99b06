//! The extended protocol: statements are parsed once, bound to values as portals, described, and
//! executed whole or a few rows at a time.

mod portal;
mod prepared;

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use contract::Code;

use super::command::{Count, PgCommand};
use super::conversation::Conversation;
use super::cursors::no_cursor;
use super::delivery::{self, PgDelivery};
use super::failure::ErrorResponse;
use super::message::{Bind, DescribeTarget, Formats, FrontendMessage};
use super::parameters;
use super::reply;
use super::request::BoundValues;
use super::session::{self, OPEN_MAX};
use super::typeinfo;
use super::watch::Stop;
use crate::encode::pg_rows::{Field, Format, PgType};
use crate::{Bounds, Description};
use portal::PortalState;

pub use portal::{Life, Portal};
use prepared::PreparedKind;
pub use prepared::PreparedStatement;

/// Text of all prepared statements of a session together.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Values bound to all of a session's open portals.
const BOUND_BYTES_MAX: usize = 64 << 20;

/// Whether a portal that is executed has its columns told with its rows.
#[derive(Debug, Clone, Copy)]
enum Described {
    Before,
    Portal,
    /// With its parameters, and before anybody has chosen a format.
    Statement,
}

impl Conversation {
    pub(super) async fn extended(&mut self, message: FrontendMessage) -> Result<(), Stop> {
        match message {
            FrontendMessage::Parse { name, sql, types } => self.parse(name, &sql, types),
            FrontendMessage::Bind(bind) => self.bind(bind).await,
            FrontendMessage::Describe(DescribeTarget::Statement(name)) => self.describe_statement(&name).await,
            FrontendMessage::Describe(DescribeTarget::Portal(name)) => self.describe_portal(&name).await,
            FrontendMessage::Execute { portal, rows_max } => self.execute(&portal, rows_max, Described::Before).await,
            FrontendMessage::Close(target) => {
                match target {
                    DescribeTarget::Statement(name) => drop(self.statements.remove(&name)),
                    DescribeTarget::Portal(name) => drop(self.portals.remove(&name)),
                }
                reply::bare(&mut self.wire.out, reply::CLOSE_COMPLETE);
                Ok(())
            }
            // The others are served where they are read.
            _ => Ok(()),
        }
    }

    fn parse(&mut self, name: String, sql: &str, types: Vec<u32>) -> Result<(), Stop> {
        let prepared = PreparedStatement::new(&self.settings.standard(sql)?, types)?;
        self.may_go_on(prepared.command())?;
        self.keep_prepared(name, prepared)?;
        reply::bare(&mut self.wire.out, reply::PARSE_COMPLETE);
        Ok(())
    }

    pub(super) fn keep_prepared(&mut self, name: String, prepared: PreparedStatement) -> Result<(), ErrorResponse> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            return Err(ErrorResponse::new(Code::Conflict, format!("prepared statement {name:?} already exists"))
                .with_state("42P05"));
        }
        let text: usize = self.statements.values().map(|prepared| prepared.sql.len()).sum();
        if self.statements.len() >= OPEN_MAX || text + prepared.sql.len() > TEXT_BYTES_MAX {
            return Err(ErrorResponse::new(Code::InvalidParams, "the session has too many prepared statements")
                .with_state("53400"));
        }
        self.statements.insert(name, Arc::new(prepared));
        Ok(())
    }

    pub(super) fn prepared(&self, name: &str) -> Result<Arc<PreparedStatement>, ErrorResponse> {
        let missing = || {
            ErrorResponse::new(Code::NotFound, format!("prepared statement {name:?} does not exist"))
                .with_state("26000")
        };
        self.statements.get(name).cloned().ok_or_else(missing)
    }

    /// What the pipeline says of the statement, asked once for as long as the rules stay.
    async fn description(&mut self, prepared: &PreparedStatement) -> Result<Arc<Description>, Stop> {
        let (version, agent) = (self.watch.rules()?.version, self.declared());
        let known = prepared.described.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, authorization, description)) = known
            && at == version
            && *authorization.agent() == agent
            && self.watch.still_holds(&authorization)
        {
            return Ok(description);
        }
        self.go_on_with_temporary();
        let authorization = self.watch.authorization(agent)?;
        let cancel = self.cancellable.next();
        let types = prepared.declared.iter().map(|oid| parameters::engine_type(*oid)).collect();
        let ask = self.ask(&prepared.sql, BoundValues { values: Vec::new(), types }, cancel.clone());
        let described = self.watch.attend(&mut self.wire, &cancel, Box::pin(self.pipeline.describe(&ask))).await?;
        let description = Arc::new(described.map_err(|error| ErrorResponse::from(&error).shifted(prepared.before))?);
        *prepared.described.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((version, authorization, Arc::clone(&description)));
        Ok(description)
    }

    /// The type of each parameter: as declared, else as described.
    pub(super) async fn types(&mut self, prepared: &PreparedStatement, values: usize) -> Result<Vec<u32>, Stop> {
        let declared = &prepared.declared;
        if prepared.command() == Some(&PgCommand::TypeInfo) {
            return Ok(vec![typeinfo::PARAMETER]);
        }
        let told = declared.len() >= values && declared.iter().all(|oid| *oid != 0);
        if told || !matches!(prepared.what, PreparedKind::Statement) {
            return Ok(declared.clone());
        }
        let description = self.description(prepared).await?;
        let described = description.parameters.iter().map(|name| PgType::from_engine(name).oid());
        let declared = declared.iter().copied().chain(std::iter::repeat(0));
        Ok(described
            .zip(declared)
            .map(|(described, declared)| if declared == 0 { described } else { declared })
            .collect())
    }

    async fn bind(&mut self, bind: Bind) -> Result<(), Stop> {
        let prepared = self.prepared(&bind.statement)?;
        self.may_go_on(prepared.command())?;
        if !bind.portal.is_empty() && (self.portals.contains_key(&bind.portal) || self.portals.len() >= OPEN_MAX) {
            return Err(ErrorResponse::new(Code::Conflict, format!("portal {:?} cannot be opened", bind.portal))
                .with_state("42P03")
                .into());
        }
        let bound_bytes: usize = bind.values.iter().flatten().map(Bytes::len).sum();
        let bound: usize = self.portals.values().map(|portal| portal.bound_bytes).sum();
        if bound + bound_bytes > BOUND_BYTES_MAX {
            return Err(ErrorResponse::new(
                Code::InvalidParams,
                "the session's open portals have too many bytes bound to them",
            )
            .with_state("53400")
            .into());
        }
        let types = if bind.values.is_empty() { Vec::new() } else { self.types(&prepared, bind.values.len()).await? };
        if matches!(prepared.what, PreparedKind::Statement) && types.len() != bind.values.len() {
            let message = format!("{} values are bound to {} parameters", bind.values.len(), types.len());
            return Err(ErrorResponse::protocol(message).into());
        }
        let formats = bind.formats.of(bind.values.len())?;
        let types = if prepared.command() == Some(&PgCommand::TypeInfo) { vec![PgType::Bytea.oid()] } else { types };
        let clock = self.clock();
        let mut params = Vec::with_capacity(bind.values.len());
        for (at, (value, format)) in bind.values.into_iter().zip(formats).enumerate() {
            params.push(parameters::value(at + 1, types.get(at).copied().unwrap_or(0), format, value, &clock)?);
        }
        let portal = Portal {
            life: Life::Transaction,
            prepared: Some(prepared),
            params: BoundValues { types: parameters::bound_types(&types, &params), values: params },
            bound_bytes,
            formats: bind.results,
            told: None,
            state: PortalState::Ready,
        };
        self.portals.insert(bind.portal, portal);
        reply::bare(&mut self.wire.out, reply::BIND_COMPLETE);
        Ok(())
    }

    async fn describe_statement(&mut self, name: &str) -> Result<(), Stop> {
        let prepared = self.prepared(name)?;
        self.may_go_on(prepared.command())?;
        if let Some((portal, rows_max)) = self.take_execute(|_, portal| portal.tells_all_of(&prepared)) {
            return self.execute(&portal, rows_max, Described::Statement).await;
        }
        let types = self.types(&prepared, usize::MAX).await?;
        let fields = self.fields(&prepared, &Formats::default()).await?;
        reply::parameter_description(&mut self.wire.out, &types);
        self.describe(&fields);
        Ok(())
    }

    /// Takes the next message, if all of it is here and it executes a portal of which that is wanted: its name, and how
    /// many rows.
    fn take_execute(&mut self, is_wanted: impl Fn(&str, &Portal) -> bool) -> Option<(String, u32)> {
        let portals = &self.portals;
        self.wire.take(|kind, body| {
            if kind != b'E' {
                return None;
            }
            let message = FrontendMessage::read(kind, Bytes::copy_from_slice(body)).ok()?;
            let FrontendMessage::Execute { portal, rows_max } = message else { return None };
            portals.get(&portal).is_some_and(|open| is_wanted(&portal, open)).then_some((portal, rows_max))
        })
    }

    /// A portal that is described and executed in one flight is run at once, and its answer tells its columns. One of
    /// which something was told before keeps to that.
    async fn describe_portal(&mut self, name: &str) -> Result<(), Stop> {
        let is_it = |executed: &str, portal: &Portal| executed == name && portal.is_untold();
        if let Some((_, rows_max)) = self.take_execute(is_it) {
            return self.execute(name, rows_max, Described::Portal).await;
        }
        let portal = self.portals.get(name).ok_or_else(|| no_cursor(name))?;
        let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
        let running = portal.running().map(|delivery| delivery.fields.clone());
        let fields = match (running, prepared) {
            (Some(fields), _) => fields,
            (None, None) => Vec::new(),
            (None, Some(prepared)) => {
                self.may_go_on(prepared.command())?;
                self.fields(&prepared, &formats).await?
            }
        };
        if let Some(portal) = self.portals.get_mut(name) {
            portal.told = Some(fields.iter().map(|field| field.kind.clone()).collect());
        }
        self.describe(&fields);
        Ok(())
    }

    fn describe(&mut self, fields: &[Field]) {
        if fields.is_empty() {
            reply::bare(&mut self.wire.out, reply::NO_DATA);
        } else {
            reply::row_description(&mut self.wire.out, fields);
        }
    }

    /// The columns a statement will have.
    async fn fields(&mut self, prepared: &PreparedStatement, formats: &Formats) -> Result<Vec<Field>, Stop> {
        match &prepared.what {
            PreparedKind::Empty | PreparedKind::Command(PgCommand::Fetch { moves: true, .. }) => Ok(Vec::new()),
            PreparedKind::Command(PgCommand::Fetch { name, .. }) => {
                let cursor = self.portals.get(name).and_then(Portal::running).ok_or_else(|| no_cursor(name))?;
                Ok(cursor.fields.clone())
            }
            PreparedKind::Command(PgCommand::Execute { name, .. }) => {
                let prepared = self.prepared(name)?;
                let description = self.description(&prepared).await?;
                Ok(delivery::fields(&description.columns, formats)?)
            }
            PreparedKind::Command(command) => Ok(formatted(session::described(command), formats)?),
            PreparedKind::Statement => {
                let description = self.description(prepared).await?;
                Ok(delivery::fields(&description.columns, formats)?)
            }
        }
    }

    async fn execute(&mut self, name: &str, rows_max: u32, described: Described) -> Result<(), Stop> {
        self.settings.begin();
        let mut portal = self.portals.remove(name).ok_or_else(|| no_cursor(name))?;
        let done = self.advance(&mut portal, rows_max, described).await;
        // A portal that failed is gone.
        done?;
        self.portals.insert(name.to_owned(), portal);
        Ok(())
    }

    async fn advance(&mut self, portal: &mut Portal, rows_max: u32, described: Described) -> Result<(), Stop> {
        if portal.running().is_none()
            && let Some(prepared) = portal.prepared.clone()
        {
            self.may_go_on(prepared.command())?;
            match &prepared.what {
                PreparedKind::Empty => {
                    reply::bare(&mut self.wire.out, reply::EMPTY_QUERY);
                    return Ok(());
                }
                PreparedKind::Command(PgCommand::Fetch { name, count, moves }) => {
                    return self.fetch(name, *count, *moves, false).await;
                }
                PreparedKind::Command(PgCommand::Execute { name, values }) => {
                    return self.execute_prepared(name, values, false, &portal.formats).await;
                }
                PreparedKind::Command(command) => {
                    let params = std::mem::take(&mut portal.params);
                    let mut reply = self.command(command, &prepared.sql, &prepared.starts, params).await?;
                    reply.fields = formatted(reply.fields, &portal.formats)?;
                    self.send_reply(&reply);
                    return Ok(());
                }
                PreparedKind::Statement => self.launch(portal, &prepared, rows_max).await?,
            }
        }
        let PortalState::Running(delivery) = &mut portal.state else { return Ok(()) };
        match described {
            Described::Before => {}
            Described::Portal => self.describe(&delivery.fields),
            Described::Statement => {
                let declared = portal.prepared.as_ref().map_or(&[][..], |prepared| &prepared.declared);
                reply::parameter_description(&mut self.wire.out, declared);
                self.describe(&formatted(delivery.fields.clone(), &Formats::default())?);
            }
        }
        let most = (rows_max > 0).then(|| u64::from(rows_max));
        let (rows, more) = delivery.send(most, self.settings.zone(), &mut self.wire, &mut self.watch).await?;
        if more {
            reply::bare(&mut self.wire.out, reply::PORTAL_SUSPENDED);
        } else {
            reply::command_complete(&mut self.wire.out, &delivery.tag(rows));
        }
        Ok(())
    }

    async fn launch(&mut self, portal: &mut Portal, prepared: &PreparedStatement, rows_max: u32) -> Result<(), Stop> {
        // Statements up to one `Sync` belong together; one alone needs nothing for that.
        if self.wire.next_kind().is_some_and(|kind| kind != b'S') {
            self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
        }
        let params = std::mem::take(&mut portal.params);
        let bounds = Bounds { parts: rows_max > 0, ..Bounds::default() };
        let mut delivery = self.run_prepared(prepared, params, &portal.formats, bounds).await?;
        keep_told(&mut delivery.fields, portal.told.as_deref())?;
        portal.state = PortalState::Running(Box::new(delivery));
        Ok(())
    }

    pub(super) async fn run_prepared(
        &mut self,
        prepared: &PreparedStatement,
        params: BoundValues,
        formats: &Formats,
        bounds: Bounds,
    ) -> Result<PgDelivery, Stop> {
        let started = self.start(&prepared.sql, params, formats, bounds).await;
        started.map_err(|stop| match stop {
            Stop::Failure(failure) => Stop::Failure(failure.shifted(prepared.before)),
            end @ Stop::End(_) => end,
        })
    }

    /// The next rows of a cursor.
    pub(super) async fn fetch(&mut self, name: &str, count: Count, moves: bool, describes: bool) -> Result<(), Stop> {
        let mut portal = self.portals.remove(name).ok_or_else(|| no_cursor(name))?;
        let PortalState::Running(delivery) = &mut portal.state else { return Err(no_cursor(name).into()) };
        if describes && !moves {
            reply::row_description(&mut self.wire.out, &delivery.fields);
        }
        let most = match count {
            Count::All => None,
            Count::Rows(rows) => Some(u64::from(rows)),
        };
        let (rows, _) = if count == Count::Rows(0) && !moves {
            (delivery.send_again(self.settings.zone(), &mut self.wire, &self.watch)?, true)
        } else if moves {
            delivery.pass(most, &mut self.wire, &mut self.watch).await?
        } else {
            delivery.send(most, self.settings.zone(), &mut self.wire, &mut self.watch).await?
        };
        self.portals.insert(name.to_owned(), portal);
        let verb = if moves { "MOVE" } else { "FETCH" };
        reply::command_complete(&mut self.wire.out, &format!("{verb} {rows}"));
        Ok(())
    }
}

/// Holds the columns to what `Describe` said of them. A parameter alone is text until it is bound,
/// so what was told as text is sent as text, whatever it is now.
fn keep_told(fields: &mut [Field], told: Option<&[PgType]>) -> Result<(), ErrorResponse> {
    let Some(told) = told else { return Ok(()) };
    let changed = || {
        let failure = ErrorResponse::unsupported("a result that changed since it was described");
        failure.with_hint("prepare the statement again")
    };
    if fields.len() != told.len() {
        return Err(changed());
    }
    for (field, told) in fields.iter_mut().zip(told) {
        match told {
            // a number's digits are its value's
            told if told.oid() == field.kind.oid() => {}
            PgType::Text => field.format = Format::Text,
            _ => return Err(changed()),
        }
    }
    Ok(())
}

fn formatted(mut fields: Vec<Field>, formats: &Formats) -> Result<Vec<Field>, ErrorResponse> {
    let formats = formats.of(fields.len())?;
    for (field, format) in fields.iter_mut().zip(formats) {
        field.format = format;
    }
    Ok(fields)
}
