//! Redaction of a report that leaves a person's cluster.
//!
//! Secrets are never read, so their values are not here to be removed. What is left are copies of
//! them: the annotation in which `kubectl apply` keeps a whole manifest, literal variables of a pod,
//! and what a program wrote into its log.

use serde::Serialize;
use serde_json::{Map, Value};

/// Instead of what was there.
pub const REDACTED: &str = "[redacted]";

/// The public part of a key's text after `svc_live_` or `svc_test_`: enough to find its row.
const PUBLIC: usize = 12;

/// An object as it may be shown: without secrets, and without what only the API server reads.
pub fn shown(object: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    self::object(&mut value);
    value
}

/// Removes what may be secret from an object of any kind.
pub fn object(value: &mut Value) {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        annotations.map(|annotations| annotations.shift_remove("kubectl.kubernetes.io/last-applied-configuration"));
    }
    if value["kind"] == "Secret" {
        for part in ["data", "stringData"] {
            let values = value.get_mut(part).and_then(Value::as_object_mut);
            values.into_iter().flatten().for_each(|(_, value)| *value = REDACTED.into());
        }
    }
    inside(value);
}

/// Every text below, and every variable whose name says that its value is secret.
fn inside(value: &mut Value) {
    match value {
        Value::String(said) => *said = json(said).unwrap_or_else(|| text(said)),
        Value::Array(items) => items.iter_mut().for_each(inside),
        Value::Object(members) => {
            if is_secret_variable(members) {
                members.insert("value".to_owned(), REDACTED.into());
            }
            members.iter_mut().for_each(|(_, member)| inside(member));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text that is an object, as variables are in what is written down of the pods of data planes.
fn json(said: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(said).ok().filter(Value::is_object)?;
    inside(&mut value);
    Some(value.to_string())
}

fn is_secret_variable(members: &Map<String, Value>) -> bool {
    let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_uppercase();
    let telling = ["PASSWORD", "SECRET", "TOKEN", "CREDENTIAL", "DATABASE_URL", "API_KEY", "ACCESS_KEY", "PEPPER"];
    members.get("value").is_some_and(Value::is_string) && telling.iter().any(|word| name.contains(word))
}

/// A text without keys, tokens, passwords in URLs, and private keys.
pub fn text(text: &str) -> String {
    let text = private_keys(text);
    let text = tokens(&text, "svc_live_", PUBLIC);
    let text = tokens(&text, "svc_test_", PUBLIC);
    // a JSON web token starts with its header, `{"` in base64
    let text = tokens(&text, "eyJ", 0);
    passwords(&text)
}

/// Blocks of PEM whose first line says that they are private.
fn private_keys(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, block)) = rest.split_once("-----BEGIN ") {
        kept.push_str(before);
        let title = block.split_once("-----").map(|(title, _)| title).unwrap_or_default();
        let end = format!("-----END {title}-----");
        if !title.ends_with("PRIVATE KEY") {
            kept.push_str("-----BEGIN ");
            rest = block;
            continue;
        }
        kept.push_str(REDACTED);
        // one that was cut off has no end: nothing after it is shown
        rest = block.split_once(end.as_str()).map(|(_, after)| after).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// What follows `start`, but for its first `public` characters.
fn tokens(text: &str, start: &str, public: usize) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        let length = after.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.=".contains(c))).unwrap_or(after.len());
        let (token, remaining) = after.split_at(length);
        kept.push_str(before);
        kept.push_str(start);
        kept.push_str(token.get(..public).unwrap_or(token));
        if token.len() > public {
            kept.push_str(REDACTED);
        }
        rest = remaining;
    }
    kept.push_str(rest);
    kept
}

/// `scheme://user:password@host`.
fn passwords(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        kept.push_str(before);
        kept.push_str("://");
        let authority = after.find(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c)).unwrap_or(after.len());
        let (authority, remaining) = after.split_at(authority);
        match authority.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
            Some((user, host)) => kept.extend([user, ":", REDACTED, "@", host]),
            None => kept.push_str(authority),
        }
        rest = remaining;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_keeps_everything_but_secrets() {
        let cases = [
            ("key svc_live_ABCDEFGHIJKLsecretsecret refused", "key svc_live_ABCDEFGHIJKL[redacted] refused"),
            ("prefix svc_test_ABCDEFGHIJKL.", "prefix svc_test_ABCDEFGHIJKL[redacted]"),
            ("prefix svc_test_ABCDEFGHIJKL", "prefix svc_test_ABCDEFGHIJKL"),
            ("postgresql://u:p@h:5432/db?x", "postgresql://u:[redacted]@h:5432/db?x"),
            ("a postgresql://u:p@ss@h b", "a postgresql://u:[redacted]@h b"),
            ("https://host:8080/path", "https://host:8080/path"),
            ("Bearer eyJhbGci.eyJzdWIi.c2ln done", "Bearer eyJ[redacted] done"),
            ("-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter", "[redacted]\nafter"),
            ("-----BEGIN PRIVATE KEY-----\nMHc", "[redacted]"),
            (
                "-----BEGIN CERTIFICATE-----\nMHc\n-----END CERTIFICATE-----",
                "-----BEGIN CERTIFICATE-----\nMHc\n-----END CERTIFICATE-----",
            ),
        ];
        for (said, shown) in cases {
            assert_eq!(text(said), shown);
        }
    }

    #[test]
    fn an_object_keeps_no_copy_of_a_secret() {
        let shown = shown(&json!({
            "kind": "Secret",
            "metadata": {
                "name": "a", "managedFields": [{}],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"k\":\"cGxhaW4=\"}}", "kept": "x"},
            },
            "data": {"k": "cGxhaW4="}, "stringData": {"k": "plain"},
        }));
        let expected = json!({
            "kind": "Secret", "metadata": {"name": "a", "annotations": {"kept": "x"}},
            "data": {"k": REDACTED}, "stringData": {"k": REDACTED},
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_variable_whose_name_tells_is_hidden() {
        let env = json!([
            {"name": "DATABASE_URL", "value": "plain"}, {"name": "SLUICE_STATE", "value": "/var/lib/sluice"},
            {"name": "db_password", "valueFrom": {"secretKeyRef": {"name": "db"}}},
        ]);
        let shown = shown(&json!({"kind": "Pod", "spec": {"containers": [{"env": env}]}}));
        let env = &shown["spec"]["containers"][0]["env"];
        assert_eq!(env[0]["value"], REDACTED);
        assert_eq!(env[1]["value"], "/var/lib/sluice");
        assert_eq!(env[2]["valueFrom"]["secretKeyRef"]["name"], "db");
    }

    #[test]
    fn a_variable_is_hidden_in_a_text_too() {
        let pods = |value: &str| json!({"env": [{"name": "API_TOKEN", "value": value}]}).to_string();
        let shown = shown(&json!({
            "kind": "Environment", "status": {"pods": pods("plain")},
            "metadata": {"annotations": {"sluice.dev/pods": pods("plain")}},
        }));
        assert_eq!(shown["status"]["pods"], pods(REDACTED));
        assert_eq!(shown["metadata"]["annotations"]["sluice.dev/pods"], pods(REDACTED));
    }
}
