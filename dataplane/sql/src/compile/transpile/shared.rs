//! Statements that differ in whole numbers alone: how the text of a third follows from its numbers, as two have shown.
//!
//! Nothing is supposed of where a number goes. Two statements were generated whole; where their texts are alike but for
//! numbers, and each of these is the number of one place in both, a third one's are put there. A number that is not in
//! the generated text has decided something else, and so has any other difference: then nothing is shared.

use std::sync::Arc;

use super::{EngineSql, GovernedSteps};
use crate::govern::ExecutionMode;

/// A text with places for whole numbers of so many digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedText {
    /// What stands before each number, and which it is.
    before: Vec<(String, usize)>,
    end: String,
    digits: Vec<usize>,
}

impl SharedText {
    /// That of two texts, each with the numbers that its statement has in the same order.
    pub fn of((one, of_one): (&str, &[String]), (other, of_other): (&str, &[String])) -> Option<Self> {
        let digits: Vec<usize> = of_one.iter().map(String::len).collect();
        if !digits.iter().copied().eq(of_other.iter().map(String::len)) {
            return None;
        }
        let ((one, one_end), (other, other_end)) = (parts(one), parts(other));
        if one_end != other_end || one.len() != other.len() {
            return None;
        }
        let (mut before, mut text) = (Vec::new(), String::new());
        for ((head, number), (other_head, other_number)) in one.into_iter().zip(other) {
            if head != other_head {
                return None;
            }
            text.push_str(head);
            if number == other_number {
                text.push_str(number);
                continue;
            }
            let pairs = of_one.iter().zip(of_other);
            let mut places = pairs.enumerate().filter(|(_, pair)| *pair.0 == number && *pair.1 == other_number);
            let (Some((place, _)), None) = (places.next(), places.next()) else { return None };
            before.push((std::mem::take(&mut text), place));
        }
        text.push_str(one_end);
        let is_there = |place: usize| before.iter().any(|(_, found)| *found == place);
        (0..digits.len()).all(is_there).then_some(Self { before, end: text, digits })
    }

    /// The text with these numbers, which have as many digits as those before.
    pub fn with(&self, numbers: &[String]) -> Option<String> {
        let is_whole = |number: &String| number.bytes().all(|byte| byte.is_ascii_digit());
        let has_digits = self.digits.iter().copied().eq(numbers.iter().map(String::len));
        if !has_digits || !numbers.iter().all(is_whole) {
            return None;
        }
        let mut text = String::new();
        for (head, place) in &self.before {
            text.push_str(head);
            text.push_str(numbers.get(*place)?);
        }
        text.push_str(&self.end);
        Some(text)
    }
}

/// The whole numbers of a text that stand by themselves, each with what is before it, and the end.
fn parts(text: &str) -> (Vec<(&str, &str)>, &str) {
    let (mut found, mut from, mut at, mut joined) = (Vec::new(), 0, 0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            let next = rest.chars().next();
            joined = next.is_some_and(joins);
            at += next.map_or(1, char::len_utf8);
            continue;
        }
        let end = at + digits;
        let is_joined = joined || text.get(end..).and_then(|behind| behind.chars().next()).is_some_and(joins);
        if let (false, Some(head), Some(number)) = (is_joined, text.get(from..at), text.get(at..end)) {
            found.push((head, number));
            from = end;
        }
        (at, joined) = (end, true);
    }
    (found, text.get(from..).unwrap_or_default())
}

/// Whether a digit beside it is part of something else: of a name, a parameter, a fraction, or what is in quotes.
fn joins(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | '.' | '\'' | '"')
}

/// A statement of one step, as it is with other numbers.
#[derive(Debug, Clone)]
pub struct SharedSql {
    /// Without what another text could be printed of, which has the numbers of the first.
    like: EngineSql,
    text: SharedText,
    /// The same over visible rows, where it may be run so.
    visible: Option<Arc<Self>>,
}

impl SharedSql {
    /// That of two statements, each with its numbers; none where they differ in anything else.
    pub fn of(care: ExecutionMode, one: NumberedSql<'_>, other: NumberedSql<'_>) -> Option<Self> {
        if !one.0.before.is_empty() {
            return None;
        }
        let shared = Self::printed(one, other)?;
        match care {
            ExecutionMode::Direct => Some(shared),
            ExecutionMode::Leakproof | ExecutionMode::Speculative | ExecutionMode::Materialized => {
                let (first, second) = (one.0.over_visible().ok()?, other.0.over_visible().ok()?);
                let visible = Self::printed((&first, one.1), (&second, other.1))?;
                Some(Self { visible: Some(Arc::new(visible)), ..shared })
            }
        }
    }

    /// That of two statements in one way to run them: the steps before the last are the same.
    fn printed((one, of_one): NumberedSql<'_>, (other, of_other): NumberedSql<'_>) -> Option<Self> {
        let has_values = one.binds == other.binds && one.types == other.types;
        let has_columns = one.masked_outputs == other.masked_outputs && one.jsonb_outputs == other.jsonb_outputs;
        let is_told_alike = one.tables == other.tables && one.warnings == other.warnings;
        if one.before != other.before || !has_values || !has_columns || !is_told_alike {
            return None;
        }
        let text = SharedText::of((&one.sql, of_one), (&other.sql, of_other))?;
        let nothing = Arc::new(GovernedSteps { steps: Vec::new(), scans: Vec::new() });
        Some(Self { like: EngineSql { source: nothing, visible: None, ..one.clone() }, text, visible: None })
    }

