//! Statements about external tables, which the parser crate has no form for.
//!
//! One that is made becomes a view: a query of its columns over the stage, so that names, types and expressions are
//! admitted as those of any query. What is said of its files is kept beside the tree.

mod listed;

use sqlparser::ast::{
    CreateView, DescribeAlias, Ident, ObjectName, ObjectType, SelectItem, SetExpr, Statement, TableFactor,
};
use sqlparser::dialect::SnowflakeDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::staged::{StagedStatement, name_of, uncommented};
use super::staged_files::{is_word, location};
use super::{end, made, options, own, parser, refused, tree};
use crate::ast::error::Error;
use crate::ast::expression::cast;
use crate::ast::{names, partial};
use crate::catalog::definition::DefinitionKind;
use crate::catalog::external_table::{ExternalColumn, ExternalDefinition, RECORD_COLUMN, record};
use crate::catalog::file_format::{flagged, word};
use crate::catalog::stage::format;
use crate::scan::asks;
use crate::syntax::parentheses::OpenParentheses;
use crate::syntax::statement::{ExternalCommand, StatementKind};

/// The statement, if its first words say that it is about an external table.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<Option<StagedStatement>, Error> {
    let (or_replace, rest) = match tokens {
        [create, or, replace, rest @ ..]
            if is_word(&create.token, "create") && is_word(&or.token, "or") && is_word(&replace.token, "replace") =>
        {
            (true, rest)
        }
        [_, terse, rest @ ..] if is_word(&terse.token, "terse") => (false, rest),
        [_, rest @ ..] => (false, rest),
        [] => return Ok(None),
    };
    let ([external, table, rest @ ..], Some(verb)) = (rest, tokens.first().map(|first| &first.token)) else {
        return Ok(None);
    };
    let is_one = is_word(&external.token, "external");
    if is_one && is_word(&table.token, "tables") && is_word(verb, "show") {
        return shown(rest).map(Some);
    }
    if !is_one || !is_word(&table.token, "table") {
        return Ok(None);
    }
    let rest = recorded(rest);
    let read = if is_word(verb, "create") {
        created(&rest, or_replace)
    } else if is_word(verb, "alter") {
        altered(rest)
    } else if is_word(verb, "drop") {
        dropped(rest)
    } else if is_word(verb, "describe") || is_word(verb, "desc") {
        described(rest)
    } else {
        return Ok(None);
    };
    read.map(Some)
}

/// `$1` is the whole record too.
fn recorded(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut tokens = tokens.to_vec();
    for TokenWithSpan { token, .. } in &mut tokens {
        if matches!(token, Token::Placeholder(name) if name.as_str() == "$1") {
            let value = RECORD_COLUMN.to_owned();
            *token = Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
        }
    }
    tokens
}

fn external(tree: Statement, command: ExternalCommand) -> StagedStatement {
    StagedStatement { tree, kind: StatementKind::ExternalTable(command) }
}

/// LIKE, IN and the rest are those of any SHOW.
fn shown(rest: &[TokenWithSpan]) -> Result<StagedStatement, Error> {
    let tokens = [made("SHOW"), made("OBJECTS")].into_iter().chain(rest.iter().cloned()).collect();
    match *tree(tokens)? {
        shown @ Statement::ShowObjects(_) => Ok(external(shown, ExternalCommand::Show)),
        _ => Err(Error::unsupported("this form of SHOW")),
    }
}

fn described(rest: Vec<TokenWithSpan>) -> Result<StagedStatement, Error> {
    let mut parser = parser(&SnowflakeDialect {}, rest);
    let table_name = parser.parse_object_name(false).map_err(refused)?;
    let given = options::options(&mut parser).map_err(refused)?;
    end(&parser).map_err(refused)?;
    for option in &given.options {
        if !option.option_name.eq_ignore_ascii_case("TYPE") || !word(option)?.eq_ignore_ascii_case("COLUMNS") {
            return Err(Error::unsupported("DESCRIBE EXTERNAL TABLE of other than TYPE = COLUMNS"));
        }
    }
    let kind = StatementKind::Describe { name: table_name.to_string() };
    let describe_alias = DescribeAlias::Describe;
    let tree = Statement::ExplainTable { describe_alias, hive_format: None, has_table_keyword: false, table_name };
    Ok(StagedStatement { tree, kind })
}

fn dropped(rest: Vec<TokenWithSpan>) -> Result<StagedStatement, Error> {
    let mut parser = parser(&SnowflakeDialect {}, rest);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false).map_err(refused)?;
    end(&parser).map_err(refused)?;
    Ok(external(partial::dropped(ObjectType::View, if_exists, name), ExternalCommand::Drop))
}

