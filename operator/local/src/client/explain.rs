//! `sluice explain <code>`: a row of the table of codes, in words. Nothing is asked of anybody.

use contract::Code;
use controlplane::platform::http::suggestion::meant;
use serde_json::{Value, json};

use super::output::{self, Columns};
use super::{Failure, Output, ShownAnswer};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// As an error shows it: a stable code, the control plane's, or a SQLSTATE.
    code: String,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

const COLUMNS: Columns = "code, control_plane, http, sqlstate, meaning, advice, retry, exit";

pub fn run(args: &Args) -> Result<(), Failure> {
    let rows = rows(&args.code)?;
    if args.output != Output::Table {
        return ShownAnswer::list(rows.into_iter().map(told).collect(), COLUMNS).show(args.output);
    }
    // Rows that share a code differ in their meaning.
    for (place, row) in rows.into_iter().enumerate() {
        if place > 0 {
            output::write(b"\n")?;
        }
        ShownAnswer::record(told(row), COLUMNS).show(Output::Table)?;
    }
    Ok(())
}

fn rows(code: &str) -> Result<Vec<Code>, Failure> {
    let wanted = code.trim().to_ascii_uppercase();
    let named = |row: &&Code| names(**row).contains(&wanted.as_str());
    let rows: Vec<_> = Code::ALL.iter().filter(named).copied().collect();
    if rows.is_empty() {
        let known = Code::ALL.iter().flat_map(|row| names(*row));
        return Err(Failure::Usage(format!("there is no code {}{}", code.escape_debug(), meant(&wanted, known))));
    }
    Ok(rows)
}

const fn names(row: Code) -> [&'static str; 3] {
    [row.stable(), row.control_plane(), row.sqlstate()]
}

fn told(row: Code) -> Value {
    let class = row.exit_class();
    json!({
        "code": row.stable(),
        "control_plane": row.control_plane(),
        "http": row.http(),
        "sqlstate": row.sqlstate(),
        "meaning": row.meaning(),
        "advice": row.advice(),
        "retry": row.retry().words(),
        "exit": format!("{} ({})", class.exit(), class.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Class;

    #[test]
    fn a_row_is_found_by_each_of_its_codes() {
        assert_eq!(rows("SVC_ERR_403_TABLE_DENIED").unwrap(), [Code::TableDenied]);
        assert_eq!(rows("svc_err_404_table_not_found").unwrap(), [Code::TableNotFound]);
        assert_eq!(rows("42P01").unwrap(), [Code::TableNotFound]);
        assert_eq!(rows("POLICY_DENIED").unwrap(), [Code::TableDenied, Code::PolicyDenied]);
        for row in Code::ALL {
            assert!(rows(row.stable()).unwrap().contains(row), "{row:?}");
        }
    }

    #[test]
    fn a_code_that_is_none_is_met_with_the_one_that_was_meant() {
        let said = rows("SVC_ERR_403_TABEL_DENIED").unwrap_err().to_string();
        assert_eq!(said, "there is no code SVC_ERR_403_TABEL_DENIED: did you mean `SVC_ERR_403_TABLE_DENIED`?");
        assert_eq!(rows("zebra").unwrap_err().class(), Class::Usage);
    }

    #[test]
    fn an_explanation_says_what_to_do() {
        let told = told(Code::ConcurrentLimit);
        assert_eq!((&told["http"], &told["retry"]), (&json!(429), &json!("after Retry-After")));
        assert_eq!(told["exit"], "5 (quota)");
        assert_eq!(told["advice"], Code::ConcurrentLimit.advice());
    }
}
