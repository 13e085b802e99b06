//! Messages of a server: those of protocol 3, written behind one another into one buffer.

use bytes::{BufMut, BytesMut};

use super::failure::ErrorResponse;
use crate::encode::pg_rows::{Field, Format, PgType, patch};

/// Where a session stands between statements, as `ReadyForQuery` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    /// The connection ends.
    Fatal,
    Warning,
    Notice,
}

/// Writes a message: its kind, its length, its body.
pub fn message(out: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    let start = out.len();
    out.put_u32(0);
    body(out);
    let length = out.len() - start;
    patch(out, start, length);
}

fn text(out: &mut BytesMut, text: &str) {
    // A zero byte would end the field early.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.put_u8(0);
}

fn count(out: &mut BytesMut, count: usize) {
    out.put_u16(u16::try_from(count).unwrap_or(u16::MAX));
}

pub fn authentication_ok(out: &mut BytesMut) {
    message(out, b'R', |out| out.put_u32(0));
}

pub fn authentication_cleartext(out: &mut BytesMut) {
    message(out, b'R', |out| out.put_u32(3));
}

/// The newest minor version that is spoken, and the protocol options that are not known.
pub fn negotiate_version(out: &mut BytesMut, minor: u32, unknown: &[String]) {
    message(out, b'v', |out| {
        out.put_u32(minor);
        out.put_u32(u32::try_from(unknown.len()).unwrap_or(u32::MAX));
        for name in unknown {
            text(out, name);
        }
    });
}

pub fn parameter_status(out: &mut BytesMut, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name);
        text(out, value);
    });
}

pub fn backend_key(out: &mut BytesMut, process: u32, secret: &[u8]) {
    message(out, b'K', |out| {
        out.put_u32(process);
        out.put_slice(secret);
    });
}

pub fn ready(out: &mut BytesMut, standing: TransactionStatus) {
    let status = match standing {
        TransactionStatus::Idle => b'I',
        TransactionStatus::InTransaction => b'T',
        TransactionStatus::Failed => b'E',
    };
    message(out, b'Z', |out| out.put_u8(status));
}

pub fn row_description(out: &mut BytesMut, fields: &[Field]) {
    message(out, b'T', |out| {
        count(out, fields.len());
        for field in fields {
            text(out, &field.name);
            out.put_u32(0); // the table is not told
            out.put_u16(0);
            out.put_u32(field.kind.oid());
            out.put_i16(field.kind.size());
            out.put_i32(field.kind.modifier());
            out.put_u16(u16::from(field.format == Format::Binary));
        }
    });
}

pub fn parameter_description(out: &mut BytesMut, oids: &[u32]) {
    message(out, b't', |out| {
        count(out, oids.len());
        for oid in oids {
            out.put_u32(*oid);
        }
    });
}

/// Replies that are their type alone.
pub const NO_DATA: u8 = b'n';
pub const PARSE_COMPLETE: u8 = b'1';
pub const BIND_COMPLETE: u8 = b'2';
pub const CLOSE_COMPLETE: u8 = b'3';
pub const PORTAL_SUSPENDED: u8 = b's';
pub const EMPTY_QUERY: u8 = b'I';

pub fn bare(out: &mut BytesMut, kind: u8) {
    message(out, kind, |_| {});
}

pub fn command_complete(out: &mut BytesMut, tag: &str) {
    message(out, b'C', |out| text(out, tag));
}

/// A row of an answer that is made here; numbers and truths follow their column's format.
pub fn made_row(out: &mut BytesMut, fields: &[Field], values: &[Option<String>]) {
    message(out, b'D', |out| {
        count(out, values.len());
        for (field, value) in fields.iter().zip(values) {
            let Some(value) = value else {
                out.put_i32(-1);
                continue;
            };
            let start = out.len();
            out.put_u32(0);
            match (field.format, &field.kind) {
                (Format::Binary, PgType::Int4) => out.put_i32(value.parse().unwrap_or_default()),
                (Format::Binary, PgType::Bool) => out.put_u8(u8::from(value == "t")),
                _ => out.put_slice(value.as_bytes()),
            }
            let length = out.len() - start - 4;
            patch(out, start, length);
        }
    });
}

/// A copy begins: out (`H`) or in (`G`), all columns in one format.
pub fn copy_response(out: &mut BytesMut, kind: u8, is_binary: bool, columns: usize) {
    message(out, kind, |out| {
        out.put_u8(u8::from(is_binary));
        count(out, columns);
        for _ in 0..columns {
            out.put_u16(u16::from(is_binary));
        }
    });
}

pub fn error(out: &mut BytesMut, severity: Severity, failure: &ErrorResponse) {
    message(out, b'E', |out| fields(out, severity, failure));
}

/// `NoticeResponse`: what the caller should know beside the answer.
pub fn notice(out: &mut BytesMut, severity: Severity, notice: &ErrorResponse) {
    message(out, b'N', |out| fields(out, severity, notice));
}

fn fields(out: &mut BytesMut, severity: Severity, failure: &ErrorResponse) {
    let word = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
        Severity::Warning => "WARNING",
        Severity::Notice => "NOTICE",
    };
    let mut field = |kind: u8, value: &str| {
        out.put_u8(kind);
        text(out, value);
    };
    field(b'S', word);
    field(b'V', word);
    field(b'C', failure.sqlstate);
    field(b'M', &failure.message);
    if !failure.detail.is_empty() {
        field(b'D', &failure.detail);
    }
    if let Some(hint) = &failure.hint {
        field(b'H', hint);
    }
    if let Some(position) = failure.position {
        field(b'P', &position.to_string());
    }
    out.put_u8(0);
}

#[cfg(test)]
mod tests {
    use contract::Code;

    use super::*;

    #[test]
    fn a_message_tells_its_length_without_its_kind() {
        let mut out = BytesMut::new();
        command_complete(&mut out, "SELECT 1");
        ready(&mut out, TransactionStatus::Failed);
        assert_eq!(out.as_ref(), b"C\x00\x00\x00\x0dSELECT 1\0Z\x00\x00\x00\x05E");
    }

    #[test]
    fn an_error_has_the_sqlstate_and_the_stable_code_in_its_detail() {
        let mut out = BytesMut::new();
        let mut failure = ErrorResponse::new(Code::TableNotFound, "table t does not exist").with_hint("use u");
        failure.position = Some(15);
        error(&mut out, Severity::Error, &failure);
        let body = String::from_utf8(out[5..].to_vec()).unwrap();
        assert_eq!(
            body,
            "SERROR\0VERROR\0C42P01\0Mtable t does not exist\0DSVC_ERR_404_TABLE_NOT_FOUND\0Huse u\0P15\0\0"
        );
    }

    #[test]
    fn a_notice_without_a_detail_has_no_such_field() {
        let mut out = BytesMut::new();
        let mut corrected = ErrorResponse::new(Code::ColumnMasked, "corrected a name");
        corrected.detail.clear();
        notice(&mut out, Severity::Notice, &corrected);
        assert_eq!(&out[5..], b"SNOTICE\0VNOTICE\0C01000\0Mcorrected a name\0\0");
    }

    #[test]
    fn a_zero_byte_cannot_end_a_field_early() {
        let mut out = BytesMut::new();
        command_complete(&mut out, "a\0b");
        assert_eq!(out.as_ref(), b"C\x00\x00\x00\x07ab\0");
    }
}
