//! A client of the PostgreSQL wire that counts rows and looks no further: of what it measures, nearly all is the server's.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ_BYTES: usize = 1 << 20;
/// Version 3.0 of the protocol.
const VERSION: u32 = 196_608;
const PARAMETERS: &[u8] = b"user\0agent\0database\0main\0\0";

/// A connection that was let in.
pub struct CountingClient {
    stream: TcpStream,
    inbox: Vec<u8>,
    /// How much of it is read.
    at: usize,
}

impl CountingClient {
    pub async fn open(address: SocketAddr, key: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self { stream, inbox: Vec::with_capacity(READ_BYTES), at: 0 };
        let length = u32::try_from(2 * size_of::<u32>() + PARAMETERS.len()).unwrap();
        let startup = [length.to_be_bytes().as_slice(), &VERSION.to_be_bytes(), PARAMETERS].concat();
        client.stream.write_all(&startup).await.unwrap();
        assert_eq!(client.message().await, b'R', "a password is asked for");
        client.send(b'p', key).await;
        assert_eq!(client.rows().await, 0);
        client
    }

    /// Rows that the simple protocol answers this with, those of a copy as well.
    pub async fn text(&mut self, sql: &str) -> u64 {
        self.send(b'Q', sql).await;
        self.rows().await
    }

    async fn send(&mut self, kind: u8, text: &str) {
        let length = u32::try_from(size_of::<u32>() + text.len() + 1).unwrap();
        let message = [[kind].as_slice(), &length.to_be_bytes(), text.as_bytes(), &[0]].concat();
        self.stream.write_all(&message).await.unwrap();
    }

    /// Rows until the server waits for the next question.
    async fn rows(&mut self) -> u64 {
        let mut count = 0;
        loop {
            let kind = self.message().await;
            assert_ne!(kind, b'E', "the server has refused it");
            if kind == b'Z' {
                return count;
            }
            count += u64::from(matches!(kind, b'D' | b'd'));
        }
    }

    /// The kind of the next message, which is passed over.
    async fn message(&mut self) -> u8 {
        loop {
            let left = self.inbox.get(self.at..).unwrap_or_default();
            if let &[kind, a, b, c, d, ..] = left {
                let whole = 1 + usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap();
                if left.len() >= whole {
                    self.at += whole;
                    return kind;
                }
            }
            self.inbox.drain(..self.at);
            self.at = 0;
            self.inbox.reserve(READ_BYTES);
            assert!(self.stream.read_buf(&mut self.inbox).await.unwrap() > 0, "the server has closed");
        }
    }
}
