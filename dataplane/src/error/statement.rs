//! What is wrong with a statement's text, as a row of the code table and as particulars.

use contract::Code;
use contract::body::Problem;

pub(super) fn sql_code(kind: &sql::ast::error::Kind) -> Code {
    use sql::ast::error::Kind;
    match kind {
        Kind::Syntax | Kind::Empty | Kind::Several => Code::BadSql,
        Kind::TooLarge => Code::QueryTooLarge,
        Kind::InvalidName => Code::InvalidIdentifier,
        Kind::TooDeep | Kind::Unsupported { .. } | Kind::UnsupportedFunction { .. } | Kind::Ungovernable { .. } => {
            Code::UnsupportedSql
        }
        Kind::UnsupportedType { .. } => Code::UnsupportedType,
        Kind::TableNotFound { .. } => Code::TableNotFound,
        Kind::ColumnNotFound { .. } => Code::UndefinedColumn,
        Kind::ColumnExists { .. } => Code::Conflict,
        Kind::DeniedFunction { .. } | Kind::MaskedColumn { .. } | Kind::DeniedColumn { .. } => Code::PolicyDenied,
        Kind::InvalidFilter => Code::InvalidRule,
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
        sql::ast::error::Kind::TableNotFound { schema, name, did_you_mean } => {
            let schema = schema.as_deref().unwrap_or("main");
            hint(problem.detail("schema", schema).detail("table", name.as_str()), did_you_mean.as_deref())
        }
        sql::ast::error::Kind::DeniedColumn { table, column } => {
            problem.detail("table", table.as_str()).detail("column", column.as_str())
        }
        sql::ast::error::Kind::Unsupported { construct } => problem.detail("construct", construct.as_str()),
        sql::ast::error::Kind::UnsupportedFunction { name } | sql::ast::error::Kind::DeniedFunction { name } => {
            problem.detail("function", name.as_str())
        }
        _ => problem,
    }
}

fn hint(problem: Problem, did_you_mean: Option<&str>) -> Problem {
    match did_you_mean {
        Some(name) => problem.detail("did_you_mean", name),
        None => problem,
    }
}
