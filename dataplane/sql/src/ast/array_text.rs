//! PostgreSQL's text of an array: `{1,NULL,"a b",{…}}`.

use sqlparser::ast::{Array, ArrayElemTypeDef, DataType, ExactNumberInfo, Expr, Value};

use super::call::literal;
use super::expression::is_null;

/// The array that a text says, of texts; nothing for a text that is none.
pub(crate) fn array(text: &str) -> Option<Expr> {
    let (array, rest) = read(text.trim(), DEEP_MAX)?;
    rest.trim().is_empty().then_some(array)
}

/// Gives `NUMERIC[]` without a precision the decimals that its items have, so that it rounds none of them.
pub(crate) fn exact(data_type: &mut DataType, array: &Expr) {
    let (DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)), Expr::Array(Array { elem, .. })) =
        (data_type, array)
    else {
        return;
    };
    let open = [
        DataType::Numeric(ExactNumberInfo::None),
        DataType::Decimal(ExactNumberInfo::None),
        DataType::Dec(ExactNumberInfo::None),
    ];
    let Some(sizes) = elem.iter().map(digits).collect::<Option<Vec<_>>>() else { return };
    let whole = sizes.iter().map(|(whole, _)| *whole).max().unwrap_or_default();
    let decimals = sizes.iter().map(|(_, decimals)| *decimals).max().unwrap_or_default();
    if let Ok(scale) = i64::try_from(decimals)
        && open.contains(&**item)
        && scale > 0
        && whole + decimals <= DIGITS_MAX
    {
        **item = DataType::Decimal(ExactNumberInfo::PrecisionAndScale(38, scale));
    }
}

/// Digits of the longest number.
const DIGITS_MAX: usize = 38;

/// The digits of a plain number before and behind its point.
fn digits(item: &Expr) -> Option<(usize, usize)> {
    if is_null(item) {
        return Some((0, 0));
    }
    let text = literal(item)?;
    let size = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, decimals) = size.split_once('.').unwrap_or((size, ""));
    let is_plain = !size.is_empty() && whole.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit());
    is_plain.then_some((whole.len(), decimals.len()))
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
    fn an_array_of_numbers_rounds_none_of_them() {
        for (text, expected) in [
            ("{1,-2.50,NULL}", "NUMERIC(38,2)[]"),
            ("{1,2}", "NUMERIC[]"),
            ("{1e5,2.5}", "NUMERIC[]"),
            ("{}", "NUMERIC[]"),
        ] {
            let item = Box::new(DataType::Numeric(ExactNumberInfo::None));
            let mut data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(item, None));
            exact(&mut data_type, &array(text).expect(text));
            assert_eq!(data_type.to_string().replace("DECIMAL", "NUMERIC"), expected, "{text}");
        }
    }

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
