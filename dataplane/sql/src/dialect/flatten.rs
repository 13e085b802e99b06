//! Table functions of the warehouse: FLATTEN, `SPLIT_TO_TABLE` and GENERATOR.
//!
//! FLATTEN becomes a lateral subquery over a list of structs, with the warehouse's six columns. SEQ numbers the
//! rows that are taken apart: where the statement can see it, the one table to the left is read with a row number;
//! where several tables stand to the left it could not be told, and is refused.

mod seq;

use std::sync::LazyLock;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, TableAlias, TableFactor,
};
use sqlparser::dialect::DuckDbDialect;
use sqlparser::parser::Parser;

use super::{Context, compose, paths, templates};
use crate::ast::change_expressions;
use crate::ast::error::Error;
use crate::ast::names::{self, ours::ITEM};
use crate::functions::catalogue::{GENERATED_MAX, is_table_function_of_dialect};
use crate::functions::types::Type;

pub(super) use seq::{number, sees_seq};

/// The names within are ours (`names::ours`). `items` is the list of what the value holds, `shown` its path as it is shown.
const EACH: &str = "SELECT _sluice_item.seq AS seq, _sluice_item.key AS key, shown AS path, _sluice_item.index AS index, \
     _sluice_item.value AS value, _sluice_item.this AS this FROM (SELECT unnest(items) AS _sluice_item) AS _sluice_source";
/// Keys that a path cannot be read back from raise an error rather than a wrong path.
const TREE: &str = "SELECT number AS seq, CASE json_type(_sluice_item.above) WHEN 'OBJECT' THEN _sluice_item.key END AS key, \
     shown AS path, \
     CASE json_type(_sluice_item.above) WHEN 'ARRAY' THEN CAST(_sluice_item.key AS BIGINT) END AS index, \
     _sluice_item.value AS value, _sluice_item.above AS this \
     FROM (SELECT _sluice_node.key AS key, _sluice_node.fullkey AS fullkey, _sluice_node.value AS value, _sluice_node.id AS id, \
     CASE WHEN regexp_full_match(_sluice_node.fullkey, '\\$([.][A-Za-z_][A-Za-z0-9_$]*|\\[[0-9]+\\])*') \
     THEN json_extract(_sluice_source.this, _sluice_node.path) ELSE error('a key of FLATTEN with RECURSIVE is not a plain name') END \
     AS above FROM (SELECT input AS this) AS _sluice_source, json_tree(_sluice_source.this) AS _sluice_node WHERE _sluice_node.parent IS NOT NULL) \
     AS _sluice_item ORDER BY _sluice_item.id";
const SPLIT: &str = "SELECT number AS seq, unnest(range(1, len(_sluice_source.parts) + 1)) AS index, \
     unnest(_sluice_source.parts) AS value FROM (SELECT string_split(input, delimiter) AS parts) AS _sluice_source";
const COUNT: &str = "SELECT range AS _sluice_number FROM range(input)";

const TOKENS: &str = "SELECT number AS seq, unnest(range(1, len(_sluice_source.parts) + 1)) AS index, \
     unnest(_sluice_source.parts) AS value FROM (SELECT input AS parts) AS _sluice_source";

static QUERIES: LazyLock<[Option<Query>; 5]> = LazyLock::new(|| [EACH, TREE, SPLIT, COUNT, TOKENS].map(parsed));

fn parsed(text: &str) -> Option<Query> {
    Parser::new(&DuckDbDialect {}).try_with_sql(text).ok()?.parse_query().ok().map(|query| *query)
}

