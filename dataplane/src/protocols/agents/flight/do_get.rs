//! Statements: described when they are asked for, run when their ticket is redeemed. One that answers without rows is
//! run when it is asked for: a client that expects no rows need not come for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::{Schema, SchemaRef};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    ActionEndTransactionRequest, Command, EndTransaction, ProstMessageExt, TicketStatementQuery,
};
use arrow_flight::{
    Action, CancelFlightInfoResult, CancelStatus, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage,
    SchemaAsIpc, SchemaResult, Ticket,
};
use bytes::Bytes;
use contract::wire::header as names;
use futures::StreamExt;
use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};

use super::handles::{FlightPreparedStatement, FlightStatement, FlightTransaction, Ticketed};
use super::{Streamed, Visit, binding, command, get_tables, row_data};
use crate::request::ask::with_standard_strings;
use crate::{Answer, Ask, Bounds, Error};

/// An answer on its way, with its headers.
pub struct FlightAnswer {
    pub headers: MetadataMap,
    pub data: Streamed<FlightData>,
}

impl Visit {
    /// What will come, and the ticket for it.
    pub(super) async fn info(&self, descriptor: FlightDescriptor) -> Result<FlightInfo, Error> {
        let (ticket, schema) = match command::described(&descriptor)? {
            Command::CommandStatementQuery(query) => {
                let transaction = self.transaction(query.transaction_id.as_ref())?;
                let statement = self.statement(query.query, transaction)?;
                let schema = self.told(&statement).await;
                if has_no_rows(schema.as_ref()) {
                    return self.done(descriptor, &statement).await;
                }
                (self.ticket(statement)?, schema)
            }
            Command::CommandPreparedStatementQuery(query) => {
                let prepared = self.handles.prepared.get(&self.tool_caller.who, &query.prepared_statement_handle)?;
                let schema = prepared.schema.clone().filter(|_| prepared.takes == 0);
                let transaction = self.transaction(prepared.transaction.as_ref())?;
                let mut bound = prepared.bound;
                if bound.len() > 1 {
                    return Err(Error::Unsupported { what: "a query with several rows of values".to_owned() });
                }
                let params = bound.pop().unwrap_or_default();
                let statement = FlightStatement { sql: prepared.sql, params, transaction };
                if has_no_rows(prepared.schema.as_ref()) {
                    return self.done(descriptor, &statement).await;
                }
                (self.ticket(statement)?, schema)
            }
            listed => (descriptor.cmd.clone(), Some(get_tables::schema(&listed)?)),
        };
        let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
        let mut info = FlightInfo::new().with_descriptor(descriptor).with_endpoint(endpoint);
        if let Some(schema) = schema {
            info.schema = encoded(&schema)?;
        }
        Ok(info)
    }

    /// Runs it; there is nothing to come for.
    async fn done(&self, descriptor: FlightDescriptor, statement: &FlightStatement) -> Result<FlightInfo, Error> {
        let changed = self.update(statement).await?;
        let mut info = FlightInfo::new().with_descriptor(descriptor).with_total_records(changed);
        info.schema = encoded(&Schema::empty())?;
        Ok(info)
    }

    /// What a statement answers with, which is known only without parameters. One that cannot be described has no
    /// schema yet: the verdict is spoken, and written down, when it is run.
    async fn told(&self, statement: &FlightStatement) -> Option<SchemaRef> {
        let ask = self.ask(statement);
        let description = Box::pin(self.context.pipeline.describe(&ask)).await.ok()?;
        description.schema.filter(|_| description.parameters.is_empty())
    }

