//! Text, and calls where one NULL decides: what has another meaning in the engine, or more arguments.

use sqlparser::ast::{BinaryOperator, Expr, Function, Ident, ObjectName};

use super::call::{Handler, exactly, plain, take_expr, written_name, wrong_count};
use super::{Context, Done, compose, patterns, templates};
use crate::ast::error::{Error, ErrorKind};
use crate::functions::types::Type;

/// Arguments of one CONCAT, which become a chain.
const ARGUMENTS_MAX: usize = 500;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["collate"], collate),
    (&["contains", "endswith", "startswith"], affix),
    (&["hex_encode"], hex_encode),
    (&["length", "octet_length"], length),
    (&["concat"], concat),
    (&["concat_ws"], concat_ws),
    (&["decode"], decode),
    (&["greatest", "least"], extreme),
    (&["left", "right"], side),
    (&["lpad", "rpad"], pad),
    (&["parse_url"], parse_url),
    (&["randstr"], randstr),
    (&["sha2", "sha2_hex"], sha2),
    (&["split_part"], split_part),
    (&["strtok"], strtok),
    (&["strtok_to_array"], strtok_to_array),
];

/// `SUBSTR(s, 0, n)` and `LIKE ANY (…)`, which the parser gives nodes of their own.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::Substring { expr: text, substring_from: Some(from), substring_for, .. } => {
            if context.type_of(text) == Type::Blob {
                let (bytes, start) = (take_expr(text), from_one(take_expr(from), context)?);
                let length = match substring_for {
                    Some(count) => take_expr(count),
                    None => compose::call("octet_length", [bytes.clone()]),
                };
                *expr = templates::fill("_part_of_bytes", &mut [bytes, start, length], context)?;
                return Ok(Done::Yes);
            }
            if context.type_of(text) == Type::Json {
                **text = super::meeting::unquoted(take_expr(text));
            }
            let start = take_expr(from);
            **from = from_one(start, context)?;
            if let Some(count) = substring_for
                && compose::integer(count).is_none_or(|count| count < 0)
            {
                **count = templates::fill("_at_least_none", &mut [take_expr(count)], context)?;
            }
        }
        Expr::Like { any: true, .. } | Expr::ILike { any: true, .. } => {
            *expr = each_of(take_expr(expr), context)?;
        }
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } if matches!(**pattern, Expr::Tuple(_)) => {
            *expr = each_of(take_expr(expr), context)?;
        }
        Expr::RLike { negated, expr: text, pattern, regexp: _ } => {
            let matched = compose::call("regexp_full_match", [take_expr(text), take_expr(pattern)]);
            *expr = if *negated { not(matched) } else { matched };
        }
        _ => return Ok(Done::No),
    }
    Ok(Done::Yes)
}

pub(super) fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(expr) }
}

/// A start of 0 means 1.
fn from_one(start: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    match compose::integer(&start) {
        Some(0) => Ok(compose::number(1)),
        Some(_) => Ok(start),
        None => templates::fill("_from_one", &mut [start], context),
    }
}

/// `x LIKE ANY (a, b)` and `x LIKE ALL (a, b)`: one LIKE for each pattern.
fn each_of(expr: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (is_like, any, negated, value, pattern, escape_char) = match expr {
        Expr::Like { negated, any, expr, pattern, escape_char } => (true, any, negated, expr, pattern, escape_char),
        Expr::ILike { negated, any, expr, pattern, escape_char } => (false, any, negated, expr, pattern, escape_char),
        other => return Ok(other),
    };
    let patterns = match *pattern {
        Expr::Tuple(patterns) => patterns,
        Expr::Nested(one) => vec![*one],
        _ => {
            return Err(Error::unsupported("LIKE ANY of something other than a list"));
        }
    };
    context.copy(templates::size(&value) * patterns.len().saturating_sub(1))?;
    let each = patterns.into_iter().map(|pattern| {
        let (expr, pattern, escape_char) = (value.clone(), Box::new(pattern), escape_char.clone());
        let mut one = if is_like {
            Expr::Like { negated: false, any: false, expr, pattern, escape_char }
        } else {
            Expr::ILike { negated: false, any: false, expr, pattern, escape_char }
        };
        patterns::bound(&mut one);
        one
    });
    let connective = if any { BinaryOperator::Or } else { BinaryOperator::And };
    let joined = each.reduce(|one, next| compose::binary(one, connective.clone(), next));
    let joined = joined.ok_or_else(|| Error::unsupported("LIKE ANY of an empty list"))?;
    Ok(if negated { not(joined) } else { joined })
}

/// `COLLATE(s, specification)`.
fn collate(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let [text, specification] = exactly("collate", plain(function)?)?;
    let Some(written) = compose::literal(&specification) else {
        return Err(Error::unsupported("COLLATE with a specification that is not a literal"));
    };
    let collation = ObjectName::from(vec![Ident::with_quote('"', written)]);
    Ok(Expr::Collate { expr: Box::new(text), collation })
}