/// Makes `TABLE(f(…))` and a bare `f(…)` the one form the rest reads, before its arguments are rewritten.
pub(super) fn gather(factor: &mut TableFactor) -> Result<(), Error> {
    let (name, args, alias) = match factor {
        TableFactor::TableFunction { expr: Expr::Function(Function { name, args, .. }), alias } => match args {
            FunctionArguments::List(list) => (name, std::mem::take(&mut list.args), alias),
            FunctionArguments::None | FunctionArguments::Subquery(_) => {
                return Err(Error::unsupported("TABLE(…) of this"));
            }
        },
        TableFactor::TableFunction { .. } => return Err(Error::unsupported("TABLE(…) of this")),
        TableFactor::Table { name, args: Some(args), alias, .. }
            if names::single(name).is_some_and(|name| is_table_function_of_dialect(&name.value)) =>
        {
            (name, std::mem::take(&mut args.args), alias)
        }
        _ => return Ok(()),
    };
    *factor =
        TableFactor::Function { lateral: true, name: name.clone(), args, with_ordinality: false, alias: alias.take() };
    Ok(())
}

/// A table function of the warehouse, its arguments rewritten.
pub(super) fn rewrite(factor: &mut TableFactor, context: &mut Context<'_>) -> Result<(), Error> {
    let TableFactor::Function { name, args, alias, .. } = factor else {
        return Ok(());
    };
    let Some(name) = compose::bare_name(name).filter(|name| is_table_function_of_dialect(name)) else {
        return Ok(());
    };
    let mut given = Arguments::read(&name, std::mem::take(args))?;
    let query = match name.as_str() {
        "flatten" => flatten(&mut given, context)?,
        "split_to_table" => split_to_table(&mut given)?,
        "strtok_split_to_table" => strtok_split_to_table(&mut given, context)?,
        _ => generator(&mut given)?,
    };
    given.end(&name)?;
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(&name),
        columns: Vec::new(),
        at: None,
    });
    *factor = TableFactor::Derived { lateral: true, subquery: Box::new(query), alias: Some(alias), sample: None };
    Ok(())
}

fn flatten(given: &mut Arguments, context: &mut Context<'_>) -> Result<Query, Error> {
    let mut input = given.take("input", 0).ok_or_else(|| Error::unsupported("FLATTEN without INPUT"))?;
    let mut along = String::new();
    if let Some(path) = given.take("path", 1) {
        let written =
            compose::literal(&path).ok_or_else(|| Error::unsupported("FLATTEN with a PATH that is not a literal"))?;
        input = paths::along(input, written)?;
        written.clone_into(&mut along);
    }
    let is_outer = truth(given.take("outer", 2), "OUTER")?;
    let is_recursive = truth(given.take("recursive", 3), "RECURSIVE")?;
    let mode = given.take("mode", 4);
    let mode = mode.as_ref().map(|mode| compose::literal(mode).unwrap_or_default().to_ascii_uppercase());
    let template = match mode.as_deref() {
        None | Some("BOTH") => "_items",
        Some("ARRAY") => "_items_of_array",
        Some("OBJECT") => "_items_of_object",
        Some(_) => return Err(Error::unsupported("MODE of FLATTEN other than 'BOTH', 'ARRAY' and 'OBJECT'")),
    };
    if context.type_of(&input) != Type::Json {
        input = compose::call("to_json", [input]);
    }
    let number = seq::of(&input);
    if is_recursive {
        if is_outer || template != "_items" {
            return Err(Error::unsupported("RECURSIVE of FLATTEN with OUTER or MODE"));
        }
        let shown = if along.is_empty() {
            templates::fill("_key", &mut [], context)?
        } else {
            templates::fill("_key_along", &mut [compose::text(along)], context)?
        };
        return filled(1, vec![("input", input), ("number", number), ("shown", shown)]);
    }
    let mut args = [input, number];
    let mut items = templates::fill(template, &mut args.clone(), context)?;
    if is_outer {
        let is_there = compose::binary(
            compose::call("len", [items.clone()]),
            sqlparser::ast::BinaryOperator::Gt,
            compose::number(0),
        );
        items = compose::case(None, vec![(is_there, items)], Some(templates::fill("_no_items", &mut args, context)?));
    }
    let shown = if along.is_empty() {
        Expr::CompoundIdentifier(Vec::from([ITEM, "path"].map(Ident::new)))
    } else {
        // what PATH led to begins the paths of what is found there
        templates::fill("_path_along", &mut [compose::text(along)], context)?
    };
    filled(0, vec![("items", items), ("shown", shown)])
}

