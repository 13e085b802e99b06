//! Names and strings as the engine reads them: one quote doubled, nothing else special.

/// `"name"`.
pub fn name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    name_into(&mut out, name);
    out
}

/// `'text'`.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    text_into(&mut out, text);
    out
}

pub(crate) fn name_into(out: &mut String, name: &str) {
    quoted(out, name, '"');
}

pub(crate) fn text_into(out: &mut String, text: &str) {
    quoted(out, text, '\'');
}

fn quoted(out: &mut String, text: &str, quote: char) {
    out.reserve(text.len() + 2);
    out.push(quote);
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(quote) {
        out.push_str(before);
        out.extend([quote, quote]);
        rest = behind;
    }
    out.push_str(rest);
    out.push(quote);
}

/// Can stand without quotes as far as its letters go.
pub fn is_plain(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::engine;
    use crate::{Rules, parse};

    proptest! {
        /// However a string looks, what is printed is read back as that one literal.
        #[test]
        fn any_string_is_one_literal(text in "[^\\x00]{0,40}") {
            let sql = format!("SELECT {} AS x, 1 AS y", super::text(&text));
            let made = engine(&sql, &Rules::default()).unwrap();
            prop_assert_eq!(&made.sql, &format!("SELECT {} AS \"x\", 1 AS \"y\"", super::text(&text)));
            prop_assert_eq!(parse(&made.sql).unwrap().redacted(), "SELECT ? AS \"x\", ? AS \"y\"");
        }

        #[test]
        fn any_name_is_one_name(name in "[^\\x00]{1,40}") {
            let sql = format!("SELECT 1 AS {}", super::name(&name));
            let made = engine(&sql, &Rules::default()).unwrap();
            prop_assert_eq!(&made.sql, &sql);
        }

        /// Strings as libpq quotes them, with their backslashes doubled behind an E.
        #[test]
        fn an_escaped_string_is_the_same_literal(text in "[a-z'\\\\ \\-;]{0,30}") {
            let escaped = text.replace('\\', "\\\\").replace('\'', "''");
            let sql = format!("SELECT E'{escaped}' AS x");
            let made = engine(&sql, &Rules::default()).unwrap();
            prop_assert_eq!(made.sql, format!("SELECT {} AS \"x\"", super::text(&text)));
        }

        /// What is printed for the engine is printed the same when it is read again.
        #[test]
        fn printing_reaches_a_fixpoint(left in expression(3), right in expression(3)) {
            let first = engine(&format!("SELECT {left} AS a, {right} AS b"), &Rules::default()).unwrap().sql;
            let second = engine(&first, &Rules::default()).unwrap().sql;
            prop_assert_eq!(first, second);
        }
    }

    fn expression(depth: u32) -> impl Strategy<Value = String> {
        let leaf =
            prop_oneof![Just("1".to_owned()), Just("'a'".to_owned()), Just("NULL".to_owned()), Just("2.5".to_owned())];
        leaf.prop_recursive(depth, 32, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} || {b}")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) = ({b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b} OR {a})")),
                inner.clone().prop_map(|a| format!("NOT ({a})")),
                inner.clone().prop_map(|a| format!("CASE WHEN {a} THEN 1 ELSE ({a}) END")),
                inner.clone().prop_map(|a| format!("({a}) IS NULL")),
                inner.prop_map(|a| format!("CAST({a} AS VARCHAR)")),
            ]
        })
    }
}
