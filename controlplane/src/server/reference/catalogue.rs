//! `/docs/errors`: every code, what it means, when to try again, and what to do. `/docs/errors#CODE` leads to it.

use std::collections::BTreeSet;

use contract::Code;

use super::html::{self, escaped, prose};

const ABOUT: &str = "An error is `{\"error\": {\"code\", \"message\", \"details\", \"request_id\"}}`. \
`code` is the control plane's, `details.stable_code` says more, and the PostgreSQL wire shows the SQLSTATE. An error in \
the data, as a division by zero, has the code of a bad statement; `details.sqlstate`, of class 22, tells it apart.";

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
            anchored(code.sqlstate()),
            prose(code.meaning()),
            code.retry().words().to_owned(),
            prose(code.advice()),
        ]
    });
    let table = html::table(&["HTTP", "code", "stable code", "SQLSTATE", "meaning", "try again", "what to do"], rows);
    html::page("Sluice: errors", &format!("<p>{}</p>{table}", prose(ABOUT)))
}
