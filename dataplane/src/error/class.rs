//! Errors of the engine as a caller sees them: by their class, in words of ours alone.

use contract::Code;

/// How a comparison by meaning of too many texts is known among the engine's errors, and what the caller reads.
pub(crate) const TOO_MANY_TEXTS: &str =
    "a comparison by meaning takes at most 10000 different texts of up to 64 KiB, 16 MiB in all";

pub(super) fn engine_code(error: &engine::Error) -> Code {
    use engine::Kind;
    match error.kind {
        // The generated text did not parse: our generator's fault.
        Kind::Parser => Code::TranspileFail,
        // The caller's types or names do not fit together.
        Kind::Binder => Code::UndefinedFunction,
        Kind::ColumnMissing => Code::UndefinedColumn,
        Kind::Width => Code::BadSql,
        Kind::CatalogMissing => Code::TableNotFound,
        Kind::CatalogExists => Code::DuplicateTable,
        Kind::Dependency => Code::DependentObjects,
        Kind::Conversion => Code::ConversionFailed,
        Kind::OutOfRange => Code::ValueOutOfRange,
        Kind::DivideByZero => Code::DivisionByZero,
        // The rewrite raises it where the engine would answer infinity or NULL.
        Kind::InvalidInput if error.message.contains(sql::dialect::DIVISION_BY_ZERO) => Code::DivisionByZero,
        Kind::InvalidInput if error.message.contains(sql::dialect::TOO_LONG) => Code::TextTooLong,
        Kind::InvalidInput if error.message.contains(TOO_MANY_TEXTS) => Code::InvalidParams,
        Kind::InvalidInput => Code::InvalidArgument,
        Kind::Constraint => constraint_code(&error.message),
        Kind::WriteConflict => Code::WriteConflict,
        Kind::TransactionAborted => Code::FailedTransaction,
        Kind::OutOfMemory | Kind::Starved | Kind::TempSpace => Code::OutOfMemory,
        Kind::Interrupted => Code::QueryCancelled,
        Kind::Timeout => Code::QueryTimeout,
        Kind::NotImplemented | Kind::Permission => Code::UnsupportedSql,
        Kind::Unavailable => Code::ServiceUnavailable,
        Kind::Crashed | Kind::Internal | Kind::Fatal => Code::EngineCrash,
    }
}

/// The engine says which kind of constraint in words alone.
fn constraint_code(message: &str) -> Code {
    let message = message.to_ascii_lowercase();
    [
        ("not null", Code::NotNullViolation),
        ("check constraint", Code::CheckViolation),
        ("foreign key", Code::ForeignKeyViolation),
    ]
    .into_iter()
    .find_map(|(words, code)| message.contains(words).then_some(code))
    .unwrap_or(Code::UniqueViolation)
}

/// With the length, as PostgreSQL says it.
fn too_long(message: &str) -> String {
    let said = message.split_once(sql::dialect::TOO_LONG).and_then(|(_, length)| length.split_once(')'));
    let length = said.map(|(length, _)| length.trim_start_matches('(')).filter(|length| length.parse::<u64>().is_ok());
    length.map_or_else(
        || Code::TextTooLong.meaning().to_owned(),
        |length| format!("{}({length})", sql::dialect::TOO_LONG),
    )
}

pub(super) fn engine_message(error: &engine::Error) -> String {
    match error.kind {
        _ if engine_code(error) == Code::DivisionByZero => "division by zero".to_owned(),
        _ if engine_code(error) == Code::TextTooLong => too_long(&error.message),
        _ if engine_code(error) == Code::InvalidParams => TOO_MANY_TEXTS.to_owned(),
        engine::Kind::Conversion if error.message.contains(sql::CYCLE) => {
            format!("{}: CONNECT BY NOCYCLE ends before it", sql::CYCLE)
        }
        engine::Kind::InvalidInput if error.message.contains(sql::MET_TWICE) => sql::MET_TWICE.to_owned(),
        engine::Kind::Binder => "no function or operator fits these argument types, or a name is ambiguous".to_owned(),
        engine::Kind::Width => "rows, queries or lists of columns are not of one width".to_owned(),
        engine::Kind::CatalogMissing => "a table, type or schema that the statement names does not exist".to_owned(),
        engine::Kind::CatalogExists => "a thing of that name already exists".to_owned(),
        engine::Kind::Dependency => "something else depends on it".to_owned(),
        engine::Kind::Unavailable => "the engine is not available: try again".to_owned(),
        engine::Kind::NotImplemented | engine::Kind::Permission => "the engine does not do that".to_owned(),
        _ => engine_code(error).meaning().to_owned(),
    }
}
