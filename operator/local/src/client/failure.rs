//! Why a command did not do what it was asked. The class is the exit status:
//!
//! | Exit | Class | Means |
//! |---|---|---|
//! | 1 | other | it failed, or what was looked at is not as it should be |
//! | 2 | usage | the command line, a file or a parameter cannot be used |
//! | 3 | auth | who asks is not known, or may not do that |
//! | 4 | policy | a policy forbids it |
//! | 5 | quota | a limit is used up |
//! | 6 | timeout | it took too long, or was interrupted |

use std::error::Error;
use std::{fmt, io};

use contract::Code;
use serde_json::Value;

use crate::cause::root;

/// The table above, in code.
pub use contract::codes::ExitClass as Class;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    /// The platform said no, and why.
    #[error("{0}")]
    Refused(Box<Refusal>),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    TimedOut(String),
    #[error("interrupted")]
    Interrupted,
    /// What was looked at is not as it should be.
    #[error("{0}")]
    NotSo(String),
    #[error("{0}")]
    Broken(String),
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    pub fn class(&self) -> Class {
        match self {
            Self::Usage(_) => Class::Usage,
            Self::Refused(refusal) => refusal.class(),
            Self::TimedOut(_) | Self::Interrupted => Class::Timeout,
            Self::Unreachable(_) | Self::NotSo(_) | Self::Broken(_) | Self::Output(_) => Class::Other,
        }
    }

    /// A request that was not answered, or not to its end.
    pub fn unanswered(url: &str, error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::TimedOut(format!("{url} did not answer in time"));
        }
        if is_no_tls(error) {
            return Self::Unreachable(format!(
                "{url} does not speak TLS: is it http://, or another port (SLUICE_URL)?"
            ));
        }
        Self::Unreachable(format!("{url} cannot be reached: {}", root(error)))
    }

    /// An answer that broke off on its way: what has come of it is a part.
    pub fn incomplete(query_id: Option<&str>, error: &reqwest::Error) -> Self {
        let why = query_id.map(|id| format!(": the audit entry of query {id} says why")).unwrap_or_default();
        let message = format!("the answer is incomplete, it broke off on its way ({}){why}", root(error));
        if error.is_timeout() { Self::TimedOut(message) } else { Self::Broken(message) }
    }

    /// An answer other than the one that was asked for.
    pub fn unread(status: u16, body: &[u8], url: &str) -> Self {
        match Refusal::read(status, body) {
            Some(refusal) => Self::Refused(Box::new(refusal)),
            None => Self::Broken(format!("{url} answered {status} with what no Sluice says: is the address right?")),
        }
    }

    /// Whoever reads our output has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Says it on standard error.
    #[expect(clippy::print_stderr, reason = "a command says why it failed")]
    pub fn complain(&self) {
        eprintln!("sluice: {self}");
    }
}

/// Whether TLS was spoken to something that answered without.
fn is_no_tls(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidMessage(_));
    }
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| is_no_tls(inner)) || error.source().is_some_and(is_no_tls)
}

/// A refusal of the platform, on either plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    status: u16,
    /// The stable code.
    code: String,
    message: String,
    /// Of an error in the data.
    sqlstate: Option<String>,
    snippet: Option<String>,
    did_you_mean: Option<String>,
    /// A whole statement that would pass in place of the one that was refused.
    suggestion: Option<String>,
}

impl Refusal {
    /// `{error: {…}}`; `None` is an answer that no platform of ours gives.
    pub fn read(status: u16, body: &[u8]) -> Option<Self> {
        let body = serde_json::from_slice::<Value>(body).ok()?;
        let error = body.get("error")?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let detail = |name| text(error.get("details").and_then(|details| details.get(name)));
        Some(Self {
            status,
            code: detail("stable_code").or_else(|| text(error.get("code")))?,
            message: text(error.get("message"))?,
            sqlstate: detail("sqlstate"),
            snippet: detail("snippet"),
            did_you_mean: detail("did_you_mean"),
            suggestion: detail("suggestion"),
        })
    }

    fn row(&self) -> Option<Code> {
        Code::told(&self.code, self.status, self.sqlstate.as_deref())
    }

    /// A newer platform may have codes that this program does not know: their status says enough.
    fn class(&self) -> Class {
        match (self.row(), self.status) {
            (Some(code), _) => code.exit_class(),
            (None, 401 | 403) => Class::Auth,
            (None, 408) => Class::Timeout,
            (None, 429) => Class::Quota,
            (None, _) => Class::Other,
        }
    }

