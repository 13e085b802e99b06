//! Paths into variants: `a:b.c[0]`, `a['k']`, `GET` and `GET_PATH` become the engine's JSON operators.
//!
//! A path is one constant `'$."b"."c"[0]'`, every key quoted, so that no key can be read as another
//! path. It stays JSON (`->`); a cast to anything else makes it text (`->>`, see `variants`).

use sqlparser::ast::{AccessExpr, BinaryOperator, Expr, Function, JsonPath, JsonPathElem, Subscript};

use super::call::{Handler, exactly, plain, take_expr};
use super::{Context, Done, compose, templates};
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] =
    &[(&["get"], get), (&["get_path"], get_path), (&["json_extract_path_text"], path_text)];

/// `a:b.c`, and subscripts of what is known to be a variant.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::JsonAccess { value, path } => {
            let JsonPath { path: elements } = path;
            let value = take_expr(value);
            *expr = match subscripts_alone(elements) {
                Some(indexes) if context.type_of(&value) != Type::Json => compose::subscripts(value, indexes),
                _ => follow(value, elements, context)?,
            };
        }
        Expr::CompoundFieldAccess { root, access_chain } if context.type_of(root) == Type::Json => {
            let root = take_expr(root);
            *expr = subscripts(root, std::mem::take(access_chain), context)?;
        }
        _ => return Ok(Done::No),
    }
    Ok(Done::Yes)
}

/// `x[1]` and nothing else: of what is not known to be a variant it is the engine's own, which goes by
/// the type (lists count from 1, JSON from 0).
fn subscripts_alone(elements: &[JsonPathElem]) -> Option<Vec<Expr>> {
    let index = |element: &JsonPathElem| match element {
        JsonPathElem::Bracket { key } => Some(key.clone()),
        JsonPathElem::Dot { .. } | JsonPathElem::ColonBracket { .. } => None,
    };
    elements.iter().map(index).collect()
}

/// Constant steps become one path; a computed key starts a new one.
fn follow(value: Expr, elements: &[JsonPathElem], context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut at = value;
    let mut path = Path::default();
    for element in elements {
        match element {
            JsonPathElem::Dot { key, quoted: _ } => path.member(key),
            JsonPathElem::Bracket { key } | JsonPathElem::ColonBracket { key } => {
                at = step(at, &mut path, key.clone(), context)?;
            }
        }
    }
    Ok(path.of(at))
}

fn subscripts(root: Expr, chain: Vec<AccessExpr>, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut at = root;
    let mut path = Path::default();
    for access in chain {
        at = match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => {
                path.member(&ident.value);
                at
            }
            AccessExpr::Subscript(Subscript::Index { index }) => step(at, &mut path, index, context)?,
            AccessExpr::Dot(_) | AccessExpr::Subscript(Subscript::Slice { .. }) => {
                return Err(Error::unsupported("a slice of a variant"));
            }
        };
    }
    Ok(path.of(at))
}

fn step(at: Expr, path: &mut Path, key: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    if let Some(name) = compose::literal(&key) {
        path.member(name);
        return Ok(at);
    }
    if let Some(index) = compose::integer(&key) {
        path.item(index);
        return Ok(at);
    }
    let so_far = std::mem::take(path).of(at);
    computed(so_far, key, context)
}

/// A key that is not constant: a number counts, a text names, anything else cannot be told.
fn computed(value: Expr, key: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    match context.type_of(&key) {
        Type::Integer | Type::Decimal => templates::fill("_item", &mut [value, key], context),
        Type::Text => templates::fill("_member", &mut [value, key], context),
        _ => Err(Error::unsupported("a computed path whose key has no known type")),
    }
}

/// A constant path under construction.
#[derive(Default)]
struct Path {
    steps: String,
    /// A subscript is below 0, where nothing is.
    is_nowhere: bool,
}

impl Path {
    fn member(&mut self, name: &str) {
        self.steps.push_str(".\"");
        for c in name.chars() {
            if matches!(c, '"' | '\\') {
                self.steps.push('\\');
            }
            self.steps.push(c);
        }
        self.steps.push('"');
    }

