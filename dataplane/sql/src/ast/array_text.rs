//! PostgreSQL's text of an array: `{1,NULL,"a b",{…}}`.

use sqlparser::ast::{Array, Expr, Value};

/// The array that a text says, of texts; nothing for a text that is none.
pub(crate) fn array(text: &str) -> Option<Expr> {
    let (array, rest) = read(text.trim(), DEEP_MAX)?;
    rest.trim().is_empty().then_some(array)
}

/// Dimensions.
const DEEP_MAX: usize = 6;

fn read(text: &str, deep: usize) -> Option<(Expr, &str)> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut elem = Vec::new();
    while !rest.starts_with('}') {
        let (item, behind) = item(rest, deep)?;
        elem.push(item);
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(more) => Some(more.trim_start()).filter(|more| !more.starts_with('}'))?,
            None if behind.starts_with('}') => behind,
            None => return None,
        };
    }
    Some((Expr::Array(Array { elem, named: true }), rest.get(1..)?))
}

fn item(text: &str, deep: usize) -> Option<(Expr, &str)> {
    let literal = |text: String| Expr::value(Value::SingleQuotedString(text));
    if text.starts_with('{') {
        return read(text, deep.checked_sub(1)?);
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let (inside, behind) = unquoted(quoted)?;
        return Some((literal(inside), behind));
    }
    let end = text.find([',', '}'])?;
    let (bare, behind) = text.split_at_checked(end)?;
    let bare = bare.trim_end();
    if bare.is_empty() || bare.contains(['{', '"', '\\']) {
        return None;
    }
    let is_null = bare.eq_ignore_ascii_case("null");
    Some((if is_null { Expr::value(Value::Null) } else { literal(bare.to_owned()) }, behind))
}

/// Up to the closing quote, and what follows it; a backslash takes the next character as it is.
pub fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return text.get(at + 1..).map(|after| (inside, after)),
            '\\' => inside.push(characters.next()?.1),
            other => inside.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_read_from_its_text() {
        for (text, read) in [
            ("{}", "ARRAY[]"),
            (" {1, 2,NULL} ", "ARRAY['1', '2', NULL]"),
            (r#"{a,"b c","d\"e","NULL"}"#, "ARRAY['a', 'b c', 'd\"e', 'NULL']"),
            ("{{1,2},{3}}", "ARRAY[ARRAY['1', '2'], ARRAY['3']]"),
        ] {
            assert_eq!(array(text).map(|array| array.to_string()).as_deref(), Some(read), "{text}");
        }
        for text in ["1", "{1", "{1,}", "{,1}", "{1} x", "{\"1}", "{1 2,}", "{a\"b}", "{\"a\"b}", "{{{{{{{{1}}}}}}}}"] {
            assert!(array(text).is_none(), "{text}");
        }
    }
}
