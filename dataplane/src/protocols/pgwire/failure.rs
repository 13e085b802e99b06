//! An error as this protocol shows it: SQLSTATE, message, and the stable code in the detail field.
//!
//! "For PostgreSQL wire connections errors are standard error responses with SQLSTATE and the
//! `SVC_ERR_*` code in the detail field."

use contract::Code;
use serde_json::{Map, Value};

/// The fields of an `ErrorResponse`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    pub sqlstate: &'static str,
    pub message: String,
    /// Stable code first; then what else there is to know.
    pub detail: String,
    pub hint: Option<String>,
    /// Characters from the start of the text the client sent, from 1.
    pub position: Option<usize>,
}

impl ErrorResponse {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            sqlstate: code.sqlstate(),
            message: message.into(),
            detail: code.stable().to_owned(),
            hint: None,
            position: None,
        }
    }

    /// The same row with a SQLSTATE that drivers know better for this protocol's own refusals.
    pub fn with_state(mut self, sqlstate: &'static str) -> Self {
        self.sqlstate = sqlstate;
        self
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The client broke the protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, message).with_state("08P01")
    }

    /// Text that is not UTF-8.
    pub fn encoding() -> Self {
        Self::new(Code::InvalidParams, "text is not valid UTF-8").with_state("22021")
    }

    pub fn unsupported(what: &str) -> Self {
        Self::new(Code::UnsupportedSql, format!("{what} is not supported"))
    }

    /// The position as seen in a longer text that this one starts in, `before` characters on.
    pub fn shifted(mut self, before: usize) -> Self {
        self.position = self.position.map(|position| position + before);
        self
    }
}

impl From<&crate::Error> for ErrorResponse {
    fn from(error: &crate::Error) -> Self {
        let problem = error.problem();
        let hint = hint(&problem.details);
        let position = problem.details.get("position").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        Self { hint, position, ..Self::new(problem.code, problem.message) }
    }
}

/// What there is in place of what is missing, and a statement to try.
fn hint(details: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| details.get(name).and_then(Value::as_str);
    let near = text("did_you_mean").map(|name| format!("did you mean {name}?"));
    let columns = details.get("columns").and_then(Value::as_array).filter(|_| near.is_none());
    let columns = columns.map(|columns| columns.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    let columns = columns.map(|columns| format!("there is {columns}"));
    let suggestion = text("suggestion").map(|sql| format!("this would run: {sql}"));
    let lines: Vec<_> = [near, columns, suggestion].into_iter().flatten().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl From<crate::Error> for ErrorResponse {
    fn from(error: crate::Error) -> Self {
        Self::from(&error)
    }
}