/// `CONCAT(a, b, …)`: NULL if any argument is.
fn concat(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    for arg in &mut args {
        super::coerced::moment_as_text(arg, context);
    }
    if args.len() > ARGUMENTS_MAX {
        return Err(Error::new(ErrorKind::TooDeep, format!("CONCAT may have {ARGUMENTS_MAX} arguments")));
    }
    let is_one = args.len() == 1;
    let joined = args.into_iter().reduce(|one, next| compose::binary(one, BinaryOperator::StringConcat, next));
    match joined {
        Some(one) if is_one => Ok(compose::cast(one, sqlparser::ast::DataType::Varchar(None))),
        Some(joined) => Ok(joined),
        None => Err(wrong_count("concat", 0)),
    }
}

/// `CONCAT_WS(sep, a, …)`: NULL if any argument is.
fn concat_ws(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    for arg in &mut args {
        super::coerced::moment_as_text(arg, context);
    }
    unless_null("concat_ws", args, context)
}

/// `GREATEST` and `LEAST`: NULL if any argument is.
fn extreme(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    unless_null(&name, plain(function)?, context)
}

fn unless_null(name: &str, args: Vec<Expr>, context: &mut Context<'_>) -> Result<Expr, Error> {
    let can_be: Vec<Expr> = args.iter().filter(|arg| !is_present(arg)).cloned().collect();
    context.copy(can_be.iter().map(templates::size).sum())?;
    let absent = can_be
        .into_iter()
        .map(|arg| Expr::IsNull(Box::new(arg)))
        .reduce(|one, next| compose::binary(one, BinaryOperator::Or, next));
    let made = compose::call(name, args);
    let null = Expr::value(sqlparser::ast::Value::Null);
    Ok(match absent {
        None => made,
        Some(absent) => compose::case(None, vec![(absent, null)], Some(made)),
    })
}

fn is_present(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(_))
        && !compose::is_null(expr)
        && !matches!(expr, Expr::Value(value) if matches!(value.value, sqlparser::ast::Value::Placeholder(_)))
}

/// `DECODE(x, a, A, b, B, …, otherwise)`, where NULL finds NULL; the engine's `decode` of a blob has one
/// or two arguments.
fn decode(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let args = plain(function)?;
    if args.len() < 3 {
        return Ok(compose::call("decode", args));
    }
    let mut args = args.into_iter();
    let value = args.next().ok_or_else(|| wrong_count("decode", 0))?;
    let mut arms = Vec::new();
    let mut otherwise = None;
    while let Some(wanted) = args.next() {
        match args.next() {
            Some(result) => arms.push((wanted, result)),
            None => otherwise = Some(wanted),
        }
    }
    if arms.iter().all(|(wanted, _)| is_present(wanted)) {
        return Ok(compose::case(Some(value), arms, otherwise));
    }
    context.copy(templates::size(&value) * arms.len())?;
    let same = |wanted| Expr::IsNotDistinctFrom(Box::new(value.clone()), Box::new(wanted));
    let arms = arms.into_iter().map(|(wanted, result)| (same(wanted), result)).collect();
    Ok(compose::case(None, arms, otherwise))
}

/// `LEFT(s, n)` and `RIGHT(s, n)`: of a negative number of characters nothing, where the engine leaves some out.
fn side(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [text, count] = exactly(&name, plain(function)?)?;
    if context.type_of(&text) == Type::Blob {
        let count = templates::fill("_at_least_none", &mut [count], context)?;
        let template = if name == "left" { "_first_bytes" } else { "_last_bytes" };
        return templates::fill(template, &mut [text, count], context);
    }
    if compose::integer(&count).is_some_and(|count| count >= 0) {
        return Ok(compose::call(&name, [text, count]));
    }
    templates::fill(&format!("_{name}"), &mut [text, count], context)
}

/// `RANDSTR(length, seed)`: letters and digits, the same for the same seed.
fn randstr(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    const LENGTH_MAX: i64 = 10_000;
    let [length, seed] = exactly("randstr", plain(function)?)?;
    match compose::integer(&length) {
        Some(0..=LENGTH_MAX) => templates::fill("_randstr", &mut [length, seed], context),
        _ => Err(Error::unsupported(format!("RANDSTR of a length that is not written out, up to {LENGTH_MAX}"))),
    }
}

/// `SPLIT_PART(s, d, 0)` is part 1; an empty delimiter separates nothing, where the engine takes each character.
fn split_part(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [text, delimiter, part] = exactly("split_part", plain(function)?)?;
    let part = from_one(part, context)?;
    if compose::literal(&delimiter).is_some_and(|delimiter| !delimiter.is_empty()) {
        return Ok(compose::call("split_part", [text, delimiter, part]));
    }
    templates::fill("_split_part", &mut [text, delimiter, part], context)
}