    pub(super) async fn schema(&self, descriptor: FlightDescriptor) -> Result<SchemaResult, Error> {
        let schema = match command::described(&descriptor)? {
            Command::CommandStatementQuery(query) => {
                let transaction = self.transaction(query.transaction_id.as_ref())?;
                let ask = self.ask(&self.statement(query.query, transaction)?);
                Box::pin(self.context.pipeline.describe(&ask)).await?.schema
            }
            Command::CommandPreparedStatementQuery(query) => {
                let prepared = self.handles.prepared.get(&self.tool_caller.who, &query.prepared_statement_handle)?;
                prepared.schema
            }
            listed => Some(get_tables::schema(&listed)?),
        };
        let open = || Error::Unsupported { what: "the schema of a statement that depends on its values".to_owned() };
        let schema = schema.ok_or_else(open)?;
        Ok(SchemaResult { schema: encoded(&schema)? })
    }

    pub(super) async fn get(&self, ticket: &Ticket) -> Result<FlightAnswer, Error> {
        match command::ticketed(&ticket.ticket)? {
            Command::TicketStatementQuery(ticket) => self.redeem(ticket.statement_handle).await,
            listed => {
                let batch = Box::pin(get_tables::rows(self, listed)).await?;
                let schema = batch.schema();
                let data =
                    FlightDataEncoderBuilder::new().with_schema(schema).build(futures::stream::iter([Ok(batch)]));
                let data = data.map(|data| data.map_err(tonic::Status::from)).boxed();
                Ok(FlightAnswer { headers: MetadataMap::new(), data })
            }
        }
    }

    /// Runs what the ticket is for: once, because it may write.
    async fn redeem(&self, handle: Bytes) -> Result<FlightAnswer, Error> {
        let ticketed = self.handles.tickets.get(&self.tool_caller.who, &handle)?;
        if ticketed.redeemed.swap(true, Ordering::AcqRel) {
            return Err(Error::HandleNotFound { what: "ticket" });
        }
        let used = Used { visit: self.clone(), handle };
        let statement = &ticketed.statement;
        let ask = Ask { cancel: ticketed.cancel.clone(), ..self.ask(statement) };
        let answer = self.run(ask).await?;
        let headers = headers(&answer);
        let (Answer { schema, rows, .. }, transaction) = (answer, statement.transaction.clone());
        rows.take_messages();
        let batches = futures::stream::unfold(Some((rows, transaction, used)), |state| async move {
            let (mut rows, transaction, used) = state?;
            match rows.next().await? {
                Ok(batch) => {
                    let message = rows.message_of(&batch);
                    Some((Ok((batch, message)), Some((rows, transaction, used))))
                }
                Err(error) => {
                    drop(rows);
                    fail(transaction.as_ref()).await;
                    Some((Err(FlightError::from(used.visit.status(&error))), None))
                }
            }
        });
        Ok(FlightAnswer { headers, data: row_data::of(schema, batches) })
    }

    /// Runs it; a client that leaves before there is an answer cancels it.
    async fn run(&self, ask: Ask) -> Result<Answer, Error> {
        let (give_up, transaction) = (ask.cancel.clone().drop_guard(), ask.transaction.clone());
        // Whoever holds it runs a statement: then it has not failed.
        if transaction.as_ref().is_some_and(|one| one.try_lock().is_ok_and(|one| one.has_failed())) {
            return Err(Error::FailedTransaction);
        }
        let answer = Box::pin(self.context.pipeline.run(ask)).await;
        give_up.disarm();
        if answer.is_err() {
            fail(transaction.as_ref()).await;
        }
        answer
    }

    /// Runs it to its end; how many rows it changed, or -1 where it changes none.
    pub(super) async fn update(&self, statement: &FlightStatement) -> Result<i64, Error> {
        let mut answer = self.run(self.ask(statement)).await?;
        while let Some(batch) = answer.rows.next().await {
            if let Err(error) = batch {
                drop(answer);
                fail(statement.transaction.as_ref()).await;
                return Err(error);
            }
        }
        Ok(answer.changed.map_or(-1, |rows| i64::try_from(rows).unwrap_or(i64::MAX)))
    }

