//! The body of an answer with rows, in gRPC's framing: long data are sent from where they are.
//!
//! The library copies each message into memory of its own. So it is handed none here, and the messages travel past it, in the
//! extensions of the response that it makes. All before the first message is still the library's.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use arrow_flight::FlightData;
use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::{self, StreamExt};
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame};
use prost::{Message, length_delimiter_len};
use tonic::Status;

use super::Streamed;

/// Shorter data are copied behind what stands before them.
const COPIED_BYTES: usize = 16 << 10;
/// Where columns may begin in memory.
const ALIGNED_BYTES: usize = 16;
/// What stands before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;
/// The key of `data_body`: the number of the field, and that a length follows. It is the last one of a message.
const DATA_KEY: usize = (1000 << 3) | 2;

/// The messages of an answer, on their way past the library.
#[derive(Clone)]
struct HandedMessages(Arc<Mutex<Option<Streamed<FlightData>>>>);

/// The same answer for the library, which is to see none of its messages.
pub fn handed(response: tonic::Response<Streamed<FlightData>>) -> tonic::Response<Streamed<FlightData>> {
    let (metadata, messages, mut extensions) = response.into_parts();
    extensions.insert(HandedMessages(Arc::new(Mutex::new(Some(messages)))));
    tonic::Response::from_parts(metadata, stream::empty().boxed(), extensions)
}

/// The response of the library, with the messages that were handed past it.
pub fn with_messages(response: http::Response<tonic::body::Body>) -> Response {
    let (mut parts, body) = response.into_parts();
    let messages = parts.extensions.remove::<HandedMessages>().and_then(|handed| {
        let mut messages = handed.0.lock().unwrap_or_else(PoisonError::into_inner);
        messages.take()
    });
    let body = match messages {
        Some(messages) => Body::new(GrpcBody::new(messages)),
        None => Body::new(body),
    };
    Response::from_parts(parts, body)
}

/// Messages, and the status behind the last one.
struct GrpcBody {
    messages: Streamed<FlightData>,
    /// Frames of messages, or the beginning of one.
    made: BytesMut,
    /// The rest of the message that has begun there.
    data: Option<Bytes>,
    /// There once the last message has come.
    status: Option<Status>,
    ended: bool,
}

impl GrpcBody {
    fn new(messages: Streamed<FlightData>) -> Self {
        Self { messages, made: BytesMut::new(), data: None, status: None, ended: false }
    }

    /// Frames messages that are there until some are to be sent; false while there are none.
    fn fill(&mut self, cx: &mut Context<'_>) -> bool {
        while self.status.is_none() {
            let begins = self.made.len();
            let message = match self.messages.poll_next_unpin(cx) {
                Poll::Pending => return begins > 0,
                Poll::Ready(None) => Err(Status::ok("")),
                Poll::Ready(Some(message)) => message,
            };
            match message.and_then(|message| framed(message, &mut self.made)) {
                Ok(data) if !data.is_empty() => {
                    self.data = Some(data);
                    return true;
                }
                Ok(_) if self.made.len() >= COPIED_BYTES => return true,
                Ok(_) => {}
                Err(status) => {
                    self.made.truncate(begins);
                    self.status = Some(status);
                }
            }
        }
        true
    }
}

