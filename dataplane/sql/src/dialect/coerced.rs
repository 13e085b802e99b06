//! Arguments that a function of the warehouse reads as text, or as numbers, whatever they are.
//!
//! `LPAD(MONTH(d), 2, '0')`, `LEFT(d, 4)`, `SUM('5')`: the engine has no function of these types, so the reading is
//! written out as a cast. Only what is known to be of another type is read anew: a list or bytes are the engine's own.

use sqlparser::ast::{BinaryOperator, Expr, Function, UnaryOperator};

use super::call::{expressions, take_expr};
use super::{Context, Done, compose, types, variants};
use crate::ast::error::Error;
use crate::functions::types::Type;

/// Functions of text, and the places of their arguments that are text.
const OF_TEXT: &[(&str, &[usize])] = &[
    ("ascii", &[0]),
    ("base64_encode", &[0]),
    ("bit_length", &[0]),
    ("charindex", &[0, 1]),
    ("contains", &[0, 1]),
    ("editdistance", &[0, 1]),
    ("endswith", &[0, 1]),
    ("hex_encode", &[0]),
    ("ilike", &[0, 1]),
    ("initcap", &[0]),
    ("insert", &[0, 3]),
    ("jarowinkler_similarity", &[0, 1]),
    ("left", &[0]),
    ("len", &[0]),
    ("length", &[0]),
    ("like", &[0, 1]),
    ("lower", &[0]),
    ("lpad", &[0, 2]),
    ("ltrim", &[0, 1]),
    ("md5", &[0]),
    ("md5_hex", &[0]),
    ("octet_length", &[0]),
    ("position", &[0, 1]),
    ("regexp_count", &[0]),
    ("regexp_instr", &[0]),
    ("regexp_like", &[0]),
    ("regexp_replace", &[0, 2]),
    ("regexp_substr", &[0]),
    ("regexp_substr_all", &[0]),
    ("repeat", &[0]),
    ("replace", &[0, 1, 2]),
    ("reverse", &[0]),
    ("right", &[0]),
    ("rlike", &[0]),
    ("rpad", &[0, 2]),
    ("rtrim", &[0, 1]),
    ("rtrimmed_length", &[0]),
    ("sha1", &[0]),
    ("sha1_hex", &[0]),
    ("sha2", &[0]),
    ("sha2_hex", &[0]),
    ("soundex", &[0]),
    ("split", &[0]),
    ("split_part", &[0, 1]),
    ("startswith", &[0, 1]),
    ("strtok", &[0]),
    ("strtok_to_array", &[0]),
    ("substr", &[0]),
    ("substring", &[0]),
    ("translate", &[0]),
    ("trim", &[0, 1]),
    ("unicode", &[0]),
    ("upper", &[0]),
];

/// Functions of the engine that take a literal of text as it stands.
const TAKE_TEXT: [&str; 37] = [
    "any_value",
    "array_agg",
    "base64",
    "char_length",
    "character_length",
    "concat_ws",
    "count",
    "damerau_levenshtein",
    "editdist3",
    "encode",
    "ends_with",
    "first",
    "group_concat",
    "hash",
    "instr",
    "jaro_similarity",
    "json_quote",
    "jaro_winkler_similarity",
    "json_valid",
    "last",
    "lcase",
    "levenshtein",
    "list",
    "listagg",
    "max",
    "min",
    "mode",
    "ord",
    "prefix",
    "regexp_escape",
    "row",
    "sha256",
    "starts_with",
    "string_agg",
    "strlen",
    "suffix",
    "ucase",
];

/// Whether the function takes text as text, so that a literal of it need not be read as anything else.
pub(in crate::dialect) fn is_of_text(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    TAKE_TEXT.contains(&name) || OF_TEXT.iter().any(|(known, _)| *known == name) || name.starts_with("icu_collate_")
}

