//! Arrow Flight SQL on 5440, beside `/mcp`: "Columnar delivery: Apache Arrow IPC over REST, and Arrow Flight (gRPC) on
//! port 5440 (Cloud and Enterprise tiers)"; "command is a SQL statement".
//!
//! A command is a message of Flight SQL, or a statement as plain text. A statement is described when it is asked for
//! and run when its ticket is redeemed: one ask, with whatever verdict it has at every other protocol. Each call carries
//! a credential, which is checked here; what is kept between two calls (`handles`) is its caller's alone.

mod binding;
mod columns;
mod command;
mod do_get;
mod do_put;
mod get_tables;
mod handles;
mod handshake;
mod ingest;
mod put_stream;
mod row_body;
mod row_data;
mod sql_info;
mod status;

use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, SchemaResult, Ticket,
};
use axum::Router;
use contract::RequestId;
use futures::stream::{self, BoxStream, StreamExt};
use http::Extensions;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Response, Status, Streaming};
use tower::util::MapResponse;

use super::super::http::BODY_BYTES_MAX;
use super::super::request_id;
use super::AgentsContext;
use crate::Error;
use crate::agents::tool_caller::ToolCaller;
use handles::FlightHandles;
use handshake::CallOptions;

pub(in crate::protocols) use columns::{ByteBudget, FlightColumns};
pub(in crate::protocols) use ingest::IngestFields;
pub(in crate::protocols) use put_stream::MESSAGE_BYTES_MAX;
pub(super) use status::{is_grpc, of as status_of};

type FlightResponse<T> = Result<Response<T>, Status>;
type Streamed<T> = BoxStream<'static, Result<T, Status>>;

/// Every call of the service has a path below this.
const PATH: &str = "/arrow.flight.protocol.FlightService/{call}";
/// The one whose messages are rows; it reads none before the credential is checked.
const PUT: &str = "/arrow.flight.protocol.FlightService/DoPut";
/// The one that answers with rows.
const GET: &str = "/arrow.flight.protocol.FlightService/DoGet";

pub(super) fn routes(context: &AgentsContext) -> Router {
    let service = Flight { handles: FlightHandles::new(&context.pipeline.entropy), context: context.clone() };
    let putting = FlightServiceServer::new(service).max_decoding_message_size(put_stream::MESSAGE_BYTES_MAX);
    let service = putting.clone().max_decoding_message_size(BODY_BYTES_MAX);
    Router::new()
        .route_service(PUT, putting)
        .route_service(GET, MapResponse::new(service.clone(), row_body::with_messages))
        .route_service(PATH, service)
}

#[derive(Debug, Clone)]
struct Flight {
    context: AgentsContext,
    handles: FlightHandles,
}

/// One call of somebody whose credential was checked.
#[derive(Debug, Clone)]
struct Visit {
    context: AgentsContext,
    handles: FlightHandles,
    tool_caller: ToolCaller,
    options: CallOptions,
    /// The drain waits until it is answered to the last row.
    _serving: TaskTrackerToken,
}

impl Flight {
    async fn enter(&self, metadata: &MetadataMap, extensions: &Extensions) -> Result<Visit, Status> {
        let serving = self.context.ending.serving();
        let request_id = request_id::of(&self.context.pipeline, metadata.as_ref());
        let admitted = handshake::admit(&self.context, &self.handles, metadata.as_ref(), extensions, &request_id).await;
        let asked = admitted.and_then(|tool_caller| Ok((tool_caller, CallOptions::of(metadata.as_ref())?)));
        let (tool_caller, options) = asked.map_err(|error| self.status(&error, &request_id))?;
        let (context, handles) = (self.context.clone(), self.handles.clone());
        Ok(Visit { context, handles, tool_caller, options, _serving: serving })
    }

    fn status(&self, error: &Error, request_id: &RequestId) -> Status {
        status::of(error, request_id, self.context.pipeline.clock.now())
    }

    /// What the protocol has and this service does not.
    async fn absent<T>(&self, metadata: &MetadataMap, extensions: &Extensions, what: &str) -> FlightResponse<T> {
        let visit = self.enter(metadata, extensions).await?;
        visit.reply(Err(Error::Unsupported { what: what.to_owned() }))
    }
}

