//! Statements that differ in literals alone: how the text of a third follows from its literals, as two have shown.
//!
//! Nothing is supposed of where a literal goes. Two statements were generated whole; where their texts are alike but for
//! literals, and each of these is that of one place in both, a third one's are put there. A literal that is not in the
//! generated text has decided something else, and so has any other difference: then nothing is shared. A third literal
//! that stands elsewhere in the text is not put there either: the expression around it may be equal to another then, as
//! the key of `LISTAGG(DISTINCT …)` is to its argument.
//!
//! A literal that is a column of the answer without an alias is the column's label as well, `42 AS "42"`: there it is put
//! between the quotes. In a name anywhere else nothing is put, and a third literal that is a name there is not shared.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::literal::{LiteralForm, first_token};
use super::{Before, EngineSql, GovernedSteps};
use crate::govern::ExecutionMode;

/// A text with places for literals of these forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedText {
    /// What stands before each literal, and which it is.
    before: Vec<(String, usize)>,
    end: String,
    forms: Vec<LiteralForm>,
    /// Literals that stay, in lower case.
    fixed: BTreeSet<String>,
}

impl SharedText {
    /// That of two texts, each with the literals that its statement has in the same order.
    pub fn of((one, of_one): (&str, &[String]), (other, of_other): (&str, &[String])) -> Option<Self> {
        let forms = forms(of_one)?;
        if forms != self::forms(of_other)? {
            return None;
        }
        let ((one, one_end), (other, other_end)) = (parts(one), parts(other));
        if one_end != other_end || one.len() != other.len() {
            return None;
        }
        let (mut before, mut text, mut fixed) = (Vec::new(), String::new(), BTreeSet::new());
        for (at, (part, other_part)) in one.iter().zip(&other).enumerate() {
            let (TextPart { head, literal, is_name }, other_literal) = (*part, other_part.literal);
            if (head, is_name) != (other_part.head, other_part.is_name) {
                return None;
            }
            text.push_str(head);
            if literal == other_literal {
                text.push_str(literal);
                fixed.extend(LiteralForm::of(literal).map(|_| literal.to_ascii_lowercase()));
                continue;
            }
            if is_name && !(is_label(&one, at) && is_label(&other, at)) {
                return None;
            }
            let pairs = of_one.iter().zip(of_other);
            let mut places = pairs.enumerate().filter(|(_, pair)| *pair.0 == literal && *pair.1 == other_literal);
            let (Some((place, _)), None) = (places.next(), places.next()) else { return None };
            before.push((std::mem::take(&mut text), place));
        }
        text.push_str(one_end);
        let is_there = |place: usize| before.iter().any(|(_, found)| *found == place);
        (0..forms.len()).all(is_there).then_some(Self { before, end: text, forms, fixed })
    }

    /// Whether these literals are of the same forms as those before, and stand nowhere else in the text.
    fn takes(&self, literals: &[String]) -> bool {
        let is_fixed = |literal: &String| self.fixed.contains(&literal.to_ascii_lowercase());
        forms(literals).is_some_and(|forms| forms == self.forms) && !literals.iter().any(is_fixed)
    }

    /// The text with these literals.
    pub fn with(&self, literals: &[String]) -> Option<String> {
        if !self.takes(literals) {
            return None;
        }
        let mut text = String::new();
        for (head, place) in &self.before {
            text.push_str(head);
            text.push_str(literals.get(*place)?);
        }
        text.push_str(&self.end);
        Some(text)
    }
}

fn forms(literals: &[String]) -> Option<Vec<LiteralForm>> {
    literals.iter().map(|literal| LiteralForm::of(literal)).collect()
}

/// A name, number or string of a text, or the literal that a name in quotes is.
#[derive(Debug, Clone, Copy)]
struct TextPart<'a> {
    /// What stands before it, from the part before.
    head: &'a str,
    literal: &'a str,
    is_name: bool,
}