    pub(super) async fn act(&self, action: &Action) -> Result<Option<Bytes>, Error> {
        let who = &self.tool_caller.who;
        let result = match action.r#type.as_str() {
            command::CREATE_PREPARED => self.prepare(command::body(action)?).await?.as_any().encode_to_vec(),
            command::CLOSE_PREPARED => {
                let ActionClosePreparedStatementRequest { prepared_statement_handle } = command::body(action)?;
                self.handles.prepared.take(who, &prepared_statement_handle)?;
                return Ok(None);
            }
            command::BEGIN => {
                let ActionBeginTransactionRequest {} = command::body(action)?;
                let transaction_id = self.begin()?;
                ActionBeginTransactionResult { transaction_id }.as_any().encode_to_vec()
            }
            command::END => {
                self.end(&command::body(action)?).await?;
                return Ok(None);
            }
            command::CANCEL_QUERY => {
                let ActionCancelQueryRequest { info } = command::body(action)?;
                let result = self.cancel(&command::cancelled(command::flight(action, Some(info))?)?)?.into();
                ActionCancelQueryResult { result }.as_any().encode_to_vec()
            }
            command::CANCEL_FLIGHT => {
                let status = self.cancel(&command::cancelled(command::flight(action, None)?)?)?;
                CancelFlightInfoResult::new(status).encode_to_vec()
            }
            other => return Err(Error::Unsupported { what: format!("action {other}") }),
        };
        Ok(Some(result.into()))
    }

    /// Keeps a statement. One that cannot be described is kept too: its verdict is spoken when it is run.
    async fn prepare(
        &self,
        request: ActionCreatePreparedStatementRequest,
    ) -> Result<ActionCreatePreparedStatementResult, Error> {
        let ActionCreatePreparedStatementRequest { query, transaction_id } = request;
        let transaction = self.transaction(transaction_id.as_ref())?;
        let statement = self.statement(query, transaction)?;
        let ask = self.ask(&statement);
        let description = Box::pin(self.context.pipeline.describe(&ask)).await.ok();
        let parameters = match &description {
            Some(description) => self.context.pipeline.taken(description).await?,
            None => SchemaRef::new(Schema::empty()),
        };
        let schema = description.and_then(|description| description.schema);
        let result = ActionCreatePreparedStatementResult {
            dataset_schema: schema.as_deref().map(encoded).transpose()?.unwrap_or_default(),
            parameter_schema: encoded(&parameters)?,
            prepared_statement_handle: Bytes::new(),
        };
        let bytes = statement.sql.len();
        let takes = parameters.fields().len();
        let prepared = FlightPreparedStatement {
            sql: statement.sql,
            transaction: transaction_id,
            schema,
            takes,
            bound: Vec::new(),
        };
        let prepared_statement_handle = self.handles.prepared.put(&self.tool_caller.who, prepared, bytes)?;
        Ok(ActionCreatePreparedStatementResult { prepared_statement_handle, ..result })
    }

    /// The transaction ends by itself when it has been idle for too long, or we leave.
    fn begin(&self) -> Result<Bytes, Error> {
        let transactions = self.handles.transactions.clone();
        let handle =
            transactions.put(&self.tool_caller.who, self.context.pipeline.begin(self.tool_caller.who.clone()), 0)?;
        let (kept, draining) = (handle.clone(), self.context.ending.draining.clone());
        self.context.ending.spawn(async move {
            draining.run_until_cancelled(transactions.outlive(&kept)).await;
        });
        Ok(handle)
    }

    async fn end(&self, request: &ActionEndTransactionRequest) -> Result<(), Error> {
        let commits = match request.action() {
            EndTransaction::Commit => true,
            EndTransaction::Rollback => false,
            EndTransaction::Unspecified => {
                let message = "action is COMMIT or ROLLBACK".to_owned();
                return Err(Error::InvalidParams { field: "action", message });
            }
        };
        let transaction = self.handles.transactions.take(&self.tool_caller.who, &request.transaction_id)?;
        let mut transaction = transaction.lock().await;
        if commits { transaction.commit().await } else { transaction.rollback().await }
    }

    fn cancel(&self, handle: &Bytes) -> Result<CancelStatus, Error> {
        let ticketed = self.handles.tickets.get(&self.tool_caller.who, handle)?;
        ticketed.cancel.cancel();
        if ticketed.redeemed.load(Ordering::Acquire) {
            return Ok(CancelStatus::Cancelling);
        }
        self.handles.tickets.take(&self.tool_caller.who, handle)?;
        Ok(CancelStatus::Cancelled)
    }

    fn ticket(&self, statement: FlightStatement) -> Result<Bytes, Error> {
        let bytes = statement.sql.len() + binding::size(&statement.params);
        let cancel = self.context.ending.closed.child_token();
        let ticketed = Arc::new(Ticketed { statement, cancel, redeemed: AtomicBool::new(false) });
        let statement_handle = self.handles.tickets.put(&self.tool_caller.who, ticketed, bytes)?;
        Ok(TicketStatementQuery { statement_handle }.as_any().encode_to_vec().into())
    }

    pub(super) fn transaction(&self, handle: Option<&Bytes>) -> Result<Option<FlightTransaction>, Error> {
        let handle = handle.filter(|handle| !handle.is_empty());
        handle.map(|handle| self.handles.transactions.get(&self.tool_caller.who, handle)).transpose()
    }

    /// A text of the client, as the call's options have it read.
    pub(super) fn statement(
        &self,
        text: String,
        transaction: Option<FlightTransaction>,
    ) -> Result<FlightStatement, Error> {
        let sql = with_standard_strings(text, self.options.strings)?;
        Ok(FlightStatement { sql, params: Vec::new(), transaction })
    }

    pub(super) fn ask(&self, statement: &FlightStatement) -> Ask {
        let ask = self.tool_caller.ask(&self.context.pipeline, statement.sql.clone(), None);
        Ask {
            params: statement.params.clone(),
            types: Vec::new(),
            transaction: statement.transaction.clone(),
            cancel: self.context.ending.closed.child_token(),
            bounds: Bounds { heal: self.options.heal, strings: self.options.strings, ..ask.bounds },
            ..ask
        }
    }
}

