//! Generated statements that both parsers read alike, and that are not looked at a second time.

use moka::sync::Cache;
use sha2::{Digest, Sha256};

/// Statements that both parsers have read alike. The key says all that was compared, so other rules or tables are
/// another entry wherever they make another statement.
#[derive(Debug)]
pub(in crate::pipeline) struct Checked(Cache<CheckedKey, ()>);

const CHECKED_MAX: u64 = 10_000;

impl Default for Checked {
    fn default() -> Self {
        Self(Cache::new(CHECKED_MAX))
    }
}

impl Checked {
    /// Whether both parsers have read it alike before.
    pub fn holds(&self, key: CheckedKey) -> bool {
        self.0.contains_key(&key)
    }

    pub fn add(&self, key: CheckedKey) {
        self.0.insert(key, ());
    }
}

/// A generated text with the tables that the rewrite put there, by its SHA-256: some are a megabyte long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::pipeline) struct CheckedKey([u8; 32]);

impl CheckedKey {
    /// The same for reads that differ in whole numbers alone: in a query a parser finds the same tables and functions
    /// whatever they are. What a write reads is told by the engine's plan, which follows them.
    pub fn of(text: &str, tables: &[String], writes: bool) -> Self {
        let mut digest = Sha256::new();
        digest.update([u8::from(writes)]);
        digest.update(tables.len().to_le_bytes());
        for table in tables {
            digest.update(table.len().to_le_bytes());
            digest.update(table);
        }
        if writes {
            digest.update(text);
        } else {
            digest.update(without_numbers(text));
        }
        Self(digest.finalize().into())
    }
}

/// More digits may be a number of another kind.
const DIGITS_MAX: usize = 9;

/// The text with `0` for each whole number that stands by itself outside of quotes.
fn without_numbers(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut quote, mut before, mut rest) = (None, b' ', text.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        if quote.is_none() && byte.is_ascii_digit() && !joins(before) {
            let digits = rest.iter().take_while(|digit| digit.is_ascii_digit()).count();
            let next = rest.get(digits..).unwrap_or_default();
            if digits <= DIGITS_MAX && !next.first().is_some_and(|byte| joins(*byte)) {
                out.push(b'0');
                (before, rest) = (b'0', next);
                continue;
            }
        }
        match quote {
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            Some(open) if open == byte => quote = None,
            _ => {}
        }
        out.push(byte);
        (before, rest) = (byte, behind);
    }
    out
}

