//! A comment of a statement that tells where in a trace it is asked: `/*traceparent='00-…-01'*/`, as
//! instrumented drivers write it.
//!
//! Keys and values are percent-encoded, values are quoted, pairs are parted by commas. The comment is the
//! last thing of the statement or the first; what is inside of it, in a literal or another comment,
//! is not looked at. It says nothing but where: whatever it says, the statement is the same.

use std::borrow::Cow;

/// A comment that is longer is read by nobody.
const BYTES_MAX: usize = 4_096;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
}

/// What the comments at both ends of a statement say; the last one counts first.
pub fn read(sql: &str) -> Said {
    let mut found = [last(sql), first(sql)].into_iter().flatten().map(said);
    found.find(|said| said.traceparent.is_some()).unwrap_or_default()
}

fn first(sql: &str) -> Option<&str> {
    let (comment, _) = sql.trim_start().strip_prefix("/*")?.split_once("*/")?;
    Some(comment)
}

fn last(sql: &str) -> Option<&str> {
    let ended = sql.trim_end_matches(|c: char| c.is_whitespace() || c == ';').strip_suffix("*/")?;
    let (_, comment) = ended.rsplit_once("/*")?;
    Some(comment)
}

fn said(comment: &str) -> Said {
    let mut said = Said::default();
    if comment.len() > BYTES_MAX {
        return said;
    }
    for pair in comment.split(',') {
        let Some((key, value)) = pair.split_once('=') else { continue };
        let Some(value) = value.trim().strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) else { continue };
        let place = match key.trim() {
            "traceparent" => &mut said.traceparent,
            "tracestate" => &mut said.tracestate,
            _ => continue,
        };
        *place = decoded(value).map(Cow::into_owned);
    }
    said
}

/// Without its percent signs; none where they encode no text.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, encoded)) = rest.split_once('%') {
        bytes.extend(plain.bytes());
        bytes.push(u8::from_str_radix(encoded.get(..2)?, 16).ok()?);
        rest = encoded.get(2..)?;
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_comment_at_either_end_tells_where() {
        let cases = [
            (format!("select 1 /*traceparent='{PARENT}'*/"), Some(PARENT)),
            (format!("select 1 /*traceparent='{PARENT}'*/ ;\n"), Some(PARENT)),
            (format!("/*traceparent='{PARENT}'*/ select 1"), Some(PARENT)),
            (format!("select 1 /*action='%2Frun',framework='x', traceparent='{PARENT}'*/"), Some(PARENT)),
            (format!("/* a hint */ select 1 /*traceparent='{PARENT}'*/"), Some(PARENT)),
            (format!("/*traceparent='{PARENT}'*/ select 1 /* a hint */"), Some(PARENT)),
            (format!("select '/*traceparent=''{PARENT}''*/'"), None),
            (format!("select 1 /*traceparent={PARENT}*/"), None),
            (format!("select 1 -- traceparent='{PARENT}'"), None),
            ("select 1".to_owned(), None),
            ("*/".to_owned(), None),
        ];
        for (sql, expected) in cases {
            assert_eq!(read(&sql).traceparent.as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn a_state_is_decoded() {
        let sql = format!("select 1 /*traceparent='{PARENT}',tracestate='a%3D1%2Cb%3D2'*/");
        assert_eq!(read(&sql).tracestate.as_deref(), Some("a=1,b=2"));
        for broken in ["%", "%2", "%zz", "%ff"] {
            let sql = format!("select 1 /*traceparent='{PARENT}',tracestate='{broken}'*/");
            assert_eq!(read(&sql), Said { traceparent: Some(PARENT.to_owned()), tracestate: None }, "{broken}");
        }
    }
}
