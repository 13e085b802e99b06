//! The members of records that a statement asks of an external table: columns of files that it does not ask for stay unread.

use std::collections::BTreeSet;

use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::catalog::external_rows::ExternalRows;
use crate::catalog::external_table::RECORD_COLUMN;
use crate::compile::transpile::EngineSql;
use crate::syntax::parse::stage_read::{columns_named, engine_tokens};

/// What the records of a file are called in the queries of an external table's rows.
pub(super) const RECORDS: &str = "records";

/// Those behind the columns that the generated statement names; none where whole records may be read.
pub fn external_members(external: &ExternalRows, generated: &EngineSql) -> Option<Vec<String>> {
    if external.is_whole {
        return None; // something of it is hidden: what is read of its files must not follow from what is asked
    }
    let mut asked = BTreeSet::new();
    for text in generated.before.iter().map(|step| &step.sql).chain([&generated.sql]) {
        asked.extend(columns_named(text, &external.kept_as)?);
    }
    let mut found = BTreeSet::new();
    for column in external.made.iter().filter(|column| asked.contains(&column.name.value.to_lowercase())) {
        found.extend(members(&column.expr)?);
    }
    Some(found.into_iter().collect())
}

/// The members of the record that an expression reads; none where it may read more of it.
pub(super) fn members(expr: &Expr) -> Option<Vec<String>> {
    let tokens = engine_tokens(&expr.to_string())?;
    let mut members = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else {
            if matches!(token, Token::Placeholder(_) | Token::Mul) {
                return None;
            }
            continue;
        };
        if word.value.eq_ignore_ascii_case(RECORDS) {
            return None;
        }
        if word.value.eq_ignore_ascii_case(RECORD_COLUMN) {
            let [Token::Colon, Token::Word(member)] = tokens.get(place + 1..place + 3)? else { return None };
            members.push(member.value.clone());
        }
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_of_an_expression_are_those_behind_the_record() {
        for (text, told) in [
            ("\"VALUE\":id::INT", Some("id")),
            ("value:a.b::VARCHAR || value:\"C d\"", Some("a C d")),
            ("split_part(METADATA$FILENAME, '/', 1)", Some("")),
            ("\"VALUE\"", None),
            ("value:id * 2", None),
            ("value['id']", None),
            ("get(value, 'id')", None),
            ("to_json(records)", None),
        ] {
            let expr = crate::syntax::parse::expression(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(members(&expr).map(|members| members.join(" ")).as_deref(), told, "{text}");
        }
    }
}
