//! Sequences, and columns that count by one of their own.

use sqlparser::ast::{
    ColumnOption, CreateTable, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, IdentityParameters, IdentityPropertyFormatKind, IdentityPropertyKind, ObjectName, SequenceOptions,
    Statement, Value,
};

use crate::{names, quote};

/// Before the names of sequences that belong to a column.
pub(crate) const OWNED: &str = "_svc_";

/// The next value of a sequence.
pub(crate) fn next(schema: &str, name: &str) -> Expr {
    let path = [names::RAW_CATALOG, schema, name].map(quote::name).join(".");
    let arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(Value::SingleQuotedString(path))));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("nextval")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![arg],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// AUTOINCREMENT columns get their default; answers the statements that make their sequences.
pub(crate) fn of_columns(create: &mut CreateTable) -> Vec<Statement> {
    let (schema, table) = match names::parts(&create.name).as_deref() {
        Some([_, schema, table]) => (schema.value.clone(), table.value.clone()),
        _ => return Vec::new(),
    };
    let mut made = Vec::new();
    for column in &mut create.columns {
        for option in &mut column.options {
            let ColumnOption::Identity(kind) = &option.option else {
                continue;
            };
            let (IdentityPropertyKind::Autoincrement(property) | IdentityPropertyKind::Identity(property)) = kind;
            let name = format!("{OWNED}{table}_{}", column.name.value);
            let sequence_options = match &property.parameters {
                None => Vec::new(),
                Some(
                    IdentityPropertyFormatKind::FunctionCall(IdentityParameters { seed, increment })
                    | IdentityPropertyFormatKind::StartAndIncrement(IdentityParameters { seed, increment }),
                ) => vec![
                    SequenceOptions::StartWith(seed.clone(), true),
                    SequenceOptions::IncrementBy(increment.clone(), true),
                ],
            };
            made.push(Statement::CreateSequence {
                temporary: false,
                if_not_exists: create.if_not_exists,
                name: names::qualified(&schema, &name),
                data_type: None,
                sequence_options,
                owned_by: None,
            });
            option.option = ColumnOption::Default(next(&schema, &name));
        }
    }
    made
}