    fn item(&mut self, index: i64) {
        self.is_nowhere |= index < 0;
        self.steps.push('[');
        self.steps.push_str(&index.to_string());
        self.steps.push(']');
    }

    /// `value -> '$…'`; two constant paths in a row are one.
    fn of(self, value: Expr) -> Expr {
        if self.steps.is_empty() {
            return value;
        }
        if self.is_nowhere {
            return compose::cast(Expr::value(sqlparser::ast::Value::Null), sqlparser::ast::DataType::JSON);
        }
        if let Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } = &value
            && let Some(before) = compose::literal(right).filter(|path| path.starts_with('$'))
        {
            let whole = compose::text(format!("{before}{}", self.steps));
            return compose::binary(left.as_ref().clone(), BinaryOperator::Arrow, whole);
        }
        compose::binary(value, BinaryOperator::Arrow, compose::text(format!("${}", self.steps)))
    }
}

/// `GET(variant, key)`.
fn get(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [value, key] = exactly("get", plain(function)?)?;
    if compose::is_null(&key) {
        return Ok(compose::cast(key, sqlparser::ast::DataType::JSON));
    }
    let mut path = Path::default();
    let at = step(value, &mut path, key, context)?;
    Ok(path.of(at))
}

/// `GET_PATH(variant, 'a.b[0]')`.
fn get_path(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let [value, written] = exactly("get_path", plain(function)?)?;
    let Some(written) = compose::constant(&written) else {
        return Err(Error::unsupported("GET_PATH with a path that is not a literal"));
    };
    Ok(read(&written)?.of(value))
}

/// `JSON_EXTRACT_PATH_TEXT(text, 'a.b[0]')`: several keys are the engine's own form.
fn path_text(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let args = plain(function)?;
    let [value, written] = args.as_slice() else {
        return Ok(compose::call("json_extract_path_text", args));
    };
    let Some(written) = compose::constant(written) else {
        return Err(Error::unsupported("JSON_EXTRACT_PATH_TEXT with a path that is not a literal"));
    };
    let value = compose::cast(value.clone(), sqlparser::ast::DataType::JSON);
    Ok(super::meeting::unquoted(read(&written)?.of(value)))
}

/// `a.b[0]['c d']."e"`, the form of FLATTEN's PATH too.
fn read(written: &str) -> Result<Path, Error> {
    let wrong = || Error::unsupported(format!("the path {written}"));
    let mut path = Path::default();
    let mut rest = written.trim();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (subscript, after) = inner.split_once(']').ok_or_else(wrong)?;
            match subscript.parse::<i64>() {
                Ok(index) => path.item(index),
                Err(_) => path.member(unquoted(subscript, '\'').ok_or_else(wrong)?),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        } else if let Some(inner) = rest.strip_prefix('"') {
            let (name, after) = inner.split_once('"').ok_or_else(wrong)?;
            path.member(name);
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() || name.contains(['"', '\'', ']']) {
                return Err(wrong());
            }
            path.member(name);
            rest = after.strip_prefix('.').unwrap_or(after);
        }
    }
    Ok(path)
}

fn unquoted(text: &str, quote: char) -> Option<&str> {
    text.strip_prefix(quote)?.strip_suffix(quote)
}

/// The value a written path leads to.
pub(super) fn along(value: Expr, written: &str) -> Result<Expr, Error> {
    Ok(read(written)?.of(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_paths_quote_every_key() {
        let cases = [("a.b[0]", r#"."a"."b"[0]"#), (r#"a['c d']."e""#, r#"."a"."c d"."e""#), ("$x", r#"."$x""#)];
        for (written, steps) in cases {
            assert_eq!(read(written).map(|path| path.steps).as_deref(), Ok(steps), "{written}");
        }
        assert!(read("a[").is_err() && read("a..b").is_err() && read("a[x]").is_err());
    }

    #[test]
    fn a_key_cannot_end_its_quotes() {
        let mut path = Path::default();
        path.member(r#"a"].b\"#);
        assert_eq!(path.steps, r#"."a\"].b\\""#);
    }
}
