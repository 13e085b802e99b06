//! The first packets of a connection: encryption, then what it wants.
//!
//! Packets before TLS are read to their last byte and not one further, so nothing that was sent in
//! the clear can pass for something that was sent inside.

use bytes::Bytes;
use contract::Code;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::SharedConnections;
use super::failure::ErrorResponse;
use super::http;
use super::message::MessageFields;
use super::wire::{ConnectionEnd, Io, Wire};

/// What a client says in the TLS handshake when it starts with one (PostgreSQL 17).
pub const ALPN: &[u8] = b"postgresql";

/// As PostgreSQL's.
const PACKET_BYTES_MAX: usize = 10_000;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
const TLS_HANDSHAKE: u8 = 0x16;

/// A connection that wants a session.
pub struct OpenedConnection {
    pub wire: Wire,
    pub secure: bool,
    pub parameters: Parameters,
}

/// The startup packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The minor version of protocol 3 that the client wants.
    pub minor: u32,
    pub pairs: Vec<(String, String)>,
    /// Protocol options (`_pq_.…`), none of which is known.
    pub options: Vec<String>,
}

enum Packet {
    Ssl,
    GssEnc,
    Cancel {
        process: u32,
        secret: Bytes,
    },
    Startup(Result<Parameters, ErrorResponse>),
    /// No packet at all: these bytes begin a request.
    Http([u8; 4]),
}

/// The kind of a connection by its first bytes.
pub enum Opening {
    Session(OpenedConnection),
    Http {
        io: Box<dyn Io>,
        secure: bool,
    },
    /// It has done what it came for: a cancel request.
    Over,
}

/// Goes through the first packets.
pub async fn open(mut socket: TcpStream, hall: &SharedConnections) -> Result<Opening, ConnectionEnd> {
    let mut first = [0];
    if socket.peek(&mut first).await? > 0 && first == [TLS_HANDSHAKE] {
        return direct(socket, hall).await;
    }
    let (mut ssl_asked, mut gss_asked) = (false, false);
    loop {
        match packet(&mut socket).await? {
            Packet::Ssl if !std::mem::replace(&mut ssl_asked, true) => match hall.tls() {
                Some(tls) => {
                    socket.write_all(b"S").await?;
                    let stream = tls.accept(socket).await?;
                    return inside(stream, hall).await;
                }
                None => socket.write_all(b"N").await?,
            },
            Packet::GssEnc if !std::mem::replace(&mut gss_asked, true) => socket.write_all(b"N").await?,
            Packet::Http(first) if !ssl_asked && !gss_asked => return Ok(as_http(first, socket, false)),
            Packet::Ssl | Packet::GssEnc | Packet::Http(_) => return Err(ConnectionEnd::Closed),
            Packet::Cancel { process, secret } => {
                hall.cancels.cancel(process, &secret);
                return Ok(Opening::Over);
            }
            Packet::Startup(parameters) => return session(socket, false, parameters).await,
        }
    }
}

/// TLS without having asked; the client must have said that it means this protocol, or HTTP.
async fn direct(socket: TcpStream, hall: &SharedConnections) -> Result<Opening, ConnectionEnd> {
    let Some(tls) = hall.tls() else { return Err(ConnectionEnd::Closed) };
    let mut stream = tls.accept(socket).await?;
    if stream.get_ref().1.alpn_protocol() == Some(ALPN) {
        return inside(stream, hall).await;
    }
    // Whoever said nothing, or HTTP, gets that and nothing else.
    match packet(&mut stream).await? {
        Packet::Http(first) => Ok(as_http(first, stream, true)),
        _ => Err(ConnectionEnd::Closed),
    }
}

fn as_http(first: [u8; 4], io: impl Io + 'static, secure: bool) -> Opening {
    Opening::Http { io: http::begun(first, io), secure }
}

async fn inside(mut stream: impl Io + 'static, hall: &SharedConnections) -> Result<Opening, ConnectionEnd> {
    match packet(&mut stream).await? {
        Packet::Startup(parameters) => session(stream, true, parameters).await,
        Packet::Cancel { process, secret } => {
            hall.cancels.cancel(process, &secret);
            Ok(Opening::Over)
        }
        Packet::Ssl | Packet::GssEnc | Packet::Http(_) => Err(ConnectionEnd::Closed),
    }
}