fn split_to_table(given: &mut Arguments) -> Result<Query, Error> {
    match (given.take("string", 0), given.take("delimiter", 1)) {
        (Some(text), Some(delimiter)) => {
            let number = seq::of(&text);
            filled(2, vec![("input", text), ("delimiter", delimiter), ("number", number)])
        }
        _ => Err(Error::unsupported("SPLIT_TO_TABLE without its two arguments")),
    }
}

/// Each character of the second argument parts the first; a space, when there is none.
fn strtok_split_to_table(given: &mut Arguments, context: &mut Context<'_>) -> Result<Query, Error> {
    let text = given.take("string", 0);
    let text = text.ok_or_else(|| Error::unsupported("STRTOK_SPLIT_TO_TABLE without its text"))?;
    let delimiters = given.take("delimiter_list", 1).unwrap_or_else(|| compose::text(" "));
    let number = seq::of(&text);
    let tokens = templates::fill("_tokens", &mut [text, delimiters], context)?;
    filled(4, vec![("input", tokens), ("number", number)])
}

fn generator(given: &mut Arguments) -> Result<Query, Error> {
    let rows = given.take("rowcount", 0).and_then(|rows| compose::integer(&rows));
    match rows.map(u64::try_from) {
        Some(Ok(rows)) if rows <= GENERATED_MAX => {
            filled(3, vec![("input", compose::number(i64::try_from(rows).unwrap_or_default()))])
        }
        Some(_) => Err(Error::unsupported(format!("GENERATOR of more than {GENERATED_MAX} rows"))),
        None => Err(Error::unsupported("GENERATOR without a literal ROWCOUNT")),
    }
}

fn truth(expr: Option<Expr>, name: &str) -> Result<bool, Error> {
    match expr {
        None => Ok(false),
        Some(Expr::Value(value)) if matches!(value.value, sqlparser::ast::Value::Boolean(_)) => {
            Ok(value.value == sqlparser::ast::Value::Boolean(true))
        }
        Some(_) => Err(Error::unsupported(format!("{name} that is not TRUE or FALSE"))),
    }
}

/// The query with its inputs in place.
fn filled(at: usize, mut inputs: Vec<(&'static str, Expr)>) -> Result<Query, Error> {
    let found = QUERIES.get(at).and_then(Option::as_ref);
    let mut query = found.ok_or_else(|| Error::unsupported("this table function"))?.clone();
    change_expressions(&mut query, |expr| {
        let given = match &*expr {
            Expr::Identifier(ident) => inputs.iter().position(|(name, _)| *name == ident.value),
            _ => None,
        };
        if let Some(given) = given {
            *expr = inputs.swap_remove(given).1;
        }
    });
    Ok(query)
}

/// Arguments by name (`INPUT => x`) or by place.
struct Arguments {
    placed: Vec<Option<Expr>>,
    named: Vec<(String, Expr)>,
}

impl Arguments {
    fn read(function: &str, args: Vec<FunctionArg>) -> Result<Self, Error> {
        let mut read = Self { placed: Vec::new(), named: Vec::new() };
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => read.placed.push(Some(expr)),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => {
                    read.named.push((name.value.to_ascii_lowercase(), expr));
                }
                _ => {
                    return Err(Error::unsupported(format!("this argument of {}", function.to_ascii_uppercase())));
                }
            }
        }
        Ok(read)
    }

    fn take(&mut self, name: &str, place: usize) -> Option<Expr> {
        if let Some(at) = self.named.iter().position(|(known, _)| known == name) {
            return Some(self.named.swap_remove(at).1);
        }
        self.placed.get_mut(place).and_then(Option::take)
    }

    /// Nothing may be left over.
    fn end(&self, function: &str) -> Result<(), Error> {
        let left = self.named.first().map(|(name, _)| name.as_str());
        match left.or_else(|| self.placed.iter().any(Option::is_some).then_some("one more")) {
            None => Ok(()),
            Some(name) => Err(Error::unsupported(format!("the argument {name} of {}", function.to_ascii_uppercase()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_parse() {
        assert!(QUERIES.iter().all(Option::is_some));
    }
}
