//! What can be bound to a parameter.

use serde::{Deserialize, Serialize};

/// One parameter. Text forms (`Decimal`, `Uuid`) are checked by the child, which refuses a bad one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Null,
    Boolean(bool),
    BigInt(i64),
    HugeInt(i128),
    #[serde(with = "bits")]
    Double(f64),
    /// Plain notation: `-12.50`.
    Decimal(String),
    Text(String),
    #[serde(with = "hex_text")]
    Blob(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01T00:00:00.
    Timestamp(i64),
    /// Microseconds since 1970-01-01T00:00:00Z.
    TimestampTz(i64),
    Interval {
        months: i32,
        days: i32,
        micros: i64,
    },
    Uuid(String),
    Json(String),
    /// Of one type; a list in a list is refused.
    List(Vec<Value>),
}

impl Value {
    /// About what it takes.
    pub fn bytes(&self) -> usize {
        let within = match self {
            Self::Text(text) | Self::Decimal(text) | Self::Json(text) | Self::Uuid(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
            Self::List(items) => items.iter().map(Self::bytes).sum(),
            _ => 0,
        };
        size_of::<Self>() + within
    }
}

/// JSON has no NaN and no infinity.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

mod hex_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex::encode(value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        hex::decode(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_the_wire() {
        let values = [
            Value::Null,
            Value::HugeInt(i128::MIN),
            Value::Double(f64::NEG_INFINITY),
            Value::Double(-0.0),
            Value::Blob(vec![0, 255]),
            Value::Text("a\0'\u{1f600}".to_owned()),
            Value::Interval { months: -1, days: 2, micros: i64::MAX },
            Value::List(vec![Value::BigInt(1), Value::Null]),
        ];
        for value in values {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        }
    }
}
