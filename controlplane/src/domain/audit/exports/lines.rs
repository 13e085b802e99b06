//! Records as lines: JSON, one object a line; or CSV (RFC 4180) with a header row.
//!
//! A text that a spreadsheet would take for a formula gets an apostrophe before it: what a stranger
//! put into a statement is never run by whoever opens the file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::AuditKind;

contract::named! {
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "AuditExportFormat")]
    #[serde(rename_all = "snake_case")]
    pub enum Format {
        #[default]
        Jsonl = "jsonl",
        Csv = "csv",
    }
}

impl Format {
    /// The records as the bytes of one object.
    pub fn lines(self, kind: AuditKind, records: &[Map<String, Value>]) -> String {
        match self {
            Self::Jsonl => records.iter().fold(String::new(), |lines, record| lines + &line(record)),
            Self::Csv => {
                let columns = columns(kind);
                let header = format!("{columns}\r\n");
                records.iter().map(|record| row(columns, record)).fold(header, |csv, row| csv + &row)
            }
        }
    }
}

/// The columns of a trail, in order: the members of its records.
pub const fn columns(kind: AuditKind) -> &'static str {
    match kind {
        AuditKind::Query => {
            "query_id,id,user_id,key_id,role,source_ip,origin,by_dashboard,request_id,sql,operation,tables_accessed,\
             rows_returned,columns_masked,execution_time_ms,credits_consumed,cache_hit,outcome,error_code,\
             policy_verdicts,agent_metadata,timestamp"
        }
        AuditKind::Admin => {
            "event_id,id,event_type,actor_id,actor_email,actor_role,source_ip,resource_type,resource_id,\
             environment_id,changes,hash,previous_hash,timestamp"
        }
    }
}

fn line(record: &Map<String, Value>) -> String {
    format!("{}\n", Value::Object(record.clone()))
}

fn row(columns: &str, record: &Map<String, Value>) -> String {
    let cells: Vec<_> = columns.split(',').map(|column| record.get(column).map_or_else(String::new, cell)).collect();
    format!("{}\r\n", cells.join(","))
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => harmless(text),
        Value::Bool(_) | Value::Number(_) => return value.to_string(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

fn harmless(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_is_quoted_where_it_must_be_and_never_a_formula() {
        for (value, written) in [
            (json!(null), ""),
            (json!(-1.5), "-1.5"),
            (json!(true), "true"),
            (json!("plain"), "plain"),
            (json!("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\""),
            (json!("=cmd()"), "'=cmd()"),
            (json!("@sum, 1"), "\"'@sum, 1\""),
            (json!(["a"]), "\"[\"\"a\"\"]\""),
        ] {
            assert_eq!(cell(&value), written, "{value}");
        }
    }
}