impl HttpBody for GrpcBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(data) = self.data.take() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if !self.fill(cx) {
            return Poll::Pending;
        }
        if !self.made.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(self.made.split().freeze()))));
        }
        if std::mem::replace(&mut self.ended, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::new();
        let told = self.status.as_ref().map_or(Ok(()), |status| status.add_header(&mut trailers));
        Poll::Ready(Some(told.map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// Writes a message's frame, but for its data where they are long: these are to follow.
fn framed(mut message: FlightData, out: &mut BytesMut) -> Result<Bytes, Status> {
    let mut data = std::mem::take(&mut message.data_body);
    if data.len() >= COPIED_BYTES && !message.data_header.is_empty() {
        message.data_header = padded(&message, data.len());
    }
    let begins = out.len();
    out.put_bytes(0, PREFIX_BYTES);
    let unwritten = |error: prost::EncodeError| Status::internal(format!("a message cannot be encoded: {error}"));
    message.encode(out).map_err(unwritten)?;
    if !data.is_empty() {
        prost::encode_length_delimiter(DATA_KEY, out).map_err(unwritten)?;
        prost::encode_length_delimiter(data.len(), out).map_err(unwritten)?;
    }
    let length = out.len() - begins - PREFIX_BYTES + data.len();
    let length = u32::try_from(length).map_err(|_| Status::out_of_range("a message of rows is over 4 GiB"))?;
    if let Some(place) = out.get_mut(begins + 1..begins + PREFIX_BYTES) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    if data.len() < COPIED_BYTES {
        out.extend_from_slice(&data);
        data = Bytes::new();
    }
    Ok(data)
}

/// The header of a message with zeros behind it, as streams have them too: so many that its data begin where columns may.
/// Clients that read a frame into fresh memory need not copy them then.
fn padded(message: &FlightData, data_bytes: usize) -> Bytes {
    let header = &message.data_header;
    let field = |length: usize| length_delimiter_len(length) + length;
    let others = message.encoded_len() - field(header.len());
    let around = PREFIX_BYTES + others + length_delimiter_len(DATA_KEY) + length_delimiter_len(data_bytes);
    let is_aligned = |length: &usize| (around + field(*length)).is_multiple_of(ALIGNED_BYTES);
    // twice as many, since the length of its length may grow too
    let length = (header.len()..header.len() + 2 * ALIGNED_BYTES).find(is_aligned).unwrap_or(header.len());
    let mut padded = BytesMut::with_capacity(length);
    padded.extend_from_slice(header);
    padded.resize(length, 0);
    padded.freeze()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn message(data: usize) -> FlightData {
        FlightData::new()
            .with_data_header(vec![1_u8; 300])
            .with_app_metadata(vec![2_u8; 3])
            .with_data_body(vec![3_u8; data])
    }

    /// As the library frames it.
    fn expected(message: &FlightData) -> Vec<u8> {
        let bytes = message.encode_to_vec();
        [&[0_u8][..], &u32::try_from(bytes.len()).unwrap().to_be_bytes(), &bytes].concat()
    }

    /// As it is framed here.
    fn sent(message: &FlightData) -> Vec<u8> {
        let mut out = BytesMut::new();
        let rest = framed(message.clone(), &mut out).unwrap();
        [out.as_ref(), rest.as_ref()].concat()
    }

    #[test]
    fn a_short_frame_is_that_of_the_library() {
        let mut out = BytesMut::from(&b"before"[..]);
        let mut all = out.to_vec();
        for data in [0, 1, 127, 128, COPIED_BYTES - 1] {
            assert!(framed(message(data), &mut out).unwrap().is_empty());
            all.extend(expected(&message(data)));
            assert!(out == all, "{data}");
        }
    }

    #[test]
    fn a_long_frame_differs_by_zeros_alone_and_has_its_data_where_columns_may_begin() {
        for (header, data) in (100..150).map(|header| (header, COPIED_BYTES + header)).chain([(300, 700_000)]) {
            let long = message(data).with_data_header(vec![1_u8; header]);
            let mut head = BytesMut::new();
            let rest = framed(long.clone(), &mut head).unwrap();
            assert_eq!((head.len() % ALIGNED_BYTES, rest.len()), (0, data));
            let frame = [head.as_ref(), rest.as_ref()].concat();
            let mut read = FlightData::decode(&frame[PREFIX_BYTES..]).unwrap();
            assert_eq!(frame, expected(&read));
            assert!(read.data_header[header..].iter().all(|byte| *byte == 0));
            read.data_header.truncate(header);
            assert!(read == long, "{header}");
        }
    }

    #[tokio::test]
    async fn messages_are_followed_by_their_status() {
        for (error, code) in [(None, "0"), (Some(Status::unavailable("gone")), "14")] {
            let messages = [2, 100_000, 5, 20, COPIED_BYTES].map(message);
            let all: Vec<u8> = messages.iter().flat_map(sent).collect();
            let items: Vec<_> = messages.map(Ok).into_iter().chain(error.map(Err)).collect();
            let response = handed(tonic::Response::new(stream::iter(items).boxed()));
            let (_, mut left, extensions) = response.into_parts();
            assert!(left.next().await.is_none(), "the library sees none");
            let mut response = http::Response::new(tonic::body::Body::empty());
            *response.extensions_mut() = extensions;
            let body = with_messages(response).into_body().collect().await.unwrap();
            assert_eq!(body.trailers().unwrap().get("grpc-status").unwrap(), code);
            assert!(body.to_bytes() == all);
        }
    }

    #[tokio::test]
    async fn a_message_does_not_wait_for_the_next_one() {
        let messages = stream::iter([Ok(message(7))]).chain(stream::pending());
        let mut body = GrpcBody::new(messages.boxed());
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), expected(&message(7)));
    }
}
