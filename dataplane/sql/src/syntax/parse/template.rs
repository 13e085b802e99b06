//! `CREATE [EXTERNAL] TABLE t USING TEMPLATE (query)`: the query, which answers the columns, is read as a statement of
//! its own.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::staged::StagedStatement;
use super::staged_files::is_word;
use super::unload::parenthesized;
use super::{is, source, tree};
use crate::ast::error::Error;
use crate::syntax::lex;
use crate::syntax::statement::{StatementKind, TableTemplate};

/// What stands in the tree for columns that are not known yet.
const UNKNOWN: &str = "(\"unknown\" INTEGER)";

/// The statement, if its first words say that it makes a table by a template.
pub(super) fn read(text: &str, tokens: &[TokenWithSpan]) -> Result<Option<StagedStatement>, Error> {
    let begins = |two: &[TokenWithSpan]| match two {
        [using, template] => is_word(&using.token, "using") && is_word(&template.token, "template"),
        _ => false,
    };
    let Some(first) = tokens.first().filter(|first| is(&first.token, Keyword::CREATE)) else { return Ok(None) };
    let Some(place) = tokens.windows(2).position(begins) else { return Ok(None) };
    let Some((head, [_, _, query @ ..])) = tokens.split_at_checked(place) else { return Ok(None) };
    let is_name = |token: &TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Period);
    if !head.iter().all(is_name) {
        let error = Error::syntax("USING TEMPLATE stands behind the name of a table, and in place of its columns");
        return Err(error.at(first.span.start));
    }
    let is_external = |word: &TokenWithSpan| is(&word.token, Keyword::EXTERNAL);
    let names_external = head.iter().any(is_external);
    let wrong = || {
        let behind = if names_external { "its LOCATION" } else { "nothing behind it" };
        Error::syntax(format!("behind USING TEMPLATE stands a query in parentheses, and {behind}")).at(first.span.start)
    };
    let (query, behind) =
        parenthesized(query).filter(|(_, behind)| behind.is_empty() != names_external).ok_or_else(wrong)?;
    // nothing of it is run, so it stands for an external table too
    let mut made: Vec<TokenWithSpan> = head.iter().filter(|word| !is_external(word)).cloned().collect();
    made.extend(lex::tokens(UNKNOWN)?);
    let mut template = TableTemplate::new(source(text, head).own, source(text, query).own);
    if names_external {
        template = template.external(source(text, behind).own);
    }
    Ok(Some(StagedStatement { tree: *tree(made)?, kind: StatementKind::Template(template) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse::parse;
    use crate::syntax::statement::Operation;

    #[test]
    fn the_query_is_a_statement_of_its_own() {
        let text = "create or replace table main.t using template (select array_agg(object_construct(*)) \
                    from table(infer_schema(location => '@s', file_format => 'f')))";
        let statement = parse(text).unwrap();
        let StatementKind::Template(template) = statement.kind() else { panic!("{:?}", statement.kind()) };
        assert!(template.query.starts_with("select array_agg(") && template.query.ends_with("'f'))"), "{template:?}");
        let made = template.statement([("a", "TEXT", true)].into_iter()).unwrap();
        assert_eq!(made, "create or replace table main.t (\"a\" TEXT)");
        assert!(statement.operations().contains(&Operation::Create) && statement.is_write());
        assert!(!statement.answers() && !statement.kind().runs());
        assert_eq!(statement.tables().iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["t"]);
        let (catalog, session) = (crate::Catalog::default(), crate::testing::session());
        assert!(crate::resolve(statement, &catalog, &session).is_err());
    }

    #[test]
    fn an_external_table_has_its_location_behind_the_query() {
        let text = "create external table t using template (select 1) location = @s/a file_format = f";
        let statement = parse(text).unwrap();
        let StatementKind::Template(template) = statement.kind() else { panic!("{:?}", statement.kind()) };
        assert!(template.is_external() && statement.is_write());
        let made = template.statement([("a", "TEXT", true)].into_iter()).unwrap();
        let expected = "create external table t (\"a\" TEXT AS ($1:\"a\"::TEXT)) location = @s/a file_format = f";
        assert_eq!(made, expected);
        assert!(matches!(parse(&made).unwrap().kind(), StatementKind::ExternalTable(_)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "CREATE TABLE t USING TEMPLATE",
            "CREATE TABLE t USING TEMPLATE ()",
            "CREATE TABLE t USING TEMPLATE SELECT 1",
            "CREATE TABLE t USING TEMPLATE (SELECT 1",
            "CREATE TABLE t USING TEMPLATE (SELECT 1) CLUSTER BY (a)",
            "CREATE TABLE USING TEMPLATE (SELECT 1)",
            "CREATE TABLE t (a INT) USING TEMPLATE (SELECT 1)",
            "CREATE EXTERNAL TABLE t USING TEMPLATE (SELECT 1)",
            "CREATE EXTERNAL TABLE t USING TEMPLATE LOCATION = @s",
            "CREATE TABLE t USING TEMPLATE (SELECT 1) LOCATION = @s",
            "CREATE VIEW v USING TEMPLATE (SELECT 1)",
            "DROP TABLE t USING TEMPLATE (SELECT 1)",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