/// `ALTER EXTERNAL TABLE t REFRESH ['path']`, or `… ADD FILES ('path', …)`: nothing of the table itself is changed.
fn altered(rest: Vec<TokenWithSpan>) -> Result<StagedStatement, Error> {
    let mut parser = parser(&SnowflakeDialect {}, rest);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false).map_err(refused)?;
    let action = parser.next_token();
    let command = if is_word(&action.token, "refresh") {
        let next = parser.peek_token();
        let mut path = String::new();
        if let Token::SingleQuotedString(text) = &next.token {
            path.clone_from(text);
            parser.next_token();
        }
        leads_down(&path).map_err(|error| error.at(next.span.start))?;
        ExternalCommand::Refresh { path }
    } else {
        let others = || Error::unsupported("ALTER EXTERNAL TABLE other than REFRESH, ADD FILES and REMOVE FILES");
        listed::read(&mut parser, &action.token)?.ok_or_else(|| others().at(action.span.start))?
    };
    end(&parser).map_err(refused)?;
    Ok(external(partial::altered(name, if_exists, Vec::new()), command))
}

fn created(tokens: &[TokenWithSpan], or_replace: bool) -> Result<StagedStatement, Error> {
    let (stage, prefix, tokens) = located(tokens)?;
    let mut parser = parser(&SnowflakeDialect {}, tokens);
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false).map_err(refused)?;
    let columns = if parser.consume_token(&Token::LParen) {
        let columns = parser.parse_comma_separated(column).map_err(refused)?;
        parser.expect_token(&Token::RParen).map_err(refused)?;
        columns
    } else {
        Vec::new()
    };
    let partition_by = partitions(&mut parser, &columns)?;
    let given = options::options(&mut parser).map_err(refused)?;
    end(&parser).map_err(refused)?;
    let (given, comment) = uncommented(given)?;
    let mut definition = ExternalDefinition {
        columns,
        partition_by,
        stage,
        prefix,
        pattern: None,
        format: None,
        is_filled: true,
        comment,
    };
    for option in &given.options {
        let name = option.option_name.to_ascii_uppercase();
        let flag = || flagged(option).ok_or_else(|| Error::syntax(format!("{name} is TRUE or FALSE")));
        match name.as_str() {
            "PATTERN" => definition.pattern = Some(word(option)?.to_owned()),
            "FILE_FORMAT" => definition.format = Some(format(option)?),
            "REFRESH_ON_CREATE" => definition.is_filled = flag()?,
            "AUTO_REFRESH" if !flag()? => {}
            "AUTO_REFRESH" => {
                let what =
                    "AUTO_REFRESH = TRUE of an external table, whose new files ALTER EXTERNAL TABLE … REFRESH reads,";
                return Err(Error::unsupported(what));
            }
            _ => return Err(Error::unsupported(format!("this {name} of an external table"))),
        }
    }
    let tree = Statement::CreateView(viewed(&definition, name, or_replace, if_not_exists)?);
    Ok(external(tree, ExternalCommand::Create(Box::new(definition))))
}

/// `LOCATION = @stage/path`: the stage's name, how paths begin, and the other tokens.
fn located(tokens: &[TokenWithSpan]) -> Result<(ObjectName, String, Vec<TokenWithSpan>), Error> {
    let missing = || Error::syntax("an external table has LOCATION = @stage/path");
    let mut open = OpenParentheses::default();
    let begins = |pair: &[TokenWithSpan]| {
        let [name, equals] = pair else { return false };
        open.are_none_behind(&name.token) && is_word(&name.token, "location") && equals.token == Token::Eq
    };
    let at = tokens.windows(2).position(begins).ok_or_else(missing)?;
    let (before, found) = tokens.split_at_checked(at).ok_or_else(missing)?;
    let place = found.first().map(|first| first.span.start);
    let here = |error: Error| match place {
        Some(place) => error.at(place),
        None => error,
    };
    let (named, behind) = found.get(2..).and_then(location).ok_or_else(missing).map_err(here)?;
    let (name, path) = named.split_once('/').unwrap_or((named.as_str(), ""));
    if name.starts_with(['~', '%']) || name.contains(".%") {
        return Err(here(Error::unsupported("the own stage of a user or a table in an external table")));
    }
    let stage = name_of(DefinitionKind::Stage, name).map_err(here)?;
    let is_open = path.is_empty() || path.ends_with('/');
    let path = format!("{path}{}", if is_open { "" } else { "/" }); // a folder, and not what begins as it does
    leads_down(&path).map_err(here)?;
    let before = match before.split_last() {
        Some((with, others)) if is_word(&with.token, "with") => others,
        _ => before,
    };
    Ok((stage, path, before.iter().chain(behind).cloned().collect()))
}

