//! The checks of a file's records: whether each value is one of its column's, and fits it.
//!
//! A record that passes fails by no type, length or NOT NULL of the table; a key or CHECK may refuse it still.

use sql::ast::quote;
use sql::functions::types::Type;
use sql::{Column, StagedRows};

/// A check of a column, and the words for a record that fails it.
#[derive(Debug)]
struct ColumnCheck {
    fails: String,
    column: String,
    reason: String,
}

/// How the records of a file become rows of a table, and which of them do not.
#[derive(Debug)]
pub(super) struct RecordChecks {
    /// The value of a record and the same as its column is read, for each column.
    given: Vec<String>,
    checks: Vec<ColumnCheck>,
    columns: usize,
}

impl RecordChecks {
    /// Of the columns of a table, and what a record has for each.
    pub fn of(rows: &StagedRows, values: &[Option<String>], truncates: bool) -> Self {
        let mut all = Self { given: Vec::new(), checks: Vec::new(), columns: rows.columns.len() };
        let values = values.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        for (place, ((read, filled), value)) in rows.columns.iter().zip(&rows.filled).zip(values).enumerate() {
            let formatted = value.and_then(|value| rows.formatted(value, &read.type_name));
            let value = value.unwrap_or("null");
            let typed = formatted.unwrap_or_else(|| format!("try_cast({value} as {})", read.type_name));
            all.column(place, (read, filled), (value, typed), truncates);
        }
        all
    }

    /// Of values that a query makes rows of: nothing of them is checked before.
    pub fn none(values: &[Option<String>]) -> Self {
        let given = values.iter().map(Option::as_deref).enumerate();
        let given = given.map(|(place, value)| format!("{} as {}", value.unwrap_or("null"), name(place)));
        Self { given: given.collect(), checks: Vec::new(), columns: values.len() }
    }

    /// The checks of a value, given the expression of the same as its column is read.
    fn column(
        &mut self,
        place: usize,
        (read, filled): (&Column, &Column),
        (value, cast): (&str, String),
        truncates: bool,
    ) {
        let (text, typed) = (given(place), name(place));
        let length = filled.length();
        let kept = match length {
            Some(length) if truncates => format!("left({cast}, {length})"),
            _ => cast,
        };
        self.given.extend([format!("{value} as {text}"), format!("{kept} as {typed}")]);
        let mut check = |fails: String, reason: String| {
            self.checks.push(ColumnCheck { fails, column: filled.name.clone(), reason });
        };
        let no_value = || format!("column {} has a value that is no {}", filled.name, filled.type_name);
        // a text has no value that is none, and need not be read for that
        if Type::of_name(&read.type_name) != Type::Text {
            check(format!("{text} is not null and {typed} is null"), no_value());
        }
        if filled.family() != Type::Text && filled.type_name != read.type_name {
            let fails = format!("{typed} is not null and try_cast({typed} as {}) is null", filled.type_name);
            check(fails, no_value());
        }
        if let Some(length) = length.filter(|_| !truncates) {
            let reason = format!("column {} has a value longer than {length} characters", filled.name);
            check(format!("length({typed}) > {length}"), reason);
        }
        if !filled.nullable {
            check(format!("{typed} is null"), format!("column {} has no value, and needs one", filled.name));
        }
    }

    /// The names of the values in a query of those that pass.
    pub fn names(&self) -> Vec<String> {
        (0..self.columns).map(name).collect()
    }

    /// A query of all records: their values, their `line`, and in `fault` the number of the check that fails.
    pub fn judged(&self, query: &str, line: &str) -> String {
        let (names, given) = (self.names().join(", "), self.given.join(", "));
        let fault = self.fault_number();
        format!(
            "select {names}, line, {fault} as fault from \
             (select {given}, {line} as line from ({query}) as _sluice_file) as _sluice_given"
        )
    }

    /// A query of the values of the records that pass.
    pub fn passed(&self, query: &str, line: &str) -> String {
        let (names, judged) = (self.names().join(", "), self.judged(query, line));
        format!("select {names} from ({judged}) as _sluice_judged where fault is null")
    }

    /// The column that a check is of, and why a record fails it.
    pub fn fault(&self, check: usize) -> Option<(&str, &str)> {
        self.checks.get(check).map(|check| (check.column.as_str(), check.reason.as_str()))
    }

    fn fault_number(&self) -> String {
        if self.checks.is_empty() {
            return "cast(null as bigint)".to_owned();
        }
        let each = self.checks.iter().enumerate();
        let each = each.map(|(number, check)| format!("when {} then {number}", check.fails));
        format!("cast(case {} else null end as bigint)", each.collect::<Vec<_>>().join(" "))
    }
}

fn given(place: usize) -> String {
    quote::name(&format!("_sluice_given_{place}"))
}

fn name(place: usize) -> String {
    quote::name(&format!("_sluice_value_{place}"))
}