async fn session(
    io: impl Io + 'static,
    secure: bool,
    parameters: Result<Parameters, ErrorResponse>,
) -> Result<Opening, ConnectionEnd> {
    let mut wire = Wire::new(io);
    match parameters {
        Ok(parameters) => Ok(Opening::Session(OpenedConnection { wire, secure, parameters })),
        Err(failure) => {
            super::reply::error(&mut wire.out, super::reply::Severity::Fatal, &failure);
            wire.close().await;
            Err(ConnectionEnd::Closed)
        }
    }
}

async fn packet(io: &mut impl Io) -> Result<Packet, ConnectionEnd> {
    let mut first = [0; 4];
    io.read_exact(&mut first).await?;
    if http::begins(first) {
        return Ok(Packet::Http(first));
    }
    let length = usize::try_from(u32::from_be_bytes(first)).unwrap_or(usize::MAX);
    if !(8..=PACKET_BYTES_MAX).contains(&length) {
        return Err(ConnectionEnd::Closed);
    }
    let mut body = vec![0; length - 4];
    io.read_exact(&mut body).await?;
    Ok(read(Bytes::from(body)))
}

fn read(body: Bytes) -> Packet {
    let mut fields = MessageFields(body);
    match fields.u32() {
        Ok(SSL_REQUEST) => Packet::Ssl,
        Ok(GSSENC_REQUEST) => Packet::GssEnc,
        Ok(CANCEL_REQUEST) => Packet::Cancel { process: fields.u32().unwrap_or(0), secret: fields.0 },
        Ok(version) if version >> 16 == 3 => Packet::Startup(parameters(version & 0xFFFF, fields)),
        Ok(version) => Packet::Startup(Err(unsupported(version))),
        Err(failure) => Packet::Startup(Err(failure)),
    }
}

fn unsupported(version: u32) -> ErrorResponse {
    ErrorResponse::new(
        Code::InvalidParams,
        format!("protocol {}.{} is not spoken: use 3.0", version >> 16, version & 0xFFFF),
    )
    .with_state("0A000")
}

fn parameters(minor: u32, mut fields: MessageFields) -> Result<Parameters, ErrorResponse> {
    let mut parameters = Parameters { minor, ..Parameters::default() };
    loop {
        let name = fields.text()?;
        if name.is_empty() {
            fields.end()?;
            return Ok(parameters);
        }
        let value = fields.text()?;
        if name.starts_with("_pq_.") {
            parameters.options.push(name);
        } else {
            parameters.pairs.push((name, value));
        }
    }
}

impl Parameters {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(found, value)| found == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn startup(bytes: &[u8]) -> Result<Parameters, ErrorResponse> {
        match read(Bytes::copy_from_slice(bytes)) {
            Packet::Startup(parameters) => parameters,
            _ => panic!("a startup packet"),
        }
    }

    #[test]
    fn parameters_are_read_in_pairs() {
        let read = startup(b"\x00\x03\x00\x00user\0agent\0database\0\0_pq_.x\0y\0\0").unwrap();
        assert_eq!((read.get("user"), read.get("database")), (Some("agent"), None));
        assert_eq!(read.options, ["_pq_.x"]);
    }

    #[test]
    fn a_broken_packet_is_refused() {
        for bytes in [
            &b"\x00\x02\x00\x00\0"[..],
            b"\x00\x03\x00\x00user\0agent\0",
            b"\x00\x03\x00\x00user\0a\0\0x",
            b"\x00\x03\x00\x00\xff\0a\0\0",
            b"\x00",
        ] {
            assert!(startup(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_special_requests_are_told_apart() {
        assert!(matches!(read(Bytes::copy_from_slice(&SSL_REQUEST.to_be_bytes())), Packet::Ssl));
        assert!(matches!(read(Bytes::copy_from_slice(&GSSENC_REQUEST.to_be_bytes())), Packet::GssEnc));
        let cancel = [CANCEL_REQUEST.to_be_bytes(), 7_u32.to_be_bytes(), *b"abcd"].concat();
        assert!(
            matches!(read(Bytes::from(cancel)), Packet::Cancel { process: 7, secret } if secret.as_ref() == b"abcd")
        );
    }
}
