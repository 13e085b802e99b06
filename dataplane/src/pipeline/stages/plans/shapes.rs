//! Texts that differ in whole numbers alone, and share a plan: most programs send a new key in each text.
//!
//! Only a number that a column is compared with may differ: between 10 and 999,999,999, so that none is special, and of
//! as many digits. A plan is shared when two texts of a shape were planned whole, and what the stages made of them, with
//! all that is told of it, differs in these numbers alone, each at its places. It is of a read. Where a filter hides rows,
//! its text over the visible rows is compared as well, and put together when that is run.
//!
//! A number stands once in its text: where two are equal, the expressions that they are in may be, which are then written
//! as one, as the key of `LISTAGG(DISTINCT …)` is.

use std::sync::Arc;

use sql::{SharedSql, SharedText};

use super::{KeptPlan, PlanFacts};

/// What stands in a shape for a number, around its digits' count; no text has it that has a shape.
const PLACE: char = '\u{1}';
/// What begins a comment, a parameter or a text that is not read as it stands.
const ODD: [&str; 8] = ["\\", "$", "`", "--", "/*", "//", "#", "\u{1}"];
const COMPARISONS: [&str; 7] = ["=", "<", ">", "<=", ">=", "<>", "!="];
/// Words that end a comparison.
const ENDS: [&str; 5] = ["and", "or", "order", "group", "limit"];
/// One digit may be special, and more than these are of another type.
const DIGITS: std::ops::RangeInclusive<usize> = 2..=9;
/// Each is looked for among all: a text with more is a list, and not a question by keys.
const NUMBERS_MAX: usize = 16;

/// A text without the numbers that may differ, and these.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextShape {
    pub text: String,
    pub numbers: Vec<String>,
}

impl TextShape {
    /// None where no number may differ, or where the text is not surely read as it is here.
    pub fn of(text: &str) -> Option<Self> {
        if !text.is_ascii() || ODD.iter().any(|odd| text.contains(odd)) {
            return None;
        }
        let (mut shape, mut numbers) = (String::with_capacity(text.len()), Vec::new());
        let (mut at, mut quote) = (0, None);
        while let Some(byte) = text.as_bytes().get(at).copied() {
            let (head, rest) = text.split_at_checked(at)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if quote.is_none() && digits > 0 {
                let (number, behind) = rest.split_at_checked(digits)?;
                if may_differ(head, number, behind) {
                    shape.extend([PLACE.to_string(), digits.to_string(), PLACE.to_string()]);
                    numbers.push(number.to_owned());
                } else {
                    shape.push_str(number);
                }
                at += digits;
                continue;
            }
            match quote {
                None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
                Some(open) if open == byte => quote = None,
                _ => {}
            }
            shape.push(char::from(byte));
            at += 1;
        }
        if quote.is_some() || numbers.is_empty() || numbers.len() > NUMBERS_MAX {
            return None;
        }
        let is_alone = |number: &String| {
            let among = numbers.iter().filter(|other| *other == number).count();
            among == 1 && !shape.contains(number.as_str())
        };
        numbers.iter().all(is_alone).then_some(Self { text: shape, numbers })
    }
}

/// Whether a number is what a column is compared with, and nothing is computed of it.
fn may_differ(head: &str, number: &str, behind: &str) -> bool {
    if !DIGITS.contains(&number.len()) || number.starts_with('0') {
        return false;
    }
    let head = head.trim_end();
    let left = head.trim_end_matches(['=', '<', '>', '!']);
    let is_compared = head.get(left.len()..).is_some_and(|sign| COMPARISONS.contains(&sign));
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '"');
    let left = left.trim_end();
    let name = left.rsplit(|c: char| !is_of_name(c)).next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"'));
    let behind = behind.trim_start();
    let word = behind.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_end =
        behind.is_empty() || behind.starts_with([';', ')']) || ENDS.iter().any(|end| word.eq_ignore_ascii_case(end));
    is_compared && is_name && is_end
}

/// What is known of the texts of a shape.
#[derive(Debug)]
pub(super) enum Sharing {
    /// One has come, with these numbers.
    Once {
        numbers: Vec<String>,
        plan: Arc<KeptPlan>,
    },
    Shared(Box<SharedPlan>),
    /// Two have come, and more than their numbers differs.
    Never,
}

impl Sharing {
    /// What is known once this text has come; nothing where that is no more than before.
    pub fn next(known: Option<&Self>, numbers: &[String], plan: &Arc<KeptPlan>) -> Option<Self> {
        match known {
            None => Some(Self::Once { numbers: numbers.to_vec(), plan: Arc::clone(plan) }),
            // equal ones do not show where they go
            Some(Self::Once { numbers: before, .. }) if before.iter().zip(numbers).any(|(a, b)| a == b) => None,
            Some(Self::Once { numbers: before, plan: first }) => {
                let shared = SharedPlan::of((first, before), (plan, numbers));
                Some(shared.map_or(Self::Never, |shared| Self::Shared(Box::new(shared))))
            }
            Some(Self::Shared(_) | Self::Never) => None,
        }
    }

