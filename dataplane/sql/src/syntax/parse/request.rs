//! A request that is a session of its own: the SETs that its text begins with are its variables.
//!
//! `SET n = 5; SELECT $n` is one statement and what `$n` stands for in it. Only variables can be set so: what chooses
//! anything else of a session is refused, as it is over the protocols where no session stays.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{grouped, is};
use crate::ast::error::Position;
use crate::functions::settings;
use crate::syntax::lex;
use crate::syntax::variables::{Variable, Variables};

/// Variables of one request.
const VARIABLES_MAX: usize = 256;

/// The variables of a request and its text with blanks where they were set, so that every place stays where it was;
/// nothing for a text that sets none, or that is more than this and one statement.
pub fn request(text: &str) -> Option<(Variables, String)> {
    if !text.contains(';') {
        return None;
    }
    let groups = grouped(lex::tokens(text).ok()?);
    let (statement, before) = groups.split_last()?;
    if before.is_empty() {
        return None;
    }
    let mut variables = Variables::default();
    for group in before {
        for (name, value) in assigned(group)? {
            variables.set(&name, value);
        }
    }
    if variables.len() > VARIABLES_MAX {
        return None;
    }
    let start = Position::of(text, statement.first()?.span.start)?.offset;
    let start = usize::try_from(start).ok()?.checked_sub(1)?;
    let blank = |(place, c): (usize, char)| if place < start && c != '\n' { ' ' } else { c };
    Some((variables, text.chars().enumerate().map(blank).collect()))
}

/// What `SET a = 1` and `SET (a, b) = (1, 'x')` set.
fn assigned(tokens: &[TokenWithSpan]) -> Option<Vec<(String, Variable)>> {
    let tokens: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    let (set, rest) = tokens.split_first()?;
    if !is(set, Keyword::SET) {
        return None;
    }
    let equals = rest.iter().position(|token| **token == Token::Eq)?;
    let (names, values) = (rest.get(..equals)?, rest.get(equals + 1..)?);
    let several = matches!(names.first(), Some(Token::LParen));
    let (names, values) =
        if several { (items(within(names)?), items(within(values)?)) } else { (vec![names], vec![values]) };
    let pairs = names.iter().zip(&values).map(|(name, value)| Some((self::name(name)?, literal(value)?)));
    (names.len() == values.len()).then(|| pairs.collect()).flatten()
}

/// What stands in the brackets.
fn within<'a>(tokens: &'a [&'a Token]) -> Option<&'a [&'a Token]> {
    match tokens {
        [Token::LParen, inner @ .., Token::RParen] => Some(inner),
        _ => None,
    }
}

fn items<'a>(tokens: &'a [&'a Token]) -> Vec<&'a [&'a Token]> {
    tokens.split(|token| **token == Token::Comma).collect()
}

/// A name that a variable may have. That of how far a statement may be healed is none: where no session stays, the
/// request says so itself.
fn name(tokens: &[&Token]) -> Option<String> {
    let [Token::Word(word)] = tokens else { return None };
    let lower = word.value.to_ascii_lowercase();
    (!settings::is_one(&lower) && lower != "heal").then(|| word.value.clone())
}

fn literal(tokens: &[&Token]) -> Option<Variable> {
    match tokens {
        [Token::SingleQuotedString(text)] => Some(Variable::Text(text.clone())),
        [Token::Number(number, _)] => Some(Variable::Number(number.clone())),
        [Token::Minus, Token::Number(number, _)] => Some(Variable::Number(format!("-{number}"))),
        [word] if is(word, Keyword::TRUE) => Some(Variable::Boolean(true)),
        [word] if is(word, Keyword::FALSE) => Some(Variable::Boolean(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::request;

    #[test]
    fn what_a_request_sets_stands_for_its_literal_at_the_place_it_was() {
        let read = |text: &str| {
            let (variables, rest) = request(text)?;
            assert_eq!(rest.chars().count(), text.chars().count());
            Some(crate::parse_with(&rest, &variables).map(|statement| statement.redacted()).map_err(|e| e.position))
        };
        let same = |sql: &str| Some(Ok(crate::parse(sql).unwrap().redacted()));
        assert_eq!(read("SET n = 5; SELECT $n"), same("SELECT 5"));
        assert_eq!(
            read("set (a, b) = ('ü;x', -1.5);\n set c = true; select $A, $b, $c;"),
            same("select 'x', (-1.5), true")
        );
        let missing = read("SET a = 'ü';\nSELECT $b").unwrap().unwrap_err().unwrap();
        assert_eq!((missing.line, missing.column, missing.offset), (2, 8, 21));
    }

    #[test]
    fn what_is_more_than_variables_and_a_statement_is_none() {
        for text in [
            "SELECT 1",
            "SELECT 1;",
            "SET a = 1",
            "SET a = 1;",
            "SELECT 1; SELECT 2",
            "SET a = 1; SELECT 1; SELECT $a",
            "SET a = (SELECT 1); SELECT $a",
            "SET search_path = 'x'; SELECT 1",
            "SET heal = 'off'; SELECT 1",
            "SET x.y = 1; SELECT 1",
            "SET (a, b) = (1); SELECT $a",
        ] {
            assert!(request(text).is_none(), "{text}");
        }
    }
}
