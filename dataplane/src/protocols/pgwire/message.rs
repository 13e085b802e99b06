//! Messages of a client: those of protocol 3, read from one frame each.
//!
//! A frame arrives whole and within its limit (`wire.rs`); here its body is taken apart. A body
//! that ends early, holds more than its message, or is not UTF-8 where text stands is refused, so
//! nothing is ever guessed.

use bytes::{Buf, Bytes};

use super::failure::ErrorResponse;
use crate::encode::pg_rows::Format;

/// A message after login.
#[derive(Debug, PartialEq, Eq)]
pub enum FrontendMessage {
    Query(String),
    Parse {
        name: String,
        sql: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe(DescribeTarget),
    Execute {
        portal: String,
        rows_max: u32,
    },
    Close(DescribeTarget),
    Flush,
    Sync,
    Terminate,
    /// `CopyData`, `CopyDone`, `CopyFail` outside a copy: left over from one that failed, and ignored as PostgreSQL does.
    Copy,
    /// The fast path for function calls, which nobody has used for twenty years.
    FunctionCall,
    /// A type that the protocol does not have: what follows it cannot be trusted.
    Unknown(u8),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Bind {
    pub portal: String,
    pub statement: String,
    pub formats: Formats,
    pub values: Vec<Option<Bytes>>,
    pub results: Formats,
}

/// The target of `Describe` and `Close`.
#[derive(Debug, PartialEq, Eq)]
pub enum DescribeTarget {
    Statement(String),
    Portal(String),
}

/// Format codes as they are sent: none for all text, one for all, or one each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Formats(Vec<Format>);

impl Formats {
    pub fn all_binary() -> Self {
        Self(vec![Format::Binary])
    }

    /// The format of each of `count` values.
    pub fn of(&self, count: usize) -> Result<Vec<Format>, ErrorResponse> {
        match self.0.as_slice() {
            [] => Ok(vec![Format::Text; count]),
            [all] => Ok(vec![*all; count]),
            each if each.len() == count => Ok(each.to_vec()),
            each => Err(ErrorResponse::protocol(format!("there are {} format codes for {count} values", each.len()))),
        }
    }
}

impl FrontendMessage {
    /// Takes apart the body of a frame of this kind.
    pub fn read(kind: u8, body: Bytes) -> Result<Self, ErrorResponse> {
        let mut fields = MessageFields(body);
        let message = match kind {
            b'Q' => Self::Query(fields.text()?),
            b'P' => Self::Parse { name: fields.text()?, sql: fields.text()?, types: fields.list(MessageFields::u32)? },
            b'B' => Self::Bind(fields.bind()?),
            b'D' => Self::Describe(fields.target()?),
            b'E' => Self::Execute { portal: fields.text()?, rows_max: fields.u32()? },
            b'C' => Self::Close(fields.target()?),
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            b'd' | b'c' | b'f' => return Ok(Self::Copy),
            b'F' => return Ok(Self::FunctionCall),
            other => return Ok(Self::Unknown(other)),
        };
        fields.end()?;
        Ok(message)
    }
}

/// The fields of a body, from the front.
#[derive(Debug)]
pub struct MessageFields(pub Bytes);

impl MessageFields {
    fn take(&mut self, count: usize) -> Result<Bytes, ErrorResponse> {
        if count > self.0.len() {
            return Err(ErrorResponse::protocol("a message is shorter than its fields"));
        }
        Ok(self.0.split_to(count))
    }

    pub fn u16(&mut self) -> Result<u16, ErrorResponse> {
        Ok(self.take(2)?.get_u16())
    }

    pub fn u32(&mut self) -> Result<u32, ErrorResponse> {
        Ok(self.take(4)?.get_u32())
    }

    /// Text up to a zero byte.
    pub fn text(&mut self) -> Result<String, ErrorResponse> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let bytes = self.take(end.ok_or_else(|| ErrorResponse::protocol("a text has no end"))?)?;
        self.take(1)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| ErrorResponse::encoding())
    }

