//! The stream of `DoPut`: messages, each in time, and the batches of rows in them.

use std::time::Duration;

use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt};
use tonic::Status;

use crate::Error;

/// One message: a batch, or a part of one.
pub const MESSAGE_BYTES_MAX: usize = 32 << 20;
const NEXT_WITHIN: Duration = Duration::from_secs(30);

pub fn refused(message: impl Into<String>) -> Error {
    Error::InvalidParams { field: "params", message: message.into() }
}

/// The next message, if it comes in time.
pub async fn next(
    sent: &mut (impl Stream<Item = Result<FlightData, Status>> + Unpin),
) -> Result<Option<FlightData>, Error> {
    match tokio::time::timeout(NEXT_WITHIN, sent.next()).await {
        Ok(message) => message.transpose().map_err(|status| broken(&status)),
        Err(_) => Err(refused("the rest did not come within 30 seconds")),
    }
}

fn broken(status: &Status) -> Error {
    match status.code() {
        tonic::Code::OutOfRange => {
            refused(format!("a message has at most {} MiB: send smaller batches", MESSAGE_BYTES_MAX >> 20))
        }
        _ => refused("the call broke off"),
    }
}

/// The batches of a call, whose first message is here.
pub fn batches(
    first: FlightData,
    sent: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> FlightRecordBatchStream {
    let messages = futures::stream::unfold((Some(first), sent), |(first, mut sent)| async move {
        let message = match first {
            Some(first) => Ok(first),
            None => next(&mut sent).await.transpose()?,
        };
        let message = message.map_err(|error| FlightError::ExternalError(Box::new(error)));
        Some((message, (None, sent)))
    });
    // The descriptor may come alone.
    let messages = messages.filter(|message| {
        let is_empty = message.as_ref().is_ok_and(|message| message.data_header.is_empty());
        std::future::ready(!is_empty)
    });
    FlightRecordBatchStream::new_from_flight_data(messages)
}

/// What went wrong on the way to a batch.
pub fn unreadable(error: FlightError) -> Error {
    match error {
        FlightError::ExternalError(error) => match error.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => refused(format!("the values cannot be read: {other}")),
        },
        other => refused(format!("the values cannot be read: {other}")),
    }
}
