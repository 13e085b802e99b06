//! Comparison of the outcome of a query with its outcome before.
//!
//! "Matched = runs, and count and hash agree where given." A `result_hash` is `sha256:` and the hex
//! SHA-256 of the rows: each row as the JSON array of the query endpoint, compact, the rows sorted
//! as bytes and joined by a newline. Rows have no order unless somebody asks for one, and a hash that
//! depended on it would call equal results different. Where the hash is that of the same rows with
//! every number and boolean written as a text, the values agree and the types do not.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::states::ReplayVerdict;

/// The answer that a query had before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpectedAnswer {
    pub row_count: Option<i64>,
    pub result_hash: Option<String>,
}

/// The answer of the query endpoint, as far as it is compared.
#[derive(Debug, Deserialize)]
pub struct ComparedAnswer {
    pub row_count: i64,
    pub execution_time_ms: f64,
}

/// The rows alone: read only where a hash is to be compared.
#[derive(Debug, Deserialize)]
struct ComparedRows {
    rows: Vec<Vec<Value>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub verdict: ReplayVerdict,
    pub reason: Option<String>,
    pub service_ms: Option<f64>,
}

impl Compared {
    pub fn failed(verdict: ReplayVerdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: Some(reason.into()), service_ms: None }
    }
}

/// Compares an answer of status 200.
pub fn compare(expected: &ExpectedAnswer, body: &[u8]) -> Compared {
    let Ok(answered) = serde_json::from_slice::<ComparedAnswer>(body) else {
        return Compared::failed(ReplayVerdict::Error, "the answer cannot be read");
    };
    let (verdict, reason) = match differs(expected, &answered, body) {
        Some((verdict, reason)) => (verdict, Some(reason)),
        None => (ReplayVerdict::Matched, None),
    };
    Compared { verdict, reason, service_ms: Some(answered.execution_time_ms) }
}

fn differs(expected: &ExpectedAnswer, answered: &ComparedAnswer, body: &[u8]) -> Option<(ReplayVerdict, String)> {
    if let Some(count) = expected.row_count.filter(|count| *count != answered.row_count) {
        return Some((ReplayVerdict::RowCount, format!("{} rows instead of {count}", answered.row_count)));
    }
    let hash = expected.result_hash.as_deref()?;
    let Ok(ComparedRows { rows }) = serde_json::from_slice::<ComparedRows>(body) else {
        return Some((ReplayVerdict::Error, "the rows cannot be read".to_owned()));
    };
    if hash == result_hash(&rows) {
        return None;
    }
    let as_texts: Vec<Vec<Value>> = rows.into_iter().map(|row| row.into_iter().map(as_text).collect()).collect();
    if hash == result_hash(&as_texts) {
        return Some((ReplayVerdict::Types, "the values agree as texts, their types do not".to_owned()));
    }
    Some((ReplayVerdict::Values, "the rows have another hash".to_owned()))
}

pub fn result_hash(rows: &[Vec<Value>]) -> String {
    let mut lines: Vec<String> = rows.iter().map(|row| Value::from(row.clone()).to_string()).collect();
    lines.sort_unstable();
    format!("sha256:{}", hex::encode(Sha256::digest(lines.join("\n"))))
}

/// The hash as it is compared: in lower case, with its prefix; none where it is not one.
pub fn hash_of(text: &str) -> Option<String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let fits = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| format!("sha256:{}", digits.to_ascii_lowercase()))
}

fn as_text(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Bool(value) => Value::String(value.to_string()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(rows: &Value) -> Vec<u8> {
        let count = rows.as_array().unwrap().len();
        json!({"columns": [], "rows": rows, "row_count": count, "execution_time_ms": 2.5}).to_string().into_bytes()
    }

    fn verdict(row_count: Option<i64>, hashed: Option<Value>, rows: &Value) -> ReplayVerdict {
        let hashed: Option<Vec<Vec<Value>>> = hashed.map(|rows| serde_json::from_value(rows).unwrap());
        let expected = ExpectedAnswer { row_count, result_hash: hashed.map(|rows| result_hash(&rows)) };
        compare(&expected, &answer(rows)).verdict
    }

    #[test]
    fn what_is_given_is_compared_and_nothing_else() {
        let rows = json!([[1, "a"], [2, null]]);
        for (row_count, hashed, is) in [
            (None, None, ReplayVerdict::Matched),
            (Some(2), None, ReplayVerdict::Matched),
            (Some(3), None, ReplayVerdict::RowCount),
            (Some(3), Some(rows.clone()), ReplayVerdict::RowCount),
            (None, Some(rows.clone()), ReplayVerdict::Matched),
            (Some(2), Some(json!([[2, null], [1, "a"]])), ReplayVerdict::Matched),
            (None, Some(json!([[1, "a"], [2, "b"]])), ReplayVerdict::Values),
            (None, Some(json!([["1", "a"], ["2", null]])), ReplayVerdict::Types),
        ] {
            assert_eq!(verdict(row_count, hashed.clone(), &rows), is, "{row_count:?} {hashed:?}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let hash = result_hash(&[vec![serde_json::from_str("1.10").unwrap()]]);
        assert_eq!(hash, format!("sha256:{}", hex::encode(Sha256::digest("[1.10]"))));
    }

    #[test]
    fn what_cannot_be_read_has_failed() {
        assert_eq!(compare(&ExpectedAnswer::default(), b"no json").verdict, ReplayVerdict::Error);
    }

    #[test]
    fn a_hash_is_sixty_four_hex_digits() {
        let digits = "AB".repeat(32);
        assert_eq!(hash_of(&digits), hash_of(&format!("sha256:{}", digits.to_lowercase())));
        assert_eq!(hash_of("md5:00"), None);
    }
}