/// A ticket that was redeemed: gone once its answer is.
struct Used {
    visit: Visit,
    handle: Bytes,
}

impl Drop for Used {
    fn drop(&mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.visit.handles.tickets.take(&self.visit.tool_caller.who, &self.handle);
    }
}

/// A statement of it went wrong: only a rollback is accepted now.
pub async fn fail(transaction: Option<&FlightTransaction>) {
    if let Some(transaction) = transaction {
        let mut transaction = transaction.lock().await;
        // The engine's side ends now, and with it what it holds.
        let _ = transaction.rollback().await;
        transaction.fail();
    }
}

/// Is it known to answer without rows?
fn has_no_rows(told: Option<&SchemaRef>) -> bool {
    told.is_some_and(|schema| schema.fields().is_empty())
}

fn headers(answer: &Answer) -> MetadataMap {
    let mut headers = MetadataMap::new();
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = MetadataValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    put(names::QUERY_ID, answer.query_id.as_str());
    put(names::CACHE_HIT, if answer.cache_hit { "true" } else { "false" });
    put(names::COLUMNS_MASKED, &answer.columns_masked.join(","));
    if let Some(healed) = &answer.healed {
        put(names::QUERY_HEALED, &healed.header());
    }
    headers
}

/// A schema as Flight carries it.
fn encoded(schema: &Schema) -> Result<Bytes, Error> {
    let message: Result<IpcMessage, _> =
        SchemaAsIpc::new(schema, &arrow::ipc::writer::IpcWriteOptions::default()).try_into();
    let IpcMessage(bytes) =
        message.map_err(|error| Error::Unverified { why: format!("a schema cannot be encoded: {error}") })?;
    Ok(bytes)
}
