//! Whether a server accepts sessions, asked as a client asks: a start-up message, and the first byte of the
//! answer. A server that is still recovering accepts the connection and answers with an error,
//! so an open socket alone says nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;
/// `AuthenticationOk`, or any other request to authenticate.
const AUTHENTICATION: u8 = b'R';

pub(super) async fn answers(socket: &Path, user: &str) -> bool {
    matches!(timeout(ANSWER_MAX, first_byte(socket, user)).await, Ok(Ok(AUTHENTICATION)))
}

async fn first_byte(socket: &Path, user: &str) -> io::Result<u8> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&startup(user)).await?;
    stream.read_u8().await
}

fn startup(user: &str) -> Vec<u8> {
    let body = format!("user\0{user}\0database\0postgres\0\0");
    let length = i32::try_from(body.len() + 8).unwrap_or(i32::MAX);
    [&length.to_be_bytes()[..], &PROTOCOL.to_be_bytes()[..], body.as_bytes()].concat()
}
