//! `/docs/errors`: every code, what it means, and when to try again. `/docs/errors#CODE` leads to it.

use std::collections::BTreeSet;

use contract::Code;
use contract::codes::Retry;

use super::html::{self, escaped, prose};

const ABOUT: &str = "An error is `{\"error\": {\"code\", \"message\", \"details\", \"request_id\"}}`. \
`code` is the control plane's, `details.stable_code` says more, and the PostgreSQL wire shows the SQLSTATE.";

pub fn page() -> String {
    let mut seen = BTreeSet::new();
    let mut anchored = |code: &'static str| {
        let id = if seen.insert(code) { format!(" id=\"{}\"", escaped(code)) } else { String::new() };
        format!("<code{id}>{}</code>", escaped(code))
    };
    let rows = Code::ALL.iter().map(|code| {
        vec![
            code.http().to_string(),
            anchored(code.control_plane()),
            anchored(code.stable()),
            format!("<code>{}</code>", escaped(code.sqlstate())),
            prose(code.meaning()),
            retry(code.retry()).to_owned(),
        ]
    });
    let table = html::table(&["HTTP", "code", "stable code", "SQLSTATE", "meaning", "try again"], rows);
    html::page("Sluice: errors", &format!("<p>{}</p>{table}", prose(ABOUT)))
}

/// "Retry guidance."
const fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "not with the same input",
        Retry::Once => "once",
        Retry::Backoff => "after 2, 4 and 8 seconds",
        Retry::RetryAfter => "after Retry-After",
    }
}
