//! `NAME = value` after `NAME = value`, as stages and file formats are written with.

use sqlparser::ast::helpers::key_value_options::{
    KeyValueOption, KeyValueOptionKind, KeyValueOptions, KeyValueOptionsDelimiter,
};
use sqlparser::ast::{Value, ValueWithSpan};
use sqlparser::dialect::SnowflakeDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{end, parser, refused};
use crate::ast::error::Error;
use crate::ast::quote;
use crate::syntax::lex;

/// The options that this text of ours is.
pub(crate) fn of_text(text: &str) -> Result<KeyValueOptions, Error> {
    let mut parser = parser(&SnowflakeDialect {}, lex::tokens(text)?);
    let options = options(&mut parser).map_err(refused)?;
    end(&parser).map_err(refused)?;
    Ok(options)
}

/// The same as text.
pub(crate) fn written(options: &KeyValueOptions) -> String {
    let value = |value: &ValueWithSpan| match &value.value {
        Value::SingleQuotedString(text) => quote::text(text),
        Value::Boolean(true) => "TRUE".to_owned(),
        Value::Boolean(false) => "FALSE".to_owned(),
        other => other.to_string(), // a number
    };
    let each = options.options.iter().map(|KeyValueOption { option_name, option_value }| {
        let value = match option_value {
            KeyValueOptionKind::Single(one) => value(one),
            KeyValueOptionKind::Multi(all) => format!("({})", all.iter().map(value).collect::<Vec<_>>().join(", ")),
            KeyValueOptionKind::KeyValueOptions(within) => format!("({})", written(within)),
        };
        format!("{option_name} = {value}")
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The options up to the end of the text, or of the brackets that they stand in. A word is a text: `CSV` is `'CSV'`.
pub(super) fn options(parser: &mut Parser<'_>) -> Result<KeyValueOptions, ParserError> {
    let mut options: Vec<KeyValueOption> = Vec::new();
    loop {
        let next = parser.peek_token();
        match &next.token {
            Token::EOF | Token::RParen => break,
            Token::Comma => {
                parser.next_token();
            }
            Token::Word(word) if word.quote_style.is_none() => {
                parser.next_token();
                if options.iter().any(|known| known.option_name.eq_ignore_ascii_case(&word.value)) {
                    return Err(ParserError::ParserError(format!("{} is given twice", word.value)));
                }
                parser.expect_token(&Token::Eq)?;
                options.push(KeyValueOption { option_name: word.value.clone(), option_value: value(parser)? });
            }
            _ => return parser.expected("an option", next),
        }
    }
    Ok(KeyValueOptions { options, delimiter: KeyValueOptionsDelimiter::Space })
}

fn value(parser: &mut Parser<'_>) -> Result<KeyValueOptionKind, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(KeyValueOptionKind::Single(single(parser)?));
    }
    let is_option =
        matches!((&parser.peek_nth_token(0).token, &parser.peek_nth_token(1).token), (Token::Word(_), Token::Eq));
    let value = if is_option {
        KeyValueOptionKind::KeyValueOptions(Box::new(options(parser)?))
    } else if parser.peek_token_ref().token == Token::RParen {
        KeyValueOptionKind::Multi(Vec::new())
    } else {
        KeyValueOptionKind::Multi(parser.parse_comma_separated(single)?)
    };
    parser.expect_token(&Token::RParen)?;
    Ok(value)
}

fn single(parser: &mut Parser<'_>) -> Result<ValueWithSpan, ParserError> {
    let next = parser.peek_token();
    let value = match &next.token {
        Token::SingleQuotedString(text) => Value::SingleQuotedString(text.clone()),
        Token::Number(digits, long) => Value::Number(digits.clone(), *long),
        Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::TRUE => Value::Boolean(true),
        Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::FALSE => Value::Boolean(false),
        Token::Word(_) => {
            let name = parser.parse_object_name(false)?;
            let parts = crate::ast::names::parts(&name).unwrap_or_default().into_iter();
            let parts = parts.map(|part| match part.quote_style {
                Some(_) => quote::name(&part.value),
                None => part.value.clone(),
            });
            let text = parts.collect::<Vec<_>>().join(".");
            return Ok(Value::SingleQuotedString(text).with_span(next.span));
        }
        _ => return parser.expected("a value", next),
    };
    parser.next_token();
    Ok(value.with_span(next.span))
}
