//! Variables of a session: `$name` stands for the literal that was set.
//!
//! They are put in where the text has become tokens, so a value is never read as anything but one literal. They take
//! no part in the numbering of parameters.

use std::collections::BTreeMap;

use sqlparser::ast::Query;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::Error;
use crate::syntax::listing::Listing;

/// A literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    Text(String),
    /// Digits, with a sign and a point at most: as the lexer reads a number.
    Number(String),
    Boolean(bool),
}

/// By name; case does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, Variable>);

impl Variables {
    pub fn set(&mut self, name: &str, value: Variable) {
        self.0.insert(name.to_lowercase(), value);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Name, value and type of each, as `SHOW VARIABLES` tells them.
    pub fn told(&self) -> impl Iterator<Item = [String; 3]> {
        self.0.iter().map(|(name, value)| {
            let (value, kind) = match value {
                Variable::Text(text) => (text.clone(), "text"),
                Variable::Number(number) => (number.clone(), "fixed"),
                Variable::Boolean(value) => (value.to_string(), "boolean"),
            };
            [name.clone(), value, kind.to_owned()]
        })
    }

    /// The same as a query.
    pub(crate) fn listed(&self) -> Result<Query, Error> {
        let mut listing = Listing::new("name, value, type");
        self.told().for_each(|told| listing.add(told.map(Some).to_vec()));
        listing.query()
    }

    /// The tokens with a literal in place of every variable that is set. One that is not stays, and is refused as a
    /// parameter without a number.
    pub(crate) fn put_into(&self, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
        if self.0.is_empty() {
            return tokens;
        }
        let mut filled = Vec::with_capacity(tokens.len());
        for TokenWithSpan { token, span } in tokens {
            let value = match &token {
                Token::Placeholder(name) => name.strip_prefix('$').and_then(|name| self.0.get(&name.to_lowercase())),
                _ => None,
            };
            match value {
                Some(value) => filled.extend(literal(value).into_iter().map(|token| TokenWithSpan { token, span })),
                None => filled.push(TokenWithSpan { token, span }),
            }
        }
        filled
    }
}

fn literal(value: &Variable) -> Vec<Token> {
    match value {
        Variable::Text(text) => vec![Token::SingleQuotedString(text.clone())],
        Variable::Number(number) => match number.strip_prefix('-') {
            Some(digits) => {
                vec![Token::LParen, Token::Minus, Token::Number(digits.to_owned(), false), Token::RParen]
            }
            None => vec![Token::Number(number.clone(), false)],
        },
        Variable::Boolean(value) => vec![Token::make_keyword(if *value { "TRUE" } else { "FALSE" })],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_literal_whatever_it_holds() {
        let mut variables = Variables::default();
        variables.set("V", Variable::Text("x' OR '1'='1".to_owned()));
        variables.set("n", Variable::Number("-5".to_owned()));
        variables.set("b", Variable::Boolean(true));
        let redacted = |sql| crate::parse_with(sql, &variables).map(|statement| statement.redacted());
        assert_eq!(
            redacted("select * from t where a = $v and 2 - $N > 1 and $b"),
            redacted("select * from t where a = '' and 2 - (-5) > 1 and true")
        );
        assert_eq!(crate::parse_with("select $1, $n", &variables).map(|statement| statement.parameters()), Ok(1));
        let error = crate::parse_with("select 1,\n $nothing", &variables).expect_err("it is not set");
        assert_eq!(
            (error.message.as_str(), error.position.map(|at| at.line)),
            ("the session has no variable $nothing", Some(2))
        );
    }
}
