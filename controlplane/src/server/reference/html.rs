//! HTML of both pages. No script: a page is read, linked to and printed.

use std::fmt::Write;

pub const STYLE: &str = "\
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 20%,transparent)}\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}\
h2{margin-top:3rem;border-bottom:1px solid var(--line)}\
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}\
summary{cursor:pointer}code{font:13px ui-monospace,monospace}\
table{border-collapse:collapse;display:block;overflow-x:auto}\
td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line)}\
.old{text-decoration:line-through}nav a{margin-right:1rem}";

/// Text as it may stand in a page, in quotes too.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Prose: what stands between backticks is code.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in escaped(text).split('`').enumerate() {
        let _ = if at % 2 == 1 { write!(out, "<code>{part}</code>") } else { write!(out, "{part}") };
    }
    out
}

/// A table; its cells are HTML already.
pub fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let cells = |kind: &str, cells: &[String]| {
        cells.iter().fold(String::new(), |mut out, cell| {
            let _ = write!(out, "<{kind}>{cell}</{kind}>");
            out
        })
    };
    let heads: Vec<String> = heads.iter().map(|head| escaped(head)).collect();
    let mut out = format!("<table><thead><tr>{}</tr></thead><tbody>", cells("th", &heads));
    for row in rows {
        let _ = write!(out, "<tr>{}</tr>", cells("td", &row));
    }
    out + "</tbody></table>"
}

/// The page around its body.
pub fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>\
         <nav><a href=\"/docs\">API</a><a href=\"/docs/errors\">Errors</a><a href=\"/openapi.json\">openapi.json</a></nav>\
         {body}</main></body></html>"
    )
}
