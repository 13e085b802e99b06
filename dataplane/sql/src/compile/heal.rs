//! Corrections of a text that do not change which data it reads or computes.
//!
//! A misspelt keyword, where one correction alone makes a statement of the text. Names are never guessed here:
//! [`renamed`] writes one that its caller has decided on. (`==` needs no correction: the dialect reads it as `=`.)

use std::collections::BTreeSet;
use std::ops::Range;

use sqlparser::keywords::ALL_KEYWORDS;
use sqlparser::tokenizer::Token;

use crate::ast::error::ErrorKind;
use crate::ast::quote;
use crate::syntax::lex::{self, places};
use crate::syntax::parse::parse_with;
use crate::syntax::variables::Variables;

/// The longest text that is corrected: each try is parsed.
const TEXT_BYTES_MAX: usize = 16 << 10;
const TRIES_MAX: usize = 32;
/// Of two letters every keyword is near.
const LETTERS_MIN: usize = 3;

/// The words that make a query. None that changes anything is among them.
const KEYWORDS: &str = "\
    all and as asc between by case cast cross desc distinct else end except exists fetch first from full group \
    having ilike in inner intersect is join last lateral left like limit minus natural not null nulls offset on or \
    order outer over partition qualify recursive right rows select then union using values when where with";

/// A text in which one word was spelt wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respelt {
    pub sql: String,
    pub wrong: String,
    /// The keyword it was read as.
    pub right: &'static str,
}

/// The text with its misspelt keyword corrected; nothing where it is a statement, or where not exactly one correction
/// makes it one.
pub fn respelt(text: &str, variables: &Variables) -> Option<Respelt> {
    if text.len() > TEXT_BYTES_MAX || parses(text, variables) {
        return None;
    }
    let tries = tries(text)?;
    if tries.len() > TRIES_MAX {
        return None;
    }
    let mut parsed = tries.into_iter().filter(|respelt| parses(&respelt.sql, variables));
    let only = parsed.next()?;
    parsed.next().is_none().then_some(only)
}

/// Whether the grammar has such a text, let through or not.
fn parses(text: &str, variables: &Variables) -> bool {
    parse_with(text, variables).map_or_else(|error| error.kind != ErrorKind::Syntax, |_| true)
}

/// Each word in place of which a keyword may have been meant, with each such keyword.
fn tries(text: &str) -> Option<Vec<Respelt>> {
    let words = words(text, |word, is_quoted| !is_quoted && word.len() >= LETTERS_MIN && !is_keyword(word))?;
    let mut tries = Vec::new();
    for place in words {
        let wrong = text.get(place.clone())?;
        for right in near(wrong) {
            let (before, after) = (text.get(..place.start)?, text.get(place.end..)?);
            tries.push(Respelt { sql: format!("{before}{right}{after}"), wrong: wrong.to_owned(), right });
        }
    }
    Some(tries)
}

fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.split(' ')
}

fn is_keyword(word: &str) -> bool {
    keywords().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// The keywords that are one slip away: a letter too many, too few, another one, or two in the wrong order.
fn near(word: &str) -> impl Iterator<Item = &'static str> {
    let word = word.to_ascii_lowercase();
    keywords().filter(move |keyword| strsim::osa_distance(&word, keyword) == 1)
}

/// The text with another name wherever this one stands; nothing where it does not, or where the same letters stand in
/// another case: the two may be two things.
pub fn renamed(text: &str, wrong: &str, right: &str) -> Option<String> {
    let lower = wrong.to_lowercase();
    let spelt: BTreeSet<String> = spellings(text, &lower)?;
    if !spelt.iter().all(|spelt| spelt.eq_ignore_ascii_case(wrong)) {
        return None;
    }
    let places = words(text, |word, _| word.eq_ignore_ascii_case(wrong))?;
    let (mut out, mut from) = (String::with_capacity(text.len() + right.len()), 0);
    for place in &places {
        out.push_str(text.get(from..place.start)?);
        let is_called = text.get(place.end..)?.trim_start().starts_with('(');
        out.push_str(&as_written(right, is_called));
        from = place.end;
    }
    out.push_str(text.get(from..)?);
    (!places.is_empty()).then_some(out)
}

/// A name as somebody writes it: in quotes where it would be a word of the language, and is not that of a function.
fn as_written(name: &str, is_called: bool) -> String {
    let is_word = !is_called && ALL_KEYWORDS.contains(&name.to_ascii_uppercase().as_str());
    if quote::is_plain(name) && name.is_ascii() && !is_word { name.to_owned() } else { quote::name(name) }
}

/// Every way in which the name of these letters is written.
fn spellings(text: &str, lower: &str) -> Option<BTreeSet<String>> {
    let tokens = lex::tokens(text).ok()?;
    let word = |token: &Token| match token {
        Token::Word(word) if word.value.to_lowercase() == lower => Some(word.value.clone()),
        _ => None,
    };
    Some(tokens.iter().filter_map(|token| word(&token.token)).collect())
}

