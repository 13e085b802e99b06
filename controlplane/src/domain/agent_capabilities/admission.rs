//! Validation of capabilities before they are stored: 400 names the member that is not in order, 422 `INVALID_RULE` a
//! table where no column can be denied (`own_tables`).

use std::str::FromStr;

use contract::Timestamp;
use contract::capability::{Capabilities, whole_schema};
use contract::own_tables;
use contract::policy::abac::Operation;
use platform::{Error, Result};

const TABLES_MAX: usize = 1_000;
const COLUMNS_MAX: usize = 1_000;
/// "Identifier length: 128 characters", of the schema and of the name.
const NAME_CHARS_MAX: usize = 128;
const LIMIT_MAX: u64 = 1_000_000_000;
const YEARS_MAX: i64 = 100;

/// The operations that are granted.
pub fn admit(given: &Capabilities) -> Result<Vec<Operation>> {
    some("capabilities.allowed_tables", given.allowed_tables.len(), TABLES_MAX)?;
    for (i, table) in given.allowed_tables.iter().enumerate() {
        let at = format!("capabilities.allowed_tables[{i}]");
        match whole_schema(table) {
            Some(schema) => identifier(&at, schema)?,
            None => table_name(&at, table)?,
        }
    }
    some("capabilities.allowed_operations", given.allowed_operations.len(), Operation::ALL.len())?;
    for (limit, field) in [
        (given.max_queries_per_hour, "capabilities.max_queries_per_hour"),
        (given.max_rows_per_query, "capabilities.max_rows_per_query"),
    ] {
        if limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit)) {
            return Err(Error::invalid(field, "1..1000000000", format!("`{field}` is from 1 to {LIMIT_MAX}")));
        }
    }
    if given.column_restrictions.len() > TABLES_MAX {
        let field = "capabilities.column_restrictions";
        return Err(Error::invalid(field, "0..1000", format!("`{field}` names at most {TABLES_MAX} tables")));
    }
    for (table, restriction) in &given.column_restrictions {
        let at = format!("capabilities.column_restrictions.{table}");
        table_name(&at, table)?;
        if let Some(own) = own_tables::named_by(table) {
            let message = format!(
                "no statement reads `{own}`, so no column is denied there: leave it out of `allowed_tables`, or deny it \
                 by an attribute policy with `TableIs`"
            );
            return Err(Error::InvalidRule { field: at, message });
        }
        let at = format!("{at}.denied_columns");
        some(&at, restriction.denied_columns.len(), COLUMNS_MAX)?;
        restriction
            .denied_columns
            .iter()
            .enumerate()
            .try_for_each(|(i, name)| identifier(&format!("{at}[{i}]"), name))?;
    }
    operations(&given.allowed_operations)
}

fn operations(given: &[String]) -> Result<Vec<Operation>> {
    let operation = |(i, word): (usize, &String)| {
        Operation::from_str(&word.to_ascii_lowercase()).map_err(|unknown| {
            Error::invalid(format!("capabilities.allowed_operations[{i}]"), "operation", unknown.to_string())
        })
    };
    given.iter().enumerate().map(operation).collect()
}

fn some(field: &str, count: usize, most: usize) -> Result<()> {
    let fits = (1..=most).contains(&count);
    fits.then_some(())
        .ok_or_else(|| Error::invalid(field, format!("1..{most}"), format!("`{field}` names 1 to {most} of them")))
}

/// `schema.table`; without a schema it is in `main`, as in every rule.
fn table_name(field: &str, given: &str) -> Result<()> {
    given.splitn(2, '.').try_for_each(|part| identifier(field, part))
}

/// As the catalogue prints it: a space, a quote or a pattern would name nothing, and deny nothing.
fn identifier(field: &str, given: &str) -> Result<()> {
    let fits = (1..=NAME_CHARS_MAX).contains(&given.chars().count())
        && given.trim() == given
        && !given.chars().any(|c| c.is_control() || matches!(c, '.' | '*' | '"'));
    fits.then_some(()).ok_or_else(|| Error::invalid(field, "name", format!("`{given}` is not a name that is granted")))
}

/// A grant ends, and not before it begins.
pub fn end(given: Timestamp, now: Timestamp) -> Result<Timestamp> {
    let fits = given > now && given <= now + chrono::Duration::days(366 * YEARS_MAX);
    fits.then_some(given).ok_or_else(|| {
        Error::invalid("expires_at", "future", format!("`expires_at` is to come, within {YEARS_MAX} years"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_column_of_what_agents_leave_cannot_be_denied_and_the_table_can() {
        let granted = |restricted: &str| {
            let capabilities = json!({
                "allowed_tables": ["main.orders", "svc_memory.memories"],
                "allowed_operations": ["select"],
                "column_restrictions": {restricted: {"denied_columns": ["content"]}},
            });
            admit(&serde_json::from_value(capabilities).unwrap())
        };
        for table in ["svc_memory.memories", "Svc_Memory.Memories", "svc_thoughts.steps"] {
            let problem = granted(table).unwrap_err().problem();
            let field = format!("capabilities.column_restrictions.{table}");
            assert_eq!((problem.code.http(), problem.details["field"].as_str()), (422, Some(&*field)), "{table}");
            assert!(problem.message.contains(&table.to_ascii_lowercase()), "{}", problem.message);
        }
        assert!(granted("main.orders").is_ok());
        assert!(granted("main.*").is_err(), "columns are of a table");
    }

    #[test]
    fn a_whole_schema_is_granted_and_no_other_pattern() {
        let granted = |table: &str| {
            let capabilities = json!({"allowed_tables": [table], "allowed_operations": ["select"]});
            admit(&serde_json::from_value(capabilities).unwrap())
        };
        assert!(granted("hr.*").is_ok() && granted("*").is_err() && granted(".*").is_err());
        assert!(granted("*.*").is_err() && granted("hr.peo*").is_err() && granted("a.hr.*").is_err());
    }
}