/// Functions of numbers: a variant among their arguments is read as one, and text as the first of them. Of text they are
/// of floating point, as in the warehouse.
const OF_NUMBERS: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "div0",
    "div0null",
    "exp",
    "floor",
    "ln",
    "log",
    "median",
    "mod",
    "pow",
    "power",
    "round",
    "sqrt",
    "square",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "trunc",
    "truncate",
    "var_pop",
    "var_samp",
    "variance",
    "variance_pop",
    "variance_samp",
    "width_bucket",
    "zeroifnull",
];

/// Whether a variant is read as a number there.
pub(super) fn reads_numbers(name: &str) -> bool {
    OF_NUMBERS.contains(&name) || matches!(name, "sign" | "to_double")
}

/// The arguments of a call.
pub(super) fn settle_arguments(name: &str, function: &mut Function, context: &Context<'_>) {
    if let Ok(at) = OF_TEXT.binary_search_by_key(&name, |(known, _)| known) {
        let places = OF_TEXT.get(at).map_or(&[][..], |(_, places)| places);
        for (place, argument) in expressions(function).enumerate() {
            if places.contains(&place) {
                as_text(argument, context);
            }
        }
    } else if OF_NUMBERS.contains(&name)
        && !truncates_moment(name, function)
        && let Some(argument) = expressions(function).next()
    {
        as_number(argument, context);
    }
}

/// `TRUNC('2024-05-09', 'month')`.
fn truncates_moment(name: &str, function: &mut Function) -> bool {
    name == "trunc" && expressions(function).nth(1).is_some_and(|unit| compose::integer(unit).is_none())
}

/// Operators, and calls that the parser gives nodes of their own.
#[expect(clippy::unnecessary_wraps, reason = "it is a family like the others")]
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::Substring { expr: value, .. }
        | Expr::RLike { expr: value, .. }
        | Expr::Like { expr: value, .. }
        | Expr::ILike { expr: value, .. } => as_text(value, context),
        Expr::Position { expr: sought, r#in: value } => {
            as_text(sought, context);
            as_text(value, context);
        }
        Expr::Trim { expr: value, trim_what, trim_characters, .. } => {
            as_text(value, context);
            for removed in trim_what.iter_mut().map(AsMut::as_mut).chain(trim_characters.iter_mut().flatten()) {
                as_text(removed, context);
            }
        }
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: value } => as_number(value, context),
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo,
            right,
        } if is_column_of_text(left, context) && is_column_of_text(right, context) => {
            as_number(left, context);
            as_number(right, context);
        }
        _ => {}
    }
    Ok(Done::No)
}

/// Literals are read by `numerals`, which keeps their digits.
fn is_column_of_text(value: &Expr, context: &Context<'_>) -> bool {
    compose::literal(value).is_none() && context.type_of(value) == Type::Text
}

fn as_text(value: &mut Expr, context: &Context<'_>) {
    let known = context.type_of(value);
    if known == Type::Json
        || known == Type::Boolean
        || known.is_number()
        || known.is_moment() && known != Type::Interval
    {
        let taken = take_expr(value);
        *value = variants::to_text(taken, context);
    }
}

fn as_number(value: &mut Expr, context: &Context<'_>) {
    match context.type_of(value) {
        Type::Text => *value = compose::cast(take_expr(value), types::double()),
        Type::Json => *value = variants::as_type(take_expr(value), Type::Double),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::class;
    use crate::functions::catalogue::{self, Class};

    #[test]
    fn the_table_is_sorted_and_names_functions_that_there_are() {
        assert!(OF_TEXT.is_sorted_by_key(|(name, _)| name));
        for name in OF_TEXT.iter().map(|(name, _)| name).chain(OF_NUMBERS) {
            assert!(catalogue::find(name).is_some() || super::super::dispatch::is_known(name), "{name}");
        }
        // an error about a text that is no number must not tell of rows that a filter hides
        assert!(OF_NUMBERS.iter().all(|name| class(name) == Some(Class::Throwing)));
    }
}