/// A path that another reader could take for another place is refused.
fn leads_down(path: &str) -> Result<(), Error> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_odd = |letter: char| letter.is_control() || letter == '\\';
    if !path.is_empty() && (path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains(is_odd)) {
        return Err(Error::syntax(
            "the path of an external table is names with single slashes between them, no . or ..",
        ));
    }
    Ok(())
}

/// `name type AS (expression)`.
fn column(parser: &mut Parser<'_>) -> Result<ExternalColumn, ParserError> {
    let name = parser.parse_identifier()?;
    let data_type = parser.parse_data_type()?;
    parser.expect_keyword(Keyword::AS)?;
    let expr = parser.parse_expr()?;
    Ok(ExternalColumn { name, data_type, expr })
}

/// `PARTITION BY (column, …)`, each of which is there.
fn partitions(parser: &mut Parser<'_>, columns: &[ExternalColumn]) -> Result<Vec<Ident>, Error> {
    if !parser.parse_keywords(&[Keyword::PARTITION, Keyword::BY]) {
        return Ok(Vec::new());
    }
    parser.expect_token(&Token::LParen).map_err(refused)?;
    let named = parser.parse_comma_separated(Parser::parse_identifier).map_err(refused)?;
    parser.expect_token(&Token::RParen).map_err(refused)?;
    for name in &named {
        let Some(column) = columns.iter().find(|column| column.name.value.eq_ignore_ascii_case(&name.value)) else {
            return Err(Error::syntax(format!("PARTITION BY names no column {}", name.value)).at(name.span.start));
        };
        // what is left out by a value of it must not follow from what is in the file
        if reads_record(column) {
            let message = format!("the partition column {} is made of METADATA$FILENAME alone", name.value);
            return Err(Error::syntax(message).at(name.span.start));
        }
    }
    Ok(named)
}

fn reads_record(column: &ExternalColumn) -> bool {
    use sqlparser::ast::Expr;
    let is_of_path = |name: &Ident| name.value.eq_ignore_ascii_case(crate::catalog::staged_rows::FILE_NAME);
    crate::ast::any_expression(&column.expr, |expr| match expr {
        Expr::Identifier(name) => !is_of_path(name),
        Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => true,
        _ => false,
    })
}

/// The view that it is in trees: a query of all its columns over the stage.
fn viewed(
    definition: &ExternalDefinition,
    name: ObjectName,
    or_replace: bool,
    if_not_exists: bool,
) -> Result<CreateView, Error> {
    let unexpected = || Error::unsupported("this external table");
    let Statement::CreateView(mut create) = own("CREATE VIEW t AS SELECT CAST(x AS VARIANT) FROM s WHERE FALSE")?
    else {
        return Err(unexpected());
    };
    let SetExpr::Select(select) = create.query.body.as_mut() else { return Err(unexpected()) };
    let [SelectItem::UnnamedExpr(sqlparser::ast::Expr::Cast { data_type, .. })] = select.projection.as_slice() else {
        return Err(unexpected());
    };
    let whole = cast(record(), data_type.clone());
    let whole = SelectItem::ExprWithAlias { expr: whole, alias: names::quoted(RECORD_COLUMN) };
    let mut items = vec![whole];
    for ExternalColumn { name, expr, .. } in &definition.columns {
        names::admit_new(name)?;
        if asks(expr) {
            return Err(Error::unsupported("a query in a column of an external table").at(name.span.start));
        }
        let is_twice = definition.columns.iter().filter(|other| is_same(&other.name, name)).count() > 1;
        if is_twice || name.value.eq_ignore_ascii_case(RECORD_COLUMN) {
            return Err(Error::syntax(format!("column {} is there twice", name.value)).at(name.span.start));
        }
    }
    items.extend(definition.columns.iter().map(|column| {
        let alias = Ident { quote_style: Some('"'), ..column.name.clone() };
        SelectItem::ExprWithAlias { expr: column.value(), alias }
    }));
    select.projection = items;
    match select.from.as_mut_slice() {
        [table] => match &mut table.relation {
            TableFactor::Table { name, .. } => name.clone_from(&definition.stage),
            _ => return Err(unexpected()),
        },
        _ => return Err(unexpected()),
    }
    create.name = name;
    (create.or_replace, create.if_not_exists) = (or_replace, if_not_exists);
    Ok(create)
}

fn is_same(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}

#[cfg(test)]
mod tests;
