//! Table functions that search: `svc_context('t', 'late orders', 10)`, `svc_rag_context('t', 'v', [0.5, 1], 10)`, and
//! the engine's `duckdb_tables()`.
//!
//! What agents' frameworks call these begins with a name of their own, so what stands before `_context` does not count.
//! A search becomes the query that it means, over the table by its name: so it is bound, governed and masked like what
//! was written, and a masked value is searched as it is shown. The list of tables is the catalogue's, of what the
//! caller may see, and never the engine's own.

use sqlparser::ast::{Array, Expr, FunctionArg, Ident, ObjectName, TableAlias, TableFactor, UnaryOperator, Value};

use unicode_normalization::char::is_combining_mark;

use super::named;
use crate::ast::call::{literal, plain};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names;
use crate::ast::names::ours::{ROWS, SCORE, TEXT};
use crate::catalog::information_schema;
use crate::syntax::script::{self, is_unspaced};

const BY_WORDS: &str = "_context";
const BY_VECTOR: &str = "_rag_context";
/// Rows wanted where nothing is said of it, and at most.
const ROWS_WANTED: u64 = 10;
const ROWS_MAX: u64 = 1_000;
/// Words of a search that count; more than these are left out.
const WORDS_MAX: usize = 32;
const NUMBERS_MAX: usize = 4_096;

/// Puts in what such a call means.
pub(super) fn rewrite(factor: &mut TableFactor) -> Result<(), Error> {
    let TableFactor::Table { name, args: Some(called), alias, .. } = factor else {
        return Ok(());
    };
    let Some(function) = names::single(name).map(|name| name.value.to_ascii_lowercase()) else {
        return Ok(());
    };
    if function == information_schema::SIZES && called.args.is_empty() {
        listed(factor);
        return Ok(());
    }
    let text = match function.as_str() {
        function if is_named(function, BY_VECTOR) => by_vector(function, &called.args)?,
        function if is_named(function, BY_WORDS) => by_words(function, &called.args)?,
        _ => return Ok(()),
    };
    let as_called = || TableAlias { explicit: true, name: names::quoted(&function), columns: Vec::new(), at: None };
    let alias = alias.take().unwrap_or_else(as_called);
    let subquery = crate::syntax::parse::query(&text)?;
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    Ok(())
}