    /// What was probably meant, else what can be done; a message about the caller's own text says it all.
    fn hint(&self) -> Option<String> {
        let near = self.did_you_mean.as_ref().map(|name| format!("did you mean {name}?"));
        let suggestion = self.suggestion.as_ref().map(|sql| format!("this would run: {sql}"));
        let meant: Vec<_> = near.into_iter().chain(suggestion).collect();
        if !meant.is_empty() {
            return Some(meant.join("\nhint: "));
        }
        let advice = || self.row().map(|code| code.advice().to_owned());
        if self.snippet.is_some() { None } else { advice() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        if let Some(hint) = self.hint() {
            write!(f, "\nhint: {hint}")?;
        }
        match &self.sqlstate {
            Some(sqlstate) => write!(f, "\nan error in the data, SQLSTATE {sqlstate} ({})", self.code),
            None => write!(f, "\n{}", self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(status: u16, error: &Value) -> Refusal {
        Refusal::read(status, json!({"error": error}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_refusal_shows_the_place_the_hint_and_the_code() {
        let details = json!({"snippet": "LINE 1: slct\n        ^", "stable_code": "SVC_ERR_400_BAD_SQL"});
        let told = refused(400, &json!({"message": "a statement is expected", "details": details}));
        assert_eq!(told.to_string(), "a statement is expected\nLINE 1: slct\n        ^\nSVC_ERR_400_BAD_SQL");
        let details = json!({"did_you_mean": "orders", "suggestion": "select * from orders"});
        let told = refused(404, &json!({"message": "no", "code": "X", "details": details})).to_string();
        assert_eq!(told, "no\nhint: did you mean orders?\nhint: this would run: select * from orders\nX");
        let details = json!({"did_you_mean": "orders", "stable_code": "SVC_ERR_404_TABLE_NOT_FOUND"});
        let told = refused(404, &json!({"message": "table ordres does not exist", "details": details}));
        assert_eq!(
            told.to_string(),
            "table ordres does not exist\nhint: did you mean orders?\nSVC_ERR_404_TABLE_NOT_FOUND"
        );
        let told = refused(408, &json!({"message": "the query ran longer than 5 ms", "code": "QUERY_TIMEOUT"}));
        let advice = Code::QueryTimeout.advice();
        assert_eq!(told.to_string(), format!("the query ran longer than 5 ms\nhint: {advice}\nQUERY_TIMEOUT"));
        let details = json!({"sqlstate": "22012", "stable_code": "SVC_ERR_400_BAD_SQL"});
        let told = refused(400, &json!({"message": "division by zero", "details": details}));
        let (advice, kind) =
            (Code::DivisionByZero.advice(), "an error in the data, SQLSTATE 22012 (SVC_ERR_400_BAD_SQL)");
        assert_eq!(told.to_string(), format!("division by zero\nhint: {advice}\n{kind}"));
        assert_eq!(Refusal::read(500, b"<html>"), None);
        assert_eq!(Refusal::read(500, b"{}"), None);
    }

    #[test]
    fn the_class_is_the_rows_and_else_the_statuss() {
        let cases = [
            (401, "SVC_ERR_401_INVALID_KEY", 3),
            (403, "SVC_ERR_403_TABLE_DENIED", 4),
            (403, "SVC_ERR_403_OF_TOMORROW", 3),
            (400, "SVC_ERR_400_BAD_SQL", 1),
            (400, "SVC_ERR_400_INVALID_PARAMS", 2),
            (429, "SVC_ERR_429_OF_TOMORROW", 5),
            (408, "QUERY_TIMEOUT", 6),
            (500, "SVC_ERR_500_OF_TOMORROW", 1),
        ];
        for (status, code, exit) in cases {
            let refusal = refused(status, &json!({"code": code, "message": "no"}));
            assert_eq!(Failure::Refused(Box::new(refusal)).class().exit(), exit, "{code}");
        }
    }

    #[test]
    fn the_page_of_this_module_is_the_table() {
        let page = include_str!("failure.rs");
        for class in Class::ALL {
            let row = format!("//! | {} | {} | {} |", class.exit(), class.as_str(), class.meaning());
            assert!(page.contains(&row), "{row}");
        }
    }
}