/// The parts of a text, and its end. A name in quotes that is no literal is none of them.
fn parts(text: &str) -> (Vec<TextPart<'_>>, &str) {
    let (mut found, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let token = first_token(rest);
        let is_part = token.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '\''));
        let named = named_literal(token);
        let begin = at + named.map_or(0, |(quote, _)| quote.len());
        let literal = named.map(|(_, literal)| literal).or_else(|| is_part.then_some(token));
        if let (Some(head), Some(literal)) = (text.get(from..begin), literal) {
            found.push(TextPart { head, literal, is_name: named.is_some() });
            from = begin + literal.len();
        }
        at += token.len();
    }
    (found, text.get(from..).unwrap_or_default())
}

/// The literal that a name in quotes is, with what stands before it in the name: its quote, and a sign.
fn named_literal(token: &str) -> Option<(&str, &str)> {
    let name = token.strip_prefix('"')?.strip_suffix('"')?;
    let literal = name.strip_prefix('-').unwrap_or(name);
    LiteralForm::of(literal)?;
    token.split_at_checked(token.len().checked_sub(literal.len() + 1)?).map(|(quote, _)| (quote, literal))
}

/// Whether the name at this place is the label of the literal that it repeats.
fn is_label(parts: &[TextPart<'_>], at: usize) -> bool {
    match at.checked_sub(2).and_then(|from| parts.get(from..=at)) {
        Some([literal, word, label]) => {
            !literal.is_name && literal.literal == label.literal && (word.head, word.literal) == (" ", "AS")
        }
        _ => false,
    }
}

/// A statement of one step, as it is with other literals.
#[derive(Debug, Clone)]
pub struct SharedSql {
    /// Without its text, and what another could be printed of, which have the literals of the first.
    like: EngineSql,
    text: SharedText,
    /// Whether the text has the steps before the last in it: literals stand in them too.
    has_steps: bool,
    /// The same over visible rows, where it may be run so.
    visible: Option<Arc<Self>>,
}

impl SharedSql {
    /// That of two statements, each with its literals; none where they differ in anything else.
    pub fn of(care: ExecutionMode, one: LiteralSql<'_>, other: LiteralSql<'_>) -> Option<Self> {
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

    /// That of two statements in one way to run them: the steps before the last differ in literals alone.
    fn printed((one, of_one): LiteralSql<'_>, (other, of_other): LiteralSql<'_>) -> Option<Self> {
        let has_values = one.binds == other.binds && one.types == other.types;
        let has_columns = one.masked_outputs == other.masked_outputs && one.jsonb_outputs == other.jsonb_outputs;
        let is_told_alike = one.tables == other.tables && one.warnings == other.warnings;
        let is_step_alike = one.before.iter().map(without_text).eq(other.before.iter().map(without_text));
        if !is_step_alike || !has_values || !has_columns || !is_told_alike {
            return None;
        }
        let has_steps = one.before != other.before;
        let text = if has_steps {
            SharedText::of((&joined(one), of_one), (&joined(other), of_other))?
        } else {
            SharedText::of((&one.sql, of_one), (&other.sql, of_other))?
        };
        let nothing = Arc::new(GovernedSteps::default());
        let alike = Some(Arc::from(one.sql.as_str()));
        let like = EngineSql { sql: String::new(), alike, source: nothing, visible: None, ..one.clone() };
        Some(Self { like, text, has_steps, visible: None })
    }

    /// The statement with these literals. It runs as it is, or over visible rows: it cannot be printed in another way.
    pub fn with(&self, literals: &[String]) -> Option<EngineSql> {
        if !self.visible.iter().all(|visible| visible.text.takes(literals)) {
            return None; // it is put together when the statement has begun
        }
        let reading = |shared: &Arc<Self>| SharedReading { shared: Arc::clone(shared), literals: literals.into() };
        let visible = self.visible.as_ref().map(reading);
        let text = self.text.with(literals)?;
        if !self.has_steps {
            return Some(EngineSql { sql: text, visible, ..self.like.clone() });
        }
        let mut texts: Vec<&str> = text.split(BETWEEN_STEPS).collect();
        let sql = texts.pop()?.to_owned();
        if texts.len() != self.like.before.len() {
            return None;
        }
        let steps = self.like.before.iter().zip(texts);
        let before = steps.map(|(step, sql)| Before { sql: sql.to_owned(), ..step.clone() }).collect();
        Some(EngineSql { before, sql, visible, ..self.like.clone() })
    }
}

/// A sign that stands in no text of one step.
const BETWEEN_STEPS: char = '\0';

/// The texts of all steps of a statement.
fn joined(made: &EngineSql) -> String {
    let mut text = String::new();
    for step in &made.before {
        text.push_str(&step.sql);
        text.push(BETWEEN_STEPS);
    }
    text + &made.sql
}

/// What a step is beside its text.
fn without_text(step: &Before) -> Before {
    Before { sql: String::new(), ..step.clone() }
}

/// A statement, and the literals of the text that it was made of.
type LiteralSql<'a> = (&'a EngineSql, &'a [String]);

/// The other way to run a statement that shares its plan, put together when it is asked for.
#[derive(Debug, Clone)]
pub(super) struct SharedReading {
    shared: Arc<SharedSql>,
    literals: Arc<[String]>,
}

impl SharedReading {
    pub fn statement(&self) -> Option<EngineSql> {
        self.shared.with(&self.literals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analyst, engine, governed};

    fn literals(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_text_of_a_third_follows_from_two() {
        let (one, other) = (literals(&["12", "345"]), literals(&["67", "890"]));
        let shared = SharedText::of(
            ("a \"t12\" = 12 AND b < 345 LIMIT 10", &one),
            ("a \"t12\" = 67 AND b < 890 LIMIT 10", &other),
        );
        let third = shared.unwrap().with(&literals(&["11", "999"]));
        assert_eq!(third.as_deref(), Some("a \"t12\" = 11 AND b < 999 LIMIT 10"));
    }

    #[test]
    fn a_literal_that_stands_elsewhere_in_the_text_is_not_shared() {
        let (one, other) = (literals(&["12", "'open'"]), literals(&["67", "'shut'"]));
        let shared = SharedText::of(
            ("a = 12 AND b = 'open' AND c = 61 AND d = 'Late'", &one),
            ("a = 67 AND b = 'shut' AND c = 61 AND d = 'Late'", &other),
        );
        let shared = shared.unwrap();
        assert!(shared.with(&literals(&["62", "'early'"])).is_some());
        for refused in [["61", "'early'"], ["62", "'Late'"], ["62", "'late'"]] {
            assert_eq!(shared.with(&literals(&refused)), None, "{refused:?}");
        }
    }

    #[test]
    fn what_differs_in_anything_else_is_not_shared() {
        let (one, other) = (literals(&["12"]), literals(&["67"]));
        for (a, b) in [
            ("x = 12", "y = 67"),
            ("x = 12 AND \"12\"", "x = 67 AND \"67\""),
            ("12 AS \"12a\"", "67 AS \"67a\""),
            ("12 AS \"1.2\"", "67 AS \"6.7\""),
            ("12 AS \"t\" FROM \"12\"", "67 AS \"t\" FROM \"67\""),
            ("12 AS \"12\".\"a\", 13", "67 AS \"68\".\"a\", 13"),
            ("x = '12'", "x = '67'"),
            ("x = 13", "x = 68"),
            ("x = 12.5", "x = 67.5"),
            ("x", "x"),
            ("x = 12", "x = 67 AND 1"),
            ("x = 12", "x = 12"),
            ("x = t12", "x = t67"),
            ("x = 'a' || '12'", "x = 'a' || '67'"),
        ] {
            assert_eq!(SharedText::of((a, &one), (b, &other)), None, "{a}: {b}");
        }
        let alike = (literals(&["12", "12"]), literals(&["67", "67"]));
        assert_eq!(SharedText::of(("12 = 12", &alike.0), ("67 = 67", &alike.1)), None, "which is which?");
        let shared = SharedText::of(("x = 12", &one), ("x = 67", &other)).unwrap();
        for refused in ["1", "123", "1x", "-1", "1)", "1.5", "'a'", "01"] {
            assert_eq!(shared.with(&literals(&[refused])), None, "{refused}");
        }
    }

    #[test]
    fn literals_of_each_form_are_put_where_they_stood() {
        let (one, other) = (literals(&["7", "12.5", "'open'"]), literals(&["8", "67.9", "'shut now'"]));
        let text = "a = 7 AND \"b\" < (-12.5) AND c <> 'open' AND d = '7' LIMIT 70";
        let second = "a = 8 AND \"b\" < (-67.9) AND c <> 'shut now' AND d = '7' LIMIT 70";
        let shared = SharedText::of((text, &one), (second, &other)).unwrap();
        assert_eq!(shared.with(&one).as_deref(), Some(text));
        let third = shared.with(&literals(&["0", "10.0", "'x'"]));
        assert_eq!(third.as_deref(), Some("a = 0 AND \"b\" < (-10.0) AND c <> 'x' AND d = '7' LIMIT 70"));
        for refused in ["'it''s'", "'12'", "x", "'true'", "'a' OR 'b'"] {
            assert_eq!(shared.with(&literals(&["0", "10.0", refused])), None, "{refused}");
        }
    }

    #[test]
    fn a_label_is_the_literal_that_it_repeats() {
        let (one, other) = (literals(&["12", "1.5", "'Ada'"]), literals(&["67", "2.7", "'Bob'"]));
        let text = "SELECT 12 AS \"12\", -1.5 AS \"-1.5\", 'Ada' AS \"'Ada'\", \"61\", \"'Zoe'\" FROM t";
        let second = "SELECT 67 AS \"67\", -2.7 AS \"-2.7\", 'Bob' AS \"'Bob'\", \"61\", \"'Zoe'\" FROM t";
        let shared = SharedText::of((text, &one), (second, &other)).unwrap();
        for (known, made) in [(&one, text), (&other, second)] {
            assert_eq!(shared.with(known).as_deref(), Some(made));
        }
        let third = shared.with(&literals(&["10", "0.0", "'Cleo'"]));
        let expected = "SELECT 10 AS \"10\", -0.0 AS \"-0.0\", 'Cleo' AS \"'Cleo'\", \"61\", \"'Zoe'\" FROM t";
        assert_eq!(third.as_deref(), Some(expected));
        for refused in [["61", "'Cleo'"], ["10", "'Zoe'"], ["10", "'zoe'"], ["1", "'Cleo'"], ["10", "'it''s'"]] {
            let [number, string] = refused;
            assert_eq!(shared.with(&literals(&[number, "0.0", string])), None, "{refused:?}");
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
            "SELECT any_value(name) AS name FROM customers WHERE id <> {}",
            "SELECT count(*) AS many FROM orders WHERE id IN (SELECT id FROM customers WHERE id >= {})",
        ] {
            let text = |number: &str| sql.replace("{}", number);
            let made = |number: &str| engine(&text(number), &analyst()).unwrap();
            let care = governed(&text("12"), &analyst()).unwrap().care();
            assert_ne!(care, ExecutionMode::Direct, "{sql}");
            let (one, other) = (made("12"), made("67"));
            let shared = SharedSql::of(care, (&one, &literals(&["12"])), (&other, &literals(&["67"]))).unwrap();
            for third in ["10", "34", "99"] {
                let (shared, anew) = (shared.with(&literals(&[third])).unwrap(), made(third));
                assert_eq!(steps(&shared), steps(&anew), "{sql}");
                assert_eq!((shared.named_alike(), anew.named_alike()), (one.sql.as_str(), anew.sql.as_str()), "{sql}");
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
        let (of_one, of_other) = (literals(&["12"]), literals(&["67"]));
        let shared = SharedSql::of(ExecutionMode::Direct, (&one, &of_one), (&other, &of_other)).unwrap();
        assert!(shared.with(&of_one).unwrap().over_visible().is_err());
    }
}