/// Where the words are that are wanted, by what they say and whether they are quoted.
fn words(text: &str, wanted: impl Fn(&str, bool) -> bool) -> Option<Vec<Range<usize>>> {
    let tokens = lex::tokens(text).ok()?;
    let is_wanted = |token: &Token| match token {
        Token::Word(word) => wanted(&word.value, word.quote_style.is_some()),
        _ => false,
    };
    let spans: Vec<_> = tokens.iter().filter(|token| is_wanted(&token.token)).map(|token| token.span).collect();
    places::bytes(text, &spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(text: &str) -> Option<String> {
        respelt(text, &Variables::default()).map(|respelt| respelt.sql)
    }

    #[test]
    fn one_misspelt_keyword_is_corrected_where_it_stands() {
        for (text, expected) in [
            ("selec 1", "select 1"),
            ("SELECT * FORM t", "SELECT * from t"),
            ("select 'form', \"form\" form t -- form", "select 'form', \"form\" from t -- form"),
            ("select a\nfrom ü\nwhre a = 'wher'", "select a\nfrom ü\nwhere a = 'wher'"),
            ("select a, count(*) from t gruop by a", "select a, count(*) from t group by a"),
            ("select a from t oder by a", "select a from t order by a"),
            ("select a from t where a = 1 nad b = 2", "select a from t where a = 1 and b = 2"),
            ("select a from t lmit 5", "select a from t limit 5"),
            ("select a from t where b is nul", "select a from t where b is null"),
            ("select cas when a then b end from t", "select case when a then b end from t"),
            ("wiht x as (select 1 as a) select a from x", "with x as (select 1 as a) select a from x"),
        ] {
            assert_eq!(corrected(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_parses_or_could_mean_two_things_is_left_alone() {
        for text in [
            "select 1",
            "select a selec from t",
            "select * from a lef join b using (x)",
            "select a == 1 from t",
            // two slips
            "selec * form t",
            // DESC or ASC
            "select a from t order by a dsc",
            // LIKE or ILIKE
            "select a from t where a llike 'x'",
            // AND or OR: two letters say nothing
            "select a from t where a = 1 od b = 2",
            // what changes something is spelt right, or refused
            "delet from t",
            "insrt into t values (1)",
            "udpate t set a = 1",
            "select 'open",
            "select 1 as a; selec 2",
            "",
        ] {
            assert_eq!(corrected(text), None, "{text}");
        }
        let long = format!("selec '{}'", "x".repeat(TEXT_BYTES_MAX));
        assert_eq!(corrected(&long), None);
        let many = format!("selec {}", vec!["form"; TRIES_MAX + 1].join(" "));
        assert_eq!(corrected(&many), None);
    }

    #[test]
    fn equals_may_be_written_twice() {
        let redacted = |text: &str| crate::parse(text).map(|statement| statement.redacted());
        assert_eq!(redacted("select a from t where a == 1"), redacted("select a from t where a = 1"));
    }

    #[test]
    fn no_keyword_changes_anything() {
        for keyword in keywords() {
            assert_eq!(keyword, keyword.to_ascii_lowercase());
        }
        for change in ["insert", "update", "delete", "into", "set", "create", "drop", "merge", "call", "truncate"] {
            assert!(!is_keyword(change), "{change}");
        }
    }

    #[test]
    fn only_identifiers_are_renamed() {
        let cases = [
            ("select nmae from t", Some(r#"select "name" from t"#)),
            ("select t.NMAE, 'nmae' from t -- nmae", Some(r#"select t."name", 'nmae' from t -- nmae"#)),
            (r#"select "nmae" from nmae_x /* nmae */"#, Some(r#"select "name" from nmae_x /* nmae */"#)),
            (r"select E'\' nmae', nmae from ü", Some(r#"select E'\' nmae', "name" from ü"#)),
            ("select 'it''s nmae' from t where ü = 1", None),
            ("select $$nmae$$", None),
        ];
        for (text, expected) in cases {
            assert_eq!(renamed(text, "nmae", "name").as_deref(), expected, "{text}");
        }
        for (right, written) in [("amount_2", "amount_2"), ("order", r#""order""#), ("a b", r#""a b""#)] {
            assert_eq!(renamed("select amuont", "amuont", right).unwrap(), format!("select {written}"));
        }
    }

    #[test]
    fn a_name_that_stands_in_two_cases_is_not_renamed() {
        assert_eq!(renamed("select KÄSE from t", "KÄSE", "Käse").as_deref(), Some(r#"select "Käse" from t"#));
        assert_eq!(renamed("select KÄSE, Käse from t", "KÄSE", "Käse"), None);
    }
}
