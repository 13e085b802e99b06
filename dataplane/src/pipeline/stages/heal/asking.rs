//! A model is asked for a statement that failed and that the rules cannot heal, where the environment permits that.
//!
//! It is told the statement, the error that the caller would see, and what they may see of the catalogue
//! (`visible_relations`); never a row, a policy or a name that is kept from them. What it writes is somebody else's
//! text: one query that changes nothing, or it counts for nothing; and it passes every gate as if the caller had
//! written it.

use contract::Governance;

use super::super::audit::capped;
use super::intent;
use super::visible_relations::VisibleRelations;
use crate::Error;
use crate::model::{Healer, HealingRequest};
use crate::pipeline::{Pipeline, Query};
use crate::request::answer::Healed;

const WARNING_BYTES_MAX: usize = 1_000;

/// Is it the text that is wrong? Nothing that was refused, and nothing about its values.
pub(super) fn concerns(error: &Error) -> bool {
    use sql::ast::error::ErrorKind;
    match error {
        Error::ColumnMissing { .. } => true,
        Error::Sql(error) => matches!(
            error.kind,
            ErrorKind::Syntax
                | ErrorKind::Unsupported { .. }
                | ErrorKind::UnsupportedFunction { .. }
                | ErrorKind::UnsupportedType { .. }
                | ErrorKind::TableNotFound { .. }
                | ErrorKind::ColumnNotFound { .. }
        ),
        _ => false,
    }
}

pub(super) async fn corrected(
    pipeline: &Pipeline,
    healer: &Healer,
    query: &Query,
    rules: &Governance,
    error: &Error,
) -> Option<Healed> {
    let (text, variables) = (&query.ask.sql, &query.ask.names.variables);
    let named = intent::read_by(text, variables)?;
    let tables = VisibleRelations::of(pipeline, query, rules).await.ok()?.lines(&named);
    let told = format!("{}: {error}", error.code().stable());
    let question = HealingRequest { statement: text, error: &told, tables: &tables };
    let answer = tokio::select! {
        answer = Box::pin(healer.corrected(&question, query.left())) => answer,
        () = query.ask.cancel.cancelled() => return None,
        () = query.closed.cancelled() => return None,
    };
    let answer = answer.inspect_err(|failure| {
        tracing::info!(query_id = %query.ask.query_id, %failure, "no model has corrected the statement");
    });
    let sql = answer.ok()?.trim().to_owned();
    if sql == text.trim() {
        return None;
    }
    let statement = sql::parse_with(&sql, variables).ok()?;
    let how = how(error, &sql);
    intent::is_query(&statement).then_some(Healed { sql, how })
}

/// On one line, and no longer than a warning may be.
fn how(error: &Error, sql: &str) -> String {
    let line: Vec<_> = sql.split_whitespace().collect();
    capped(&format!("healed: {error}; a model wrote instead: {}", line.join(" ")), WARNING_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_is_ever_told_to_a_model() {
        let denied = |kind| Error::Sql(sql::Error::new(kind, "denied"));
        for error in [
            Error::TableDenied { table: "main.payroll".to_owned() },
            Error::PolicyDenied { message: "denied by policy".to_owned() },
            Error::Lacks(contract::MissingPermission::User),
            Error::ReadsOnly,
            Error::RowRefused,
            Error::Unverified { why: "tables differ".to_owned() },
            denied(sql::ast::error::ErrorKind::DeniedFunction { name: "read_text".to_owned() }),
            denied(sql::ast::error::ErrorKind::DeniedColumn { table: "main.t".to_owned(), column: "c".to_owned() }),
            denied(sql::ast::error::ErrorKind::MaskedColumn { table: "main.t".to_owned(), column: "c".to_owned() }),
        ] {
            assert!(!concerns(&error), "{error:?}");
        }
        assert!(concerns(&denied(sql::ast::error::ErrorKind::Syntax)));
    }

    #[test]
    fn a_warning_is_one_line_of_bounded_length() {
        let error = Error::ColumnMissing { name: "x".to_owned() };
        assert_eq!(
            how(&error, "select y\n  from t"),
            "healed: column x does not exist; a model wrote instead: select y from t"
        );
        assert_eq!(how(&error, &"é".repeat(WARNING_BYTES_MAX)).len(), WARNING_BYTES_MAX);
    }
}
