//! The three error bodies of the specification, rendered from a row of the code table.

use serde_json::{Map, Value, json};

use crate::{Code, RequestId, Timestamp};

/// The page that explains the codes, at the control plane.
const ERRORS: &str = "/docs/errors";

/// Longest message, and longest text among the particulars, in characters: both may hold what a caller wrote.
pub const TEXT_CHARACTERS_MAX: usize = 2_000;

/// An error, ready for any body: the row, words for the caller, and particulars.
#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    /// Lower case, names the thing, says what to do, shows no internals.
    pub message: String,
    pub details: Map<String, Value>,
    /// Seconds for `Retry-After`, for rows that ask the caller to wait.
    pub retry_after_s: Option<u64>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: bounded(message.into()), details: Map::new(), retry_after_s: None }
    }

    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(bounded(text)),
            other => other,
        };
        self.details.insert(name.to_owned(), value);
        self
    }

    pub fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// Body 1: `{error: {code, message, details, request_id}}`, for every route of the control plane.
    pub fn control_plane(&self, request_id: &RequestId) -> Value {
        let mut details = self.told();
        details.insert("stable_code".to_owned(), self.code.stable().into());
        details.insert("doc_url".to_owned(), format!("{ERRORS}#{}", self.code.stable()).into());
        json!({"error": {
            "code": self.code.control_plane(),
            "message": self.message,
            "details": details,
            "request_id": request_id,
        }})
    }

    /// Body 2: `{error: {code, status, message, request_id, timestamp, details}}`, for what a data plane answers itself.
    pub fn machine(&self, request_id: &RequestId, now: Timestamp) -> Value {
        json!({"error": {
            "code": self.code.stable(),
            "status": self.code.http(),
            "message": self.message,
            "request_id": request_id,
            "timestamp": now,
            "details": self.told(),
        }})
    }

    /// The particulars; of an error in the data its SQLSTATE too, since a bad statement has the same code.
    fn told(&self) -> Map<String, Value> {
        let mut details = self.details.clone();
        if self.code.is_of_data() {
            details.insert("sqlstate".to_owned(), self.code.sqlstate().into());
        }
        details
    }

    /// Body 3: `{error: <code string>, message}`, for the Arrow endpoints.
    pub fn arrow(&self) -> Value {
        json!({"error": self.code.stable(), "message": self.message})
    }
}

fn bounded(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(TEXT_CHARACTERS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        Problem::new(Code::TableNotFound, "table sales.ordres does not exist").detail("table", "ordres")
    }

    #[test]
    fn the_three_bodies_have_the_specified_members() {
        let id = RequestId::from("req_1");
        let one = problem().control_plane(&id);
        assert_eq!(one["error"]["code"], "NOT_FOUND");
        assert_eq!(one["error"]["details"]["stable_code"], "SVC_ERR_404_TABLE_NOT_FOUND");
        assert_eq!(one["error"]["details"]["doc_url"], "/docs/errors#SVC_ERR_404_TABLE_NOT_FOUND");
        assert_eq!(one["error"]["request_id"], "req_1");
        let two = problem().machine(&id, chrono::DateTime::UNIX_EPOCH);
        let members: Vec<_> = two["error"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["code", "status", "message", "request_id", "timestamp", "details"]);
        assert_eq!(two["error"]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(problem().arrow()["error"], "SVC_ERR_404_TABLE_NOT_FOUND");
    }

    #[test]
    fn an_error_in_the_data_is_told_from_a_bad_statement_by_its_sqlstate() {
        let id = RequestId::from("req_1");
        for (code, sqlstate) in [(Code::DivisionByZero, Some("22012")), (Code::BadSql, None), (Code::Conflict, None)] {
            let problem = Problem::new(code, "no");
            let bodies = [problem.control_plane(&id), problem.machine(&id, chrono::DateTime::UNIX_EPOCH)];
            for body in bodies {
                assert_eq!(body["error"]["details"].get("sqlstate").and_then(Value::as_str), sqlstate, "{body}");
            }
            assert_eq!(Code::told(code.stable(), code.http(), sqlstate), Some(code));
        }
        assert_eq!(Code::told("SVC_ERR_400_BAD_SQL", 400, Some("99999")), Some(Code::BadSql));
        assert_eq!(Code::told("SVC_ERR_400_BAD_SQL", 500, None), None);
    }

    #[test]
    fn what_a_caller_wrote_is_told_back_in_part() {
        let long = "ä".repeat(TEXT_CHARACTERS_MAX + 1);
        let problem = Problem::new(Code::BadSql, long.clone()).detail("construct", long).detail("limit", 7);
        for text in [problem.message.as_str(), problem.details["construct"].as_str().unwrap()] {
            assert_eq!((text.chars().count(), text.chars().last()), (TEXT_CHARACTERS_MAX + 1, Some('…')));
        }
        assert_eq!(problem.details["limit"], 7);
        let most = "x".repeat(TEXT_CHARACTERS_MAX);
        assert_eq!(Problem::new(Code::BadSql, most.clone()).message, most);
    }
}