    /// About how many bytes it has.
    pub fn weight(&self) -> usize {
        match self {
            Self::Once { plan, .. } => plan.weight(),
            Self::Shared(shared) => shared.like.weight().saturating_mul(3),
            Self::Never => size_of::<Self>(),
        }
    }

    /// The plan of a text with these numbers.
    pub fn plan(&self, numbers: &[String]) -> Option<KeptPlan> {
        match self {
            Self::Shared(shared) => shared.with(numbers),
            Self::Once { .. } | Self::Never => None,
        }
    }
}

/// The plan of all texts of a shape.
#[derive(Debug)]
pub(super) struct SharedPlan {
    like: Arc<KeptPlan>,
    sql: SharedSql,
    transpiled: SharedText,
    with_rls: SharedText,
}

impl SharedPlan {
    fn of((one, of_one): (&Arc<KeptPlan>, &[String]), (other, of_other): (&Arc<KeptPlan>, &[String])) -> Option<Self> {
        if one.about.writes || !are_alike(one, other) {
            return None;
        }
        let text = |one: &Option<String>, other: &Option<String>| {
            SharedText::of((one.as_deref()?, of_one), (other.as_deref()?, of_other))
        };
        Some(Self {
            like: Arc::clone(one),
            sql: SharedSql::of(one.care, (&one.sql, of_one), (&other.sql, of_other))?,
            transpiled: text(&one.told.transpiled, &other.told.transpiled)?,
            with_rls: text(&one.told.with_rls, &other.told.with_rls)?,
        })
    }

    fn with(&self, numbers: &[String]) -> Option<KeptPlan> {
        let KeptPlan { about, care, fails_anyhow, masked_columns, changed, told, .. } = &*self.like;
        Some(KeptPlan {
            about: about.clone(),
            sql: self.sql.with(numbers)?,
            care: *care,
            fails_anyhow: *fails_anyhow,
            masked_columns: masked_columns.clone(),
            changed: *changed,
            told: PlanFacts {
                redacted: told.redacted.clone(),
                transpiled: Some(self.transpiled.with(numbers)?),
                with_rls: Some(self.with_rls.with(numbers)?),
                columns_masked: told.columns_masked.clone(),
                verdicts: told.verdicts.clone(),
            },
        })
    }
}

/// Whether nothing but their texts differs in two plans.
fn are_alike(one: &KeptPlan, other: &KeptPlan) -> bool {
    let about = format!("{:?}", one.about) == format!("{:?}", other.about); // all of it is in that
    let told = (&one.told.redacted, &one.told.columns_masked, &one.told.verdicts)
        == (&other.told.redacted, &other.told.columns_masked, &other.told.verdicts);
    let ways = (one.care, one.fails_anyhow, one.changed) == (other.care, other.fails_anyhow, other.changed);
    about && told && ways && one.masked_columns == other.masked_columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<String> {
        TextShape::of(text).map(|shape| shape.numbers).unwrap_or_default()
    }

    #[test]
    fn a_number_that_a_column_is_compared_with_may_differ() {
        for (text, expected) in [
            ("select * from t where id = 4711", "4711"),
            ("select * from t where id=47 and \"B\" <> 12 order by 1 limit 20;", "47 12"),
            ("select a from t1 where (t1.id >= 100) or x != 99", "100 99"),
            ("select a from t where note = 'id = 12' and id = 13", "13"),
        ] {
            assert_eq!(numbers(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn no_other_number_differs() {
        for text in [
            "select 12",
            "select a from t limit 12",
            "select a from t order by 12",
            "select a from t where id = 7",
            "select a from t where id = 012",
            "select a from t where id = 1234567890",
            "select a from t where id = 12.5",
            "select a from t where id = 12 + 1",
            "select a from t where id = -12",
            "select a from t where id in (12, 13)",
            "select a from t where id between 12 and 13",
            "select a from t where 10 = 12",
            "select f(x => 12) from t",
            "select a from t where id = 12 -- and more",
            "select a from t where id /* = */ = 12",
            "select a from t where b = 'it\\'s' and id = 12",
            "select a from t where id = $1 and b = 12",
            "select a from t where b = 'open and id = 12",
            "select case when id = 12 then 1 end from t",
            "select listagg(distinct a = 12) within group (order by a = 12) from t",
            "select 12 as twelve from t where id = 12",
            "select a from t12 where id = 12",
        ] {
            assert_eq!(numbers(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_list_of_keys_has_no_shape() {
        let keyed = |count: usize| {
            let keys: Vec<_> = (100..100 + count).map(|key| format!("id = {key}")).collect();
            TextShape::of(&format!("select a from t where {}", keys.join(" or ")))
        };
        assert!(keyed(NUMBERS_MAX).is_some());
        assert!(keyed(NUMBERS_MAX + 1).is_none());
    }

    #[test]
    fn texts_of_one_shape_have_as_many_digits() {
        let shape = |text: &str| TextShape::of(text).unwrap().text;
        assert_eq!(shape("select a from t where id = 12"), shape("select a from t where id = 99"));
        assert_ne!(shape("select a from t where id = 12"), shape("select a from t where id = 123"));
        assert_ne!(shape("select a from t where id = 12"), shape("select a from t where id < 12"));
    }
}
