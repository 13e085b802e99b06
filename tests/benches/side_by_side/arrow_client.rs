//! A client of the raw Arrow route that keeps no rows: it reads each message into the same memory, decodes it and counts.

use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::root_as_message;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const READ_BYTES: usize = 512 << 10;
/// What a message begins with: a mark, and the length of its metadata.
const PREFIX_BYTES: usize = 8;

type HttpAnswer = BufReader<TcpStream>;

/// Rows that a statement is answered with.
pub async fn rows(address: &str, key: &str, sql: &str) -> u64 {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answer = BufReader::with_capacity(READ_BYTES, stream);
    let body = json!({"sql": sql}).to_string();
    let head = format!(
        "POST /v1/query/arrow HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    answer.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut rows = ArrowStream::default();
    if let Some(bytes) = length(&mut answer).await {
        rows.read(&mut answer, bytes).await;
        return rows.ended();
    }
    loop {
        let bytes = usize::from_str_radix(&line(&mut answer).await, 16).unwrap();
        if bytes == 0 {
            return rows.ended();
        }
        rows.read(&mut answer, bytes).await;
        assert_eq!(line(&mut answer).await, "", "behind a chunk");
    }
}

/// How long the body is; none where it comes in chunks.
async fn length(answer: &mut HttpAnswer) -> Option<usize> {
    let status = line(answer).await;
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    let mut length = None;
    loop {
        let header = line(answer).await.to_ascii_lowercase();
        if header.is_empty() {
            return length;
        }
        length = header.strip_prefix("content-length: ").map(|bytes| bytes.parse().unwrap()).or(length);
    }
}

async fn line(answer: &mut HttpAnswer) -> String {
    let mut line = String::new();
    answer.read_line(&mut line).await.unwrap();
    line.trim_end().to_owned()
}

/// A stream as far as it has come.
#[derive(Default)]
struct ArrowStream {
    decoder: StreamDecoder,
    /// The message that comes now.
    message: Vec<u8>,
    rows: u64,
}

impl ArrowStream {
    async fn read(&mut self, answer: &mut HttpAnswer, mut bytes: usize) {
        while bytes > 0 {
            let come = answer.fill_buf().await.unwrap();
            let taken = come.len().min(bytes);
            assert!(taken > 0, "the answer has broken off");
            self.add(come.get(..taken).unwrap());
            answer.consume(taken);
            bytes -= taken;
        }
    }

    fn add(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let missing = self.missing();
            let (taken, rest) = piece.split_at(missing.min(piece.len()));
            self.message.reserve(missing);
            self.message.extend_from_slice(taken);
            piece = rest;
            if self.missing() == 0 {
                self.decode();
            }
        }
    }

    /// The rows of the whole stream.
    fn ended(mut self) -> u64 {
        self.decoder.finish().unwrap();
        self.rows
    }

    /// How many bytes of the message, as far as that is known, are still to come.
    fn missing(&self) -> usize {
        self.length() - self.message.len()
    }

    fn length(&self) -> usize {
        let Some(length) = self.message.get(PREFIX_BYTES - size_of::<u32>()..PREFIX_BYTES) else { return PREFIX_BYTES };
        let metadata_ends = PREFIX_BYTES + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        match self.message.get(PREFIX_BYTES..metadata_ends) {
            // the end of the stream
            Some([]) => PREFIX_BYTES,
            Some(metadata) => metadata_ends + usize::try_from(root_as_message(metadata).unwrap().bodyLength()).unwrap(),
            None => metadata_ends,
        }
    }

    fn decode(&mut self) {
        let whole = Buffer::from_vec(std::mem::take(&mut self.message));
        let mut left = whole.clone();
        while let Some(batch) = self.decoder.decode(&mut left).unwrap() {
            self.rows += batch.num_rows() as u64;
        }
        drop(left);
        self.message = whole.into_vec().unwrap_or_default();
        self.message.clear();
    }
}
