//! The data of an answer: its schema, then its rows, as the engine has sent them where they may stay so.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::{FlightDataEncoderBuilder, GRPC_TARGET_MAX_FLIGHT_SIZE_BYTES};
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, SchemaAsIpc};
use engine::RowMessage;
use futures::stream::{self, Stream, StreamExt};
use tonic::Status;

use super::Streamed;

/// Rows, and the message that they came as.
pub type FlightRows = (RecordBatch, Option<RowMessage>);

/// The messages of a call that answers with these rows.
pub fn of(
    schema: SchemaRef,
    rows: impl Stream<Item = Result<FlightRows, FlightError>> + Send + 'static,
) -> Streamed<FlightData> {
    // dictionaries are written out for clients that know none: then no message stays as it came
    if schema.flattened_fields().iter().any(|field| matches!(field.data_type(), DataType::Dictionary(..))) {
        let batches = rows.map(|rows| rows.map(|(batch, _)| batch));
        let data = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
        return data.map(|data| data.map_err(Status::from)).boxed();
    }
    let head = FlightData::from(SchemaAsIpc::new(&schema, &IpcWriteOptions::default()));
    let data =
        rows.flat_map(move |rows| match rows.map(|(batch, message)| (batch, message.as_ref().and_then(sent_on))) {
            Ok((_, Some(data))) => stream::iter([Ok(data)]).left_stream(),
            Ok((batch, None)) => {
                let encoded = FlightDataEncoderBuilder::new().with_schema(schema.clone());
                encoded.build(stream::iter([Ok(batch)])).skip(1).right_stream() // behind its schema
            }
            Err(error) => stream::iter([Err(error)]).left_stream(),
        });
    stream::iter([Ok(head)]).chain(data).map(|data| data.map_err(Status::from)).boxed()
}

/// The same message in Flight's own, unless it is longer than clients take one.
fn sent_on(message: &RowMessage) -> Option<FlightData> {
    let body = message.body();
    let is_short = body.len() <= GRPC_TARGET_MAX_FLIGHT_SIZE_BYTES;
    is_short.then(|| FlightData::new().with_data_header(message.metadata()).with_data_body(body))
}
