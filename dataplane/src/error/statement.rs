//! Errors of a statement's text, as a row of the code table and as particulars.

use contract::Code;
use contract::body::Problem;

pub(super) fn sql_code(kind: &sql::ast::error::ErrorKind) -> Code {
    use sql::ast::error::ErrorKind;
    match kind {
        ErrorKind::Syntax | ErrorKind::Empty | ErrorKind::Several => Code::BadSql,
        ErrorKind::TooLarge => Code::QueryTooLarge,
        ErrorKind::InvalidName => Code::InvalidIdentifier,
        ErrorKind::TooDeep
        | ErrorKind::Unsupported { .. }
        | ErrorKind::UnsupportedFunction { .. }
        | ErrorKind::Ungovernable { .. } => Code::UnsupportedSql,
        ErrorKind::UnsupportedType { .. } => Code::UnsupportedType,
        ErrorKind::TableNotFound { .. } => Code::TableNotFound,
        ErrorKind::ColumnNotFound { .. } => Code::UndefinedColumn,
        ErrorKind::ColumnExists { .. } => Code::Conflict,
        ErrorKind::ColumnUsed { .. } => Code::DependentObjects,
        ErrorKind::DeniedFunction { .. } | ErrorKind::MaskedColumn { .. } | ErrorKind::DeniedColumn { .. } => {
            Code::PolicyDenied
        }
        ErrorKind::InvalidFilter => Code::InvalidRule,
    }
}

pub(super) fn sql_details(problem: Problem, error: &sql::Error) -> Problem {
    let problem = match &error.position {
        Some(at) => problem.detail("position", at.offset).detail("line", at.line).detail("column", at.column),
        None => problem,
    };
    let problem = match &error.snippet {
        Some(snippet) => problem.detail("snippet", snippet.as_str()),
        None => problem,
    };
    match &error.kind {
        sql::ast::error::ErrorKind::TableNotFound { schema, name, did_you_mean } => {
            let schema = schema.as_deref().unwrap_or("main");
            hint(problem.detail("schema", schema).detail("table", name.as_str()), did_you_mean.as_deref())
        }
        sql::ast::error::ErrorKind::DeniedColumn { table, column } => {
            problem.detail("table", table.as_str()).detail("column", column.as_str())
        }
        sql::ast::error::ErrorKind::Unsupported { construct } => problem.detail("construct", construct.as_str()),
        sql::ast::error::ErrorKind::UnsupportedFunction { name }
        | sql::ast::error::ErrorKind::DeniedFunction { name } => problem.detail("function", name.as_str()),
        _ => problem,
    }
}

fn hint(problem: Problem, did_you_mean: Option<&str>) -> Problem {
    match did_you_mean {
        Some(name) => problem.detail("did_you_mean", name),
        None => problem,
    }
}