/// One word of somebody's own before it.
fn is_named(function: &str, end: &str) -> bool {
    function.strip_suffix(end).is_some_and(|word| {
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// `duckdb_tables()` is a table of the catalogue.
fn listed(factor: &mut TableFactor) {
    if let TableFactor::Table { name, args, .. } = factor {
        *name = ObjectName::from(vec![Ident::new(information_schema::SCHEMA), Ident::new(information_schema::SIZES)]);
        *args = None;
    }
}

/// The rows whose values hold most of the words.
fn by_words(function: &str, args: &[FunctionArg]) -> Result<String, Error> {
    let (table, searched, wanted) = match args {
        [table, searched] => (table, searched, None),
        [table, searched, wanted] => (table, searched, Some(wanted)),
        _ => return Err(misused(function, "takes a table, the words to search for and how many rows are wanted")),
    };
    let table = table_name(function, table)?;
    let searched = text(searched).ok_or_else(|| misused(function, "takes the words to search for as a text"))?;
    let words = words(searched);
    if words.is_empty() {
        return Err(misused(function, "needs a word to search for"));
    }
    let found = words.iter().map(|word| format!("CASE WHEN \"{TEXT}\" ILIKE '{}' THEN 1 ELSE 0 END", pattern(word)));
    let score = found.collect::<Vec<_>>().join(" + ");
    let (wanted, searched) = (rows_wanted(function, wanted)?, in_words("TO_JSON(OBJECT_CONSTRUCT(*))"));
    Ok(format!(
        "SELECT * EXCLUDE (\"{TEXT}\", \"{SCORE}\") FROM (\
           SELECT *, {score} AS \"{SCORE}\" FROM (\
             SELECT *, {searched} AS \"{TEXT}\" \
             FROM {table} AS \"{ROWS}\") AS \"{ROWS}\") AS \"{ROWS}\" \
         WHERE \"{SCORE}\" > 0 ORDER BY \"{SCORE}\" DESC LIMIT {wanted}"
    ))
}

/// A row as its words, each between two blanks: without the names of its columns, escapes and marks. A script that
/// writes no blanks is a word as far as it goes. `CHR(92)` is a backslash: in a literal it would be warned of.
fn in_words(row: &str) -> String {
    let unspaced: String = script::UNSPACED.iter().flat_map(|&(first, last)| [first, '-', last]).collect();
    let replaced = [
        ("CHR(92) || CHR(92) || '(u[0-9a-fA-F]{4}|.)'".to_owned(), "' '"),
        ("'\"[^\"]*\":'".to_owned(), "' '"),
        (format!("'([{unspaced}]+)'"), "' ' || CHR(92) || '1 '"),
        ("'[^' || CHR(92) || 'pL' || CHR(92) || 'pN' || CHR(92) || 'pM]+'".to_owned(), "' '"),
    ];
    let text = replaced.iter().fold(row.to_owned(), |text, (what, by)| format!("REGEXP_REPLACE({text}, {what}, {by})"));
    format!("' ' || {text} || ' '")
}

/// A whole word; of a script that writes no blanks, any part.
fn pattern(word: &str) -> String {
    if word.starts_with(is_unspaced) { format!("%{word}%") } else { format!("% {word} %") }
}

/// The rows whose vector is nearest.
fn by_vector(function: &str, args: &[FunctionArg]) -> Result<String, Error> {
    let (table, column, vector, wanted) = match args {
        [table, column, vector] => (table, column, vector, None),
        [table, column, vector, wanted] => (table, column, vector, Some(wanted)),
        _ => {
            return Err(misused(
                function,
                "takes a table, its column of vectors, a vector and how many rows are wanted",
            ));
        }
    };
    let table = table_name(function, table)?;
    let column = text(column).ok_or_else(|| misused(function, "takes the name of the column as a text"))?;
    let column = names::quoted(column);
    let vector = numbers(vector).ok_or_else(|| misused(function, "takes the vector as [0.5, 1, …]"))?;
    let wanted = rows_wanted(function, wanted)?;
    Ok(format!(
        "SELECT * FROM {table} AS \"{ROWS}\" WHERE {column} IS NOT NULL \
         ORDER BY VECTOR_COSINE_SIMILARITY({column}, [{vector}]) DESC LIMIT {wanted}"
    ))
}

fn misused(function: &str, what: &str) -> Error {
    Error::new(ErrorKind::Unsupported { construct: function.to_owned() }, format!("{function} {what}"))
}

fn text(argument: &FunctionArg) -> Option<&str> {
    plain(argument).and_then(literal)
}

/// The table that is named by a text, as a statement would name it.
fn table_name(function: &str, argument: &FunctionArg) -> Result<String, Error> {
    let written = text(argument).ok_or_else(|| misused(function, "takes the name of the table as a text"))?;
    Ok(named::read(written)?.to_string())
}

/// Letters and digits alone, in small letters, each once; apart where the script changes to one without blanks.
fn words(searched: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in searched.to_lowercase().chars().chain([' ']) {
        let is_part = c.is_alphanumeric() || is_combining_mark(c);
        let goes_on = is_part && word.ends_with(is_unspaced) == is_unspaced(c);
        if !word.is_empty() && !goes_on {
            let found = std::mem::take(&mut word);
            if words.len() < WORDS_MAX && !words.contains(&found) {
                words.push(found);
            }
        }
        if is_part {
            word.push(c);
        }
    }
    words
}

/// The numbers of a vector, written out.
fn numbers(argument: &FunctionArg) -> Option<String> {
    let Some(Expr::Array(Array { elem, .. })) = plain(argument) else { return None };
    let is_number = |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    let is_one = |expr: &Expr| match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_number(expr),
        other => is_number(other),
    };
    let fits = (1..=NUMBERS_MAX).contains(&elem.len()) && elem.iter().all(is_one);
    fits.then(|| elem.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn rows_wanted(function: &str, wanted: Option<&FunctionArg>) -> Result<u64, Error> {
    let Some(wanted) = wanted else { return Ok(ROWS_WANTED) };
    let count = match plain(wanted) {
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    let refused = || misused(function, &format!("answers 1 to {ROWS_MAX} rows, as a number says"));
    count.filter(|count| (1..=ROWS_MAX).contains(count)).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::{analyst, shown};

    #[test]
    fn a_search_is_over_governed_rows_whoever_names_the_function() {
        for name in ["svc_context", "Other_Context"] {
            let made = shown(&format!("select * from {name}('customers', 'Late; late orders!', 5)"), &analyst());
            assert!(made.contains("'% late %'") && made.contains("'% orders %'") && made.contains("LIMIT 5"), "{made}");
            assert_eq!(made.matches("'% late %'").count(), 1, "each word once: {made}");
            assert!(made.contains("'***'"), "a masked column is searched as it is shown: {made}");
        }
        let made = shown("select c.id from svc_context('main.orders', 'x') c where c.id > 1", &Rules::default());
        assert!(made.contains("LIMIT 10"), "{made}");
    }

    #[test]
    fn words_are_whole_but_where_a_script_writes_no_blanks() {
        let apart = |searched: &str| super::words(searched).iter().map(|word| super::pattern(word)).collect::<Vec<_>>();
        assert_eq!(apart("Late-orders, 20.5"), ["% late %", "% orders %", "% 20 %", "% 5 %"]);
        assert_eq!(apart("金价AI上涨"), ["%金价%", "% ai %", "%上涨%"]);
        assert_eq!(apart("हिन्दी"), ["% हिन्दी %"]);
    }

    #[test]
    fn the_nearest_vectors_are_found_by_cosine() {
        let made = shown("select * from svc_rag_context('orders', 'note', [0.5, -1], 3)", &Rules::default());
        assert!(made.contains("list_cosine_similarity") && made.contains("LIMIT 3"), "{made}");
    }

    #[test]
    fn what_is_no_search_is_refused_with_what_it_takes() {
        let cases = [
            ("svc_context('orders')", "takes a table, the words"),
            ("svc_context('orders', '-- ;')", "needs a word"),
            ("svc_context('orders', 'x', 0)", "answers 1 to 1000 rows"),
            ("svc_context('orders', 'x', 1001)", "1 to 1000 rows"),
            ("svc_context(orders, 'x')", "name of the table as a text"),
            ("svc_context('orders; drop table orders', 'x')", "the table name"),
            ("svc_context('(select 1)', 'x')", "the table name"),
            ("svc_context('nowhere', 'x')", "nowhere"),
            ("svc_rag_context('orders', 'note', ['a'])", "takes the vector"),
            ("svc_rag_context('orders', 'note', [])", "takes the vector"),
            ("duckdb_tables('x')", "duckdb_tables"),
            ("duckdb_columns()", "duckdb_columns"),
            ("two_words_context('orders', 'x')", "two_words_context"),
            ("_context('orders', 'x')", "_context"),
        ];
        for (call, part) in cases {
            let made = shown(&format!("select * from {call}"), &Rules::default());
            assert!(made.contains(part) && !made.starts_with("SELECT"), "{call}: {made}");
        }
    }

    #[test]
    fn tables_are_listed_by_the_catalogue() {
        let sql = "select table_schema, table_name, estimated_size, column_count from duckdb_tables() \
                   order by estimated_size desc";
        let made = shown(sql, &Rules::default());
        assert!(made.contains("'orders'") && made.contains('6') && !made.contains("duckdb_tables("), "{made}");
    }
}
