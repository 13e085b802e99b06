//! Bound arrays: `= ANY($1)` and what else takes a list. One dimension, which is what the engine's lists are here.

use bytes::Bytes;
use engine::Value;
use sql::ast::array_text::unquoted;

use super::{SessionClock, from_binary, from_text};
use crate::encode::pg_rows::scalar::PgScalar;
use crate::protocols::pgwire::failure::ErrorResponse;
use crate::protocols::pgwire::message::MessageFields;

/// `{1,NULL,"a b"}`.
pub fn text(item: PgScalar, written: &str, clock: &SessionClock) -> Option<Value> {
    let mut rest = written.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (value, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let (inside, after) = unquoted(quoted)?;
            (from_text(item, &inside, clock)?, after.trim_start())
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let (bare, after) = rest.split_at_checked(end)?;
            let bare = bare.trim_end();
            if bare.is_empty() || bare.contains(['{', '}', '"', '\\']) {
                return None;
            }
            let value = if bare.eq_ignore_ascii_case("null") { Value::Null } else { from_text(item, bare, clock)? };
            (value, after)
        };
        items.push(value);
        rest = match after.strip_prefix(',') {
            Some(more) => Some(more.trim_start()).filter(|more| !more.is_empty())?,
            None if after.is_empty() => "",
            None => return None,
        };
    }
    Some(Value::List(items))
}

/// Dimensions, flags, type of the items, then length and lower bound, then each item behind its length.
pub fn binary(item: PgScalar, bytes: Bytes, clock: &SessionClock) -> Result<Option<Value>, ErrorResponse> {
    let mut fields = MessageFields(bytes);
    let (dimensions, _has_nulls, _item) = (fields.u32()?, fields.u32()?, fields.u32()?);
    if dimensions == 0 {
        return Ok(Some(Value::List(Vec::new())));
    }
    if dimensions != 1 {
        return Ok(None);
    }
    let (count, _lower) = (fields.u32()?, fields.u32()?);
    let mut items = Vec::new();
    for _ in 0..count {
        let value = match fields.value()? {
            None => Some(Value::Null),
            Some(bytes) => from_binary(item, bytes, clock)?,
        };
        match value {
            Some(value) => items.push(value),
            None => return Ok(None),
        }
    }
    fields.end()?;
    Ok(Some(Value::List(items)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: SessionClock = SessionClock { now: chrono::DateTime::UNIX_EPOCH, zone: chrono_tz::Tz::UTC };

    #[test]
    fn a_written_array_is_its_items() {
        let text = |text: &str| Value::Text(text.to_owned());
        let cases = [
            (PgScalar::Int4, "{}", vec![]),
            (PgScalar::Int4, "{1, 2,NULL}", vec![Value::BigInt(1), Value::BigInt(2), Value::Null]),
            (
                PgScalar::Text,
                "{a,\"b c\",\"d\\\"e\",\"NULL\"}",
                vec![text("a"), text("b c"), text("d\"e"), text("NULL")],
            ),
        ];
        for (item, written, items) in cases {
            assert_eq!(super::text(item, written, &CLOCK), Some(Value::List(items)), "{written}");
        }
        for written in ["1", "{1", "{1,}", "{,1}", "{{1}}", "{a}", "{1} x", "{\"1}"] {
            assert_eq!(super::text(PgScalar::Int4, written, &CLOCK), None, "{written}");
        }
    }

    #[test]
    fn a_binary_array_is_its_items() {
        let words = |words: &[u32]| Bytes::from(words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>());
        let read = |bytes| binary(PgScalar::Int4, bytes, &CLOCK);
        assert_eq!(read(words(&[0, 0, 23])), Ok(Some(Value::List(vec![]))));
        let items = vec![Value::BigInt(7), Value::Null];
        assert_eq!(read(words(&[1, 1, 23, 2, 1, 4, 7, u32::MAX])), Ok(Some(Value::List(items))));
        assert_eq!(read(words(&[2, 0, 23, 1, 1, 1, 1, 4, 7])), Ok(None), "two dimensions");
        assert!(read(words(&[1, 0, 23, 9, 1, 4, 7])).is_err(), "shorter than it says");
    }
}