    /// The statement with these numbers. It runs as it is, or over visible rows: it cannot be printed in another way.
    pub fn with(&self, numbers: &[String]) -> Option<EngineSql> {
        let reading = |shared: &Arc<Self>| SharedReading { shared: Arc::clone(shared), numbers: numbers.into() };
        let visible = self.visible.as_ref().map(reading);
        Some(EngineSql { sql: self.text.with(numbers)?, visible, ..self.like.clone() })
    }
}

/// A statement, and the numbers of the text that it was made of.
type NumberedSql<'a> = (&'a EngineSql, &'a [String]);

/// The other way to run a statement that shares its plan, put together when it is asked for.
#[derive(Debug, Clone)]
pub(super) struct SharedReading {
    shared: Arc<SharedSql>,
    numbers: Arc<[String]>,
}

impl SharedReading {
    pub fn statement(&self) -> Option<EngineSql> {
        self.shared.with(&self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analyst, engine, governed};

    fn numbers(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_text_of_a_third_follows_from_two() {
        let (one, other) = (numbers(&["12", "345"]), numbers(&["67", "890"]));
        let shared = SharedText::of(
            ("a \"t12\" = 12 AND b < 345 LIMIT 10", &one),
            ("a \"t12\" = 67 AND b < 890 LIMIT 10", &other),
        );
        let third = shared.unwrap().with(&numbers(&["10", "999"]));
        assert_eq!(third.as_deref(), Some("a \"t12\" = 10 AND b < 999 LIMIT 10"));
    }

    #[test]
    fn what_differs_in_anything_else_is_not_shared() {
        let (one, other) = (numbers(&["12"]), numbers(&["67"]));
        for (a, b) in [
            ("x = 12", "y = 67"),
            ("x = 12 AS \"12\"", "x = 67 AS \"67\""),
            ("x = '12'", "x = '67'"),
            ("x = 13", "x = 68"),
            ("x = 12.5", "x = 67.5"),
            ("x", "x"),
            ("x = 12", "x = 67 AND 1"),
            ("x = 12", "x = 12"),
        ] {
            assert_eq!(SharedText::of((a, &one), (b, &other)), None, "{a}: {b}");
        }
        let alike = (numbers(&["12", "12"]), numbers(&["67", "67"]));
        assert_eq!(SharedText::of(("12 = 12", &alike.0), ("67 = 67", &alike.1)), None, "which is which?");
        let shared = SharedText::of(("x = 12", &one), ("x = 67", &other)).unwrap();
        for refused in ["1", "123", "1x", "-1", "1)"] {
            assert_eq!(shared.with(&numbers(&[refused])), None, "{refused}");
        }
    }

    /// All that is run of it, in either way.
    fn steps(made: &EngineSql) -> Vec<(String, Vec<crate::Bind>, Vec<String>)> {
        let before = made.before.iter().map(|step| (step.sql.clone(), step.binds.clone(), step.tables.clone()));
        before.chain([(made.sql.clone(), made.binds.clone(), made.tables.clone())]).collect()
    }

    #[test]
    fn a_third_statement_over_visible_rows_is_the_one_that_is_generated() {
        for sql in [
            "SELECT id, ssn FROM customers WHERE id = {}",
            "SELECT name::INT FROM customers WHERE id > {} OR id = 1",
            "SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id < {}",
            "SELECT id FROM customers WHERE id <> {} LIMIT 1",
            "SELECT count(*) AS many FROM orders WHERE id IN (SELECT id FROM customers WHERE id >= {})",
        ] {
            let text = |number: &str| sql.replace("{}", number);
            let made = |number: &str| engine(&text(number), &analyst()).unwrap();
            let care = governed(&text("12"), &analyst()).unwrap().care();
            assert_ne!(care, ExecutionMode::Direct, "{sql}");
            let (one, other) = (made("12"), made("67"));
            let shared = SharedSql::of(care, (&one, &numbers(&["12"])), (&other, &numbers(&["67"]))).unwrap();
            for third in ["10", "34", "99"] {
                let (shared, anew) = (shared.with(&numbers(&[third])).unwrap(), made(third));
                assert_eq!(steps(&shared), steps(&anew), "{sql}");
                let visible = (shared.over_visible().unwrap(), anew.over_visible().unwrap());
                assert_eq!(steps(&visible.0), steps(&visible.1), "{sql}");
                assert_eq!(visible.0.before, visible.1.before, "{sql}");
            }
        }
    }

    #[test]
    fn a_statement_that_hides_nothing_has_no_other_way_to_run() {
        let made = |sql: &str| engine(sql, &analyst()).unwrap();
        let (one, other) = (made("SELECT id FROM payroll WHERE id = 12"), made("SELECT id FROM payroll WHERE id = 67"));
        let (of_one, of_other) = (numbers(&["12"]), numbers(&["67"]));
        let shared = SharedSql::of(ExecutionMode::Direct, (&one, &of_one), (&other, &of_other)).unwrap();
        assert!(shared.with(&of_one).unwrap().over_visible().is_err());
    }
}