impl Visit {
    fn reply<T>(&self, answered: Result<T, Error>) -> FlightResponse<T> {
        let request_id = &self.tool_caller.request_id;
        let mut response = answered.map(Response::new).map_err(|error| self.status(&error))?;
        if let Ok(value) = MetadataValue::try_from(request_id.as_str()) {
            response.metadata_mut().insert(contract::wire::header::REQUEST_ID, value);
        }
        Ok(response)
    }

    fn status(&self, error: &Error) -> Status {
        status::of(error, &self.tool_caller.request_id, self.context.pipeline.clock.now())
    }
}

fn one<T: Send + 'static>(item: T) -> Streamed<T> {
    stream::iter([Ok(item)]).boxed()
}

#[tonic::async_trait]
impl FlightService for Flight {
    type HandshakeStream = Streamed<HandshakeResponse>;
    type ListFlightsStream = Streamed<FlightInfo>;
    type DoGetStream = Streamed<FlightData>;
    type DoPutStream = Streamed<PutResult>;
    type DoActionStream = Streamed<arrow_flight::Result>;
    type ListActionsStream = Streamed<ActionType>;
    type DoExchangeStream = Streamed<FlightData>;

    async fn handshake(&self, request: Request<Streaming<HandshakeRequest>>) -> FlightResponse<Self::HandshakeStream> {
        let (metadata, extensions, _) = request.into_parts();
        let request_id = request_id::of(&self.context.pipeline, metadata.as_ref());
        let token = handshake::handshake(&self.context, &self.handles, metadata.as_ref(), &extensions).await;
        let token = token.map_err(|error| self.status(&error, &request_id))?;
        let payload = HandshakeResponse { protocol_version: 0, payload: token.clone().into() };
        let mut response = Response::new(one(payload));
        if let Ok(value) = MetadataValue::try_from(format!("Bearer {token}")) {
            response.metadata_mut().insert("authorization", value);
        }
        Ok(response)
    }

    async fn list_flights(&self, request: Request<Criteria>) -> FlightResponse<Self::ListFlightsStream> {
        let (metadata, extensions, _) = request.into_parts();
        self.absent(&metadata, &extensions, "ListFlights").await
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> FlightResponse<FlightInfo> {
        let (metadata, extensions, descriptor) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        let answered = Box::pin(visit.info(descriptor)).await;
        visit.reply(answered)
    }

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> FlightResponse<PollInfo> {
        let (metadata, extensions, _) = request.into_parts();
        self.absent(&metadata, &extensions, "PollFlightInfo").await
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> FlightResponse<SchemaResult> {
        let (metadata, extensions, descriptor) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        let answered = Box::pin(visit.schema(descriptor)).await;
        visit.reply(answered)
    }

    async fn do_get(&self, request: Request<Ticket>) -> FlightResponse<Self::DoGetStream> {
        let (metadata, extensions, ticket) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        let do_get::FlightAnswer { headers, data } = match Box::pin(visit.get(&ticket)).await {
            Ok(sending) => sending,
            Err(error) => return Err(visit.status(&error)),
        };
        let mut response = visit.reply(Ok(data))?;
        response.metadata_mut().as_mut().extend(headers.into_headers());
        Ok(row_body::handed(response))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> FlightResponse<Self::DoPutStream> {
        let (metadata, extensions, sent) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        let answered = Box::pin(visit.put(sent)).await;
        visit.reply(answered.map(|metadata| one(PutResult { app_metadata: metadata })))
    }

    async fn do_action(&self, request: Request<Action>) -> FlightResponse<Self::DoActionStream> {
        let (metadata, extensions, action) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        let answered = Box::pin(visit.act(&action)).await;
        visit.reply(answered.map(|body| match body {
            Some(body) => one(arrow_flight::Result { body }),
            None => stream::empty().boxed(),
        }))
    }

    async fn list_actions(&self, request: Request<Empty>) -> FlightResponse<Self::ListActionsStream> {
        let (metadata, extensions, Empty {}) = request.into_parts();
        let visit = self.enter(&metadata, &extensions).await?;
        visit.reply(Ok(stream::iter(command::actions().map(Ok)).boxed()))
    }

    async fn do_exchange(&self, request: Request<Streaming<FlightData>>) -> FlightResponse<Self::DoExchangeStream> {
        let (metadata, extensions, _) = request.into_parts();
        self.absent(&metadata, &extensions, "DoExchange").await
    }
}