    fn list<T>(&mut self, each: impl Fn(&mut Self) -> Result<T, ErrorResponse>) -> Result<Vec<T>, ErrorResponse> {
        let count = usize::from(self.u16()?);
        (0..count).map(|_| each(self)).collect()
    }

    fn format(&mut self) -> Result<Format, ErrorResponse> {
        match self.u16()? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(ErrorResponse::protocol(format!("there is no format {other}"))),
        }
    }

    pub fn value(&mut self) -> Result<Option<Bytes>, ErrorResponse> {
        match self.u32()? {
            u32::MAX => Ok(None),
            length => usize::try_from(length)
                .map_err(|_| ErrorResponse::protocol("a value is too long"))
                .and_then(|n| self.take(n))
                .map(Some),
        }
    }

    fn bind(&mut self) -> Result<Bind, ErrorResponse> {
        Ok(Bind {
            portal: self.text()?,
            statement: self.text()?,
            formats: Formats(self.list(Self::format)?),
            values: self.list(Self::value)?,
            results: Formats(self.list(Self::format)?),
        })
    }

    fn target(&mut self) -> Result<DescribeTarget, ErrorResponse> {
        match self.take(1)?.get_u8() {
            b'S' => Ok(DescribeTarget::Statement(self.text()?)),
            b'P' => Ok(DescribeTarget::Portal(self.text()?)),
            _ => Err(ErrorResponse::protocol("a target is a statement or a portal")),
        }
    }

    pub fn end(&self) -> Result<(), ErrorResponse> {
        if self.0.is_empty() { Ok(()) } else { Err(ErrorResponse::protocol("a message is longer than its fields")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: u8, body: &[u8]) -> Result<FrontendMessage, ErrorResponse> {
        FrontendMessage::read(kind, Bytes::copy_from_slice(body))
    }

    #[test]
    fn a_bind_reads_back_with_nulls_and_formats() {
        let body = b"p\0s\0\x00\x01\x00\x01\x00\x02\x00\x00\x00\x02ab\xff\xff\xff\xff\x00\x00";
        let Ok(FrontendMessage::Bind(bind)) = read(b'B', body) else { panic!("a bind") };
        assert_eq!((bind.portal.as_str(), bind.statement.as_str()), ("p", "s"));
        assert_eq!(bind.values, [Some(Bytes::from_static(b"ab")), None]);
        assert_eq!(bind.formats.of(2).unwrap(), [Format::Binary; 2]);
        assert_eq!(bind.results.of(3).unwrap(), [Format::Text; 3]);
    }

    #[test]
    fn a_malformed_body_is_refused() {
        let cases: &[(u8, &[u8])] = &[
            (b'Q', b"select 1"),
            (b'Q', b"select 1\0more"),
            (b'Q', b"\xff\0"),
            (b'P', b"\0select 1\0\x00\x02\x00\x00\x00\x17"),
            (b'B', b"\0\0\x00\x01\x00\x02\x00\x00\x00\x00"),
            (b'B', b"\0\0\x00\x00\x00\x01\x00\x00\x00\x09short\x00\x00"),
            (b'D', b"Xname\0"),
            (b'E', b"\0\x00\x00"),
            (b'S', b"x"),
        ];
        for (kind, body) in cases {
            assert!(read(*kind, body).is_err(), "{} {body:?}", char::from(*kind));
        }
    }

    #[test]
    fn a_type_that_there_is_not_is_told_from_a_malformed_body() {
        assert_eq!(read(b'y', b"x"), Ok(FrontendMessage::Unknown(b'y')));
    }

    #[test]
    fn format_codes_are_none_one_or_one_each() {
        let formats = |codes: &[Format]| Formats(codes.to_vec());
        assert_eq!(formats(&[]).of(2).unwrap(), [Format::Text; 2]);
        assert_eq!(formats(&[Format::Text, Format::Binary]).of(2).unwrap(), [Format::Text, Format::Binary]);
        assert!(formats(&[Format::Text, Format::Binary]).of(3).is_err());
    }
}
