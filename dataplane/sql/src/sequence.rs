//! Sequences, and columns that count by one of their own.

use sqlparser::ast::{
    ColumnOption, CreateTable, Expr, Ident, IdentityParameters, IdentityPropertyFormatKind, IdentityPropertyKind,
    ObjectName, SequenceOptions, Statement, Value,
};

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::TokenWithSpan;

use crate::call::call;
use crate::parse::is;
use crate::{names, quote};

/// Before the names of sequences that belong to a column.
pub(crate) const OWNED: &str = "_svc_";

/// `CREATE OR REPLACE SEQUENCE`, for which the parser crate has no form, without `OR REPLACE`.
pub(crate) fn without_replace(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words = [Keyword::CREATE, Keyword::OR, Keyword::REPLACE, Keyword::SEQUENCE];
    let begins = words.iter().zip(tokens).filter(|(word, token)| is(&token.token, **word)).count() == words.len();
    let kept = tokens.iter().enumerate().filter(|(place, _)| !matches!(place, 1 | 2));
    begins.then(|| kept.map(|(_, token)| token.clone()).collect())
}

/// The statement remembers `OR REPLACE` as its owner: a zero character is in no name that a text can hold.
const REPLACES: &str = "\0or replace";

/// The statement, with `OR REPLACE`.
pub(crate) fn replacing(mut tree: Statement) -> Statement {
    if let Statement::CreateSequence { owned_by: owned_by @ None, .. } = &mut tree {
        *owned_by = Some(ObjectName::from(vec![Ident::new(REPLACES)]));
    }
    tree
}

/// Whether it takes the place of a sequence that may be there.
pub(crate) fn replaces(owned_by: Option<&ObjectName>) -> bool {
    owned_by.and_then(names::single).is_some_and(|owner| owner.value == REPLACES)
}

/// The next value of a sequence.
pub(crate) fn next(schema: &str, name: &str) -> Expr {
    let path = [names::RAW_CATALOG, schema, name].map(quote::name).join(".");
    call("nextval", [Expr::value(Value::SingleQuotedString(path))])
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
            // with its length, or `a_b.c` and `a.b_c` would have one
            let name = format!("{OWNED}{}_{table}_{}", table.len(), column.name.value);
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

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::engine;

    #[test]
    fn columns_of_two_tables_never_count_by_one_sequence() {
        let sequence = |sql: &str| {
            let made = engine(sql, &Rules::default()).expect("engine SQL");
            let before = made.before.iter().find(|step| step.sql.starts_with("CREATE SEQUENCE")).expect("a sequence");
            before.sql.clone()
        };
        let one = sequence("CREATE TABLE a_b (c INT AUTOINCREMENT)");
        assert_ne!(one, sequence("CREATE TABLE a (b_c INT AUTOINCREMENT)"));
    }
}
