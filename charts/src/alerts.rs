//! The alerts for Prometheus, which stand in `alerts.yaml`: what somebody has to look at, and where to begin.

use std::fmt::Write;

use serde_json::Value;

use crate::Error;

/// The groups of a `PrometheusRule`. A summary begins with what users notice, a description says what to do first.
const RULES: &str = include_str!("../sluice/alerts.yaml");

/// For the page of metrics.
pub fn table() -> Result<String, Error> {
    let read: Value = serde_yaml_ng::from_str(RULES)?;
    let mut out = String::from("| Alert | Severity | What users notice | Begin with |\n|---|---|---|---|\n");
    for alert in read.pointer("/groups/0/rules").and_then(Value::as_array).into_iter().flatten() {
        let text = |place: &str| alert.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let (name, severity) = (text("/alert"), text("/labels/severity"));
        let (summary, action) = (text("/annotations/summary"), text("/annotations/description"));
        let _ = writeln!(out, "| `{name}` | {severity} | {summary} | {action} |");
    }
    Ok(out)
}

/// Everything that is asked for.
#[cfg(test)]
pub fn questions() -> impl Iterator<Item = &'static str> {
    RULES.lines()
}