/// Whether a digit beside it is part of something else: of a name, a parameter, a fraction, or what is in quotes.
const fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'\'' | b'"') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> CheckedKey {
        CheckedKey::of(text, &[], false)
    }

    /// What is made of a statement over a table of these columns, of which one may be masked.
    fn made(sql: &str, columns: &[&str], masked: Option<&str>) -> sql::EngineSql {
        let columns = columns.iter().map(|name| sql::Column::new(*name, "VARCHAR")).collect();
        let catalog = sql::Catalog::new([sql::Table::new("main", "customer", columns)]);
        let mut rules = sql::Rules::default();
        if let Some(column) = masked {
            rules.mask("main", "customer", column, contract::policy::MaskFunction::Full);
        }
        let resolved = sql::resolve(sql::parse(sql).unwrap(), &catalog, &sql::SessionNames::new("demo")).unwrap();
        sql::transpile(sql::govern(resolved, &rules).unwrap().embedded().unwrap()).unwrap()
    }

    fn generated(sql: &str, columns: &[&str], masked: Option<&str>) -> CheckedKey {
        let made = made(sql, columns, masked);
        CheckedKey::of(&made.sql, &made.tables, false)
    }

    #[test]
    fn a_statement_is_known_by_its_whole_text_and_by_no_others() {
        let long = "x".repeat(1 << 20);
        let texts = [
            "SELECT 1".to_owned(),
            "SELECT '2'".to_owned(),
            "SELECT 1 ".to_owned(),
            "select 1".to_owned(),
            "SELECT 1\0".to_owned(),
            String::new(),
            format!("SELECT '{long}a'"),
            format!("SELECT '{long}b'"),
        ];
        let (checked, mut keys) = (Checked::default(), BTreeSet::new());
        for (at, text) in texts.iter().enumerate() {
            for key in [read(text), CheckedKey::of(text, &[], true), CheckedKey::of(text, &["a".to_owned()], false)] {
                assert!(!checked.holds(key), "{at} is another's");
                checked.add(key);
                assert!(checked.holds(key), "{at}");
                keys.insert(key);
            }
        }
        assert_eq!(keys.len(), 3 * texts.len());
    }

    #[test]
    fn reads_that_differ_in_whole_numbers_are_one_and_writes_are_not() {
        for (one, other) in [
            ("SELECT 1", "SELECT 20"),
            ("SELECT a FROM t WHERE id = 1 AND (7)", "SELECT a FROM t WHERE id = 999999999 AND (0)"),
            ("SELECT f(1,-2) LIMIT 3", "SELECT f(40,-50) LIMIT 6"),
            ("SELECT 'it''s' = 1", "SELECT 'it''s' = 2"),
        ] {
            assert_eq!(read(one), read(other), "{one}");
            assert_ne!(CheckedKey::of(one, &[], true), CheckedKey::of(other, &[], true), "{one}");
        }
    }

    #[test]
    fn what_a_digit_is_only_part_of_is_not_left_out() {
        for (one, other) in [
            ("SELECT '1'", "SELECT '2'"),
            ("SELECT 'a 1 b'", "SELECT 'a 2 b'"),
            ("SELECT 'it''s 1 '", "SELECT 'it''s 2 '"),
            ("SELECT * FROM \"a 1\"", "SELECT * FROM \"a 2\""),
            ("SELECT * FROM \"a\"\" 1 \"", "SELECT * FROM \"a\"\" 2 \""),
            ("SELECT * FROM t1", "SELECT * FROM t2"),
            ("SELECT * FROM t_1", "SELECT * FROM t_2"),
            ("SELECT * FROM ä1", "SELECT * FROM ä2"),
            ("SELECT 1a", "SELECT 2a"),
            ("SELECT 1.5", "SELECT 2.5"),
            ("SELECT 1.5", "SELECT 1.6"),
            ("SELECT 1e5", "SELECT 2e5"),
            ("SELECT 0x1", "SELECT 1x1"),
            ("SELECT $1", "SELECT $2"),
            ("SELECT 1_0", "SELECT 2_0"),
            ("SELECT 1234567890", "SELECT 1234567891"),
        ] {
            assert_ne!(read(one), read(other), "{one}");
        }
    }

    #[test]
    fn what_other_rules_or_other_tables_make_of_a_statement_is_compared_anew() {
        let checked = Checked::default();
        let sql = "SELECT * FROM customer WHERE ssn = 'x'";
        checked.add(generated(sql, &["id", "ssn"], None));
        let after = [
            ("a policy", generated(sql, &["id", "ssn"], Some("ssn"))),
            ("another policy", generated(sql, &["id", "ssn"], Some("id"))),
            ("a policy and another column", generated(sql, &["id", "ssn", "name"], Some("ssn"))),
        ];
        for (what, made) in after {
            assert!(!checked.holds(made), "{what}");
            checked.add(made);
        }
        assert!(checked.holds(generated(sql, &["id", "ssn"], None)), "as before");
    }

    #[test]
    fn reads_that_share_a_plan_are_one() {
        let text = |literal: &str| format!("SELECT {literal}, id FROM customer WHERE ssn <> 'x'");
        let made = |literal: &str| made(&text(literal), &["id", "ssn"], Some("ssn"));
        for [first, second, third] in [["12", "67", "89"], ["1.5", "2.5", "0.0"], ["'Ada'", "'Bob'", "'Cleo'"]] {
            let given = [[first.to_owned()], [second.to_owned()]];
            let (one, other) = (made(first), made(second));
            let direct = sql::ExecutionMode::Direct;
            let shared = sql::SharedSql::of(direct, (&one, &given[0]), (&other, &given[1])).unwrap();
            let shared = shared.with(&[third.to_owned()]).unwrap();
            assert_eq!((&shared.sql, &shared.tables), (&made(third).sql, &one.tables));
            let key = CheckedKey::of(shared.named_alike(), &shared.tables, false);
            assert_eq!(key, CheckedKey::of(&one.sql, &one.tables, false), "{third}");
            assert_ne!(key, CheckedKey::of(other.named_alike(), &other.tables, false), "it was planned by itself");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_digits_is_left_out(text in "[ a'\"0-9$.,_ä(]{0,30}") {
            let without_digits = |bytes: &[u8]| bytes.iter().filter(|b| !b.is_ascii_digit()).copied().collect::<Vec<_>>();
            let shared = without_numbers(&text);
            prop_assert_eq!(without_digits(&shared), without_digits(text.as_bytes()));
            let again = without_numbers(std::str::from_utf8(&shared).unwrap());
            prop_assert_eq!(again, shared);
        }
    }
}