/// `LPAD(s, n[, p])` and `RPAD`: an empty padding adds nothing, where the engine fails.
fn pad(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let mut args = plain(function)?;
    if args.len() == 2 {
        args.push(compose::text(" "));
    }
    let [text, length, padding] = exactly(&name, args)?;
    let is_never_empty = compose::literal(&padding).is_some_and(|padding| !padding.is_empty());
    if is_never_empty || templates::is_volatile(&text) || templates::is_volatile(&padding) {
        return Ok(compose::call(&name, [text, length, padding]));
    }
    context.copy(templates::size(&text) + templates::size(&padding))?;
    let length = templates::fill("_padded_length", &mut [text.clone(), length, padding.clone()], context)?;
    Ok(compose::call(&name, [text, length, templates::fill("_padding", &mut [padding], context)?]))
}

/// `CONTAINS`, `STARTSWITH` and `ENDSWITH`: of NULL they are NULL, which the engine cannot tell from a list.
fn affix(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let args: [Expr; 2] = exactly(&name, plain(function)?)?;
    if args.iter().any(compose::is_null) {
        return Ok(compose::cast(Expr::value(sqlparser::ast::Value::Null), sqlparser::ast::DataType::Boolean));
    }
    let engine = match name.as_str() {
        "startswith" => "starts_with",
        "endswith" => "ends_with",
        _ => "contains",
    };
    Ok(compose::call(engine, args))
}

/// `LENGTH(x)` and `OCTET_LENGTH(x)`, of bytes too.
fn length(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [value] = exactly(&name, plain(function)?)?;
    let engine = match (context.type_of(&value), name.as_str()) {
        (Type::Blob, _) => "octet_length",
        (_, "octet_length") => "strlen",
        _ => "length",
    };
    Ok(compose::call(engine, [value]))
}

/// `HEX_ENCODE(s[, case])`: 0 is lower case.
fn hex_encode(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let case = if args.len() == 2 { args.pop() } else { None };
    let [value] = exactly("hex_encode", args)?;
    let hex = compose::call("hex", [value]);
    match case.as_ref().map(compose::integer) {
        None | Some(Some(1)) => Ok(hex),
        Some(Some(0)) => Ok(compose::call("lower", [hex])),
        Some(_) => Err(Error::unsupported("HEX_ENCODE of a case other than 0 and 1")),
    }
}

/// `SHA2(s[, 256])`; the engine has no other width, so of others the digest of a literal is taken here.
fn sha2(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    use sha2::{Digest, Sha224, Sha384, Sha512};
    let mut args = plain(function)?;
    let width = if args.len() == 2 { args.pop() } else { None };
    let [text] = exactly("sha2", args)?;
    let width = width.map_or(Some(256), |width| compose::integer(&width));
    let digest = match (width, compose::literal(&text)) {
        (Some(0 | 256), _) => return Ok(compose::call("sha256", [text])),
        (Some(224), Some(text)) => hex::encode(Sha224::digest(text)),
        (Some(384), Some(text)) => hex::encode(Sha384::digest(text)),
        (Some(512), Some(text)) => hex::encode(Sha512::digest(text)),
        (Some(224 | 384 | 512), None) => {
            return Err(Error::unsupported("SHA2 of a width other than 256, of something other than a literal,"));
        }
        _ => return Err(Error::unsupported("SHA2 of a width other than 224, 256, 384 and 512")),
    };
    Ok(compose::text(digest))
}

/// `PARSE_URL(s[, 1])`: with 1 an object says what is wrong with the text.
fn parse_url(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let is_permissive = match (args.len() == 2).then(|| args.pop()).flatten().as_ref().map(compose::integer) {
        None | Some(Some(0)) => false,
        Some(Some(1)) => true,
        Some(_) => return Err(Error::unsupported("PARSE_URL with a second argument other than 0 and 1")),
    };
    let [url] = exactly("parse_url", args)?;
    let parsed = templates::fill("_parse_url", &mut [url.clone()], context)?;
    if !is_permissive {
        return Ok(parsed);
    }
    context.copy(templates::size(&url))?;
    let wrong = compose::call("json_object", [compose::text("error"), compose::text("scheme not specified")]);
    let is_wrong = not(templates::fill("_begins_with_scheme", &mut [url], context)?);
    Ok(compose::case(None, vec![(is_wrong, wrong)], Some(parsed)))
}

/// `STRTOK(s, delimiters, n)`: each character of the second argument separates.
fn strtok(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let nth = if args.len() == 3 { args.pop() } else { None }.unwrap_or_else(|| compose::number(1));
    let tokens = tokens("strtok", args, context)?;
    Ok(compose::call("list_extract", [tokens, nth]))
}

fn strtok_to_array(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let tokens = tokens("strtok_to_array", plain(function)?, context)?;
    Ok(compose::call("to_json", [tokens]))
}

fn tokens(name: &str, mut args: Vec<Expr>, context: &mut Context<'_>) -> Result<Expr, Error> {
    if args.len() == 1 {
        args.push(compose::text(" "));
    }
    let [text, delimiters] = exactly(name, args)?;
    templates::fill("_tokens", &mut [text, delimiters], context)
}
