//! The rules: what may be corrected because it cannot change which data is read or computed.
//!
//! A misspelt keyword where exactly one correction makes a statement, and a name that differs from the only candidate
//! in letter case alone. Another table, column or function is never taken, however alike its name is.

use contract::Governance;
use sql::ast::error::ErrorKind;

use super::intent;
use super::visible_relations::VisibleRelations;
use crate::Error;
use crate::pipeline::{Pipeline, Query};
use crate::request::answer::Healed;

pub(super) fn concerns(error: &Error) -> bool {
    match error {
        Error::ColumnMissing { .. } => true,
        Error::Sql(error) => matches!(error.kind, ErrorKind::Syntax | ErrorKind::TableNotFound { .. }),
        _ => false,
    }
}

pub(super) async fn corrected(pipeline: &Pipeline, query: &Query, rules: &Governance, error: &Error) -> Option<Healed> {
    let (text, variables) = (&query.ask.sql, &query.ask.names.variables);
    let (sql, wrong, right) = match error {
        Error::Sql(sql::Error { kind: ErrorKind::Syntax, .. }) => {
            let sql::compile::heal::Respelt { sql, wrong, right } = sql::compile::heal::respelt(text, variables)?;
            (sql, wrong, right.to_uppercase())
        }
        Error::Sql(sql::Error { kind: ErrorKind::TableNotFound { schema, name, .. }, .. }) if !name.is_ascii() => {
            let visible_relations = VisibleRelations::of(pipeline, query, rules).await.ok()?;
            let schema = schema.as_deref().unwrap_or(&query.ask.names.schema);
            recased(text, name, visible_relations.tables_in(schema))?
        }
        Error::ColumnMissing { name } if !name.is_ascii() => {
            let statement = sql::parse_with(text, variables).ok()?;
            let visible_relations = VisibleRelations::of(pipeline, query, rules).await.ok()?;
            recased(text, name, visible_relations.columns(statement.tables()))?
        }
        _ => return None,
    };
    let statement = sql::parse_with(&sql, variables).ok()?;
    let how = format!("healed: {wrong} was read as {right}");
    intent::is_query(&statement).then_some(Healed { sql, how })
}

/// The text with the only name that has the same letters. The engine tells letters of ASCII from no other case of
/// theirs, so such a name has others.
fn recased(text: &str, wrong: &str, names: Vec<String>) -> Option<(String, String, String)> {
    let lower = wrong.to_lowercase();
    let mut fitting = names.into_iter().filter(|name| name.to_lowercase() == lower);
    let right = fitting.next()?;
    if fitting.next().is_some() {
        return None;
    }
    Some((sql::compile::heal::renamed(text, wrong, &right)?, wrong.to_owned(), right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_only_name_of_the_same_letters_is_taken() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let among = |all: &[&str]| recased("select KÄSE from t", "KÄSE", names(all)).map(|(sql, ..)| sql);
        assert_eq!(among(&["Käse", "id"]).as_deref(), Some(r#"select "Käse" from t"#));
        assert_eq!(among(&["Käse", "käse"]), None);
        assert_eq!(among(&["Kase", "Käsee"]), None);
    }

    #[test]
    fn nothing_but_a_text_or_a_name_is_a_matter_of_the_rules() {
        let of = |kind| Error::Sql(sql::Error::new(kind, "denied"));
        for error in [
            Error::TableDenied { table: "main.payroll".to_owned() },
            Error::PolicyDenied { message: "denied by policy".to_owned() },
            Error::ReadsOnly,
            of(ErrorKind::UnsupportedFunction { name: "uper".to_owned() }),
            of(ErrorKind::DeniedColumn { table: "main.t".to_owned(), column: "c".to_owned() }),
            of(ErrorKind::Several),
        ] {
            assert!(!concerns(&error), "{error:?}");
        }
        assert!(concerns(&of(ErrorKind::Syntax)) && concerns(&Error::ColumnMissing { name: "x".to_owned() }));
    }
}
