//! A text whose strings have the warehouse's escapes, as one whose strings have none: `'it\'s'` is `'it''s'`.
//!
//! A session asks for it (`SET standard_conforming_strings = off`). What is handed on is read as any other text, so
//! there is one way to read a string behind this. `E'…'` and `$$…$$` mean what they always mean.

mod wildcards;

use std::str::Chars;

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::{ESCAPING, TEXT_BYTES_MAX, places};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::quote;

/// The same text with standard strings. What the warehouse does not document of an escape is refused.
pub fn standard(text: &str) -> Result<String, Error> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::new(ErrorKind::TooLarge, "a statement may be 1 MB long"));
    }
    let tokens = Tokenizer::new(&ESCAPING, text).with_unescape(false).tokenize_with_location();
    let tokens = tokens.map_err(|e| Error::syntax(e.message).at(e.location).within(text))?;
    let patterns = wildcards::patterns(&tokens);
    let strings = tokens.iter().enumerate().filter_map(|(at, found)| Some((at, found, raw(found)?)));
    let strings: Vec<_> = strings.collect();
    let spans: Vec<_> = strings.iter().map(|(_, found, _)| found.span).collect();
    let places = places::bytes(text, &spans).ok_or_else(|| Error::syntax("a string that ends nowhere"))?;
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for ((at, found, raw), place) in strings.into_iter().zip(places) {
        let meant = meant(raw).map_err(|error| error.at(found.span.start).within(text))?;
        out.push_str(text.get(from..place.start).unwrap_or_default());
        // the letter of N'…'
        out.extend(text.get(place.clone()).unwrap_or_default().chars().take_while(|c| *c != '\''));
        out.push_str(&quote::text(&meant));
        if patterns.contains(&at) && wildcards::are_escaped(&meant) {
            out.push_str(wildcards::CLAUSE);
        }
        from = place.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Ok(out)
}

/// A string with a backslash, as it is spelled between its quotes.
fn raw(found: &TokenWithSpan) -> Option<&str> {
    match &found.token {
        Token::SingleQuotedString(raw) | Token::NationalStringLiteral(raw) if raw.contains('\\') => Some(raw),
        _ => None,
    }
}

/// What it means.
fn meant(raw: &str) -> Result<String, Error> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(c) = rest.next() {
        match c {
            // a doubled quote
            '\'' => {
                rest.next();
                out.push('\'');
            }
            '\\' => out.push(escaped(&mut rest)?),
            other => out.push(other),
        }
    }
    Ok(out)
}

/// The character behind a backslash; one that is no escape stands for itself.
fn escaped(rest: &mut Chars<'_>) -> Result<char, Error> {
    let is_octal = |text: &&str| text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    if let Some(octal) = rest.as_str().get(..3).filter(is_octal) {
        *rest = rest.as_str().get(3..).unwrap_or_default().chars();
        return ascii(octal, 8);
    }
    match rest.next() {
        Some('b') => Ok('\u{8}'),
        Some('f') => Ok('\u{c}'),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('t') => Ok('\t'),
        Some('0') => Err(Error::syntax("a string may not hold a zero character")),
        Some('x') => ascii(&digits(rest, 2), 16),
        Some('u') => unicode(&digits(rest, 4)),
        Some(other) => Ok(other),
        None => Err(Error::syntax("a string that ends in a backslash")),
    }
}

fn digits(rest: &mut Chars<'_>, count: usize) -> String {
    let found: String = rest.as_str().chars().take(count).take_while(char::is_ascii_hexdigit).collect();
    *rest = rest.as_str().get(found.len()..).unwrap_or_default().chars();
    found
}

/// A character of ASCII by its number.
fn ascii(digits: &str, radix: u32) -> Result<char, Error> {
    let number = u8::from_str_radix(digits, radix).ok().filter(|number| digits.len() > 1 && (1..128).contains(number));
    number.map(char::from).ok_or_else(|| Error::syntax("an escape in a string that is no character of ASCII"))
}

fn unicode(digits: &str) -> Result<char, Error> {
    let number = u32::from_str_radix(digits, 16).ok().filter(|number| digits.len() == 4 && *number > 0);
    let found = number.and_then(char::from_u32);
    found.ok_or_else(|| Error::syntax("\\u in a string without the four digits of a character"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{STANDARD, tokens};
    use super::*;

    #[test]
    fn escapes_become_what_they_mean() {
        for (written, standard) in [
            (r"select 'it\'s', 'a\\b', 'x'", r"select 'it''s', 'a\b', 'x'"),
            (r"select 'a''b\\'''", r"select 'a''b\'''"),
            (r"'\b\f\n\r\t'", "'\u{8}\u{c}\n\r\t'"),
            (r#"'\"', "\", 'x\%'"#, r#"'"', "\", 'x%'"#),
            (r"'\101\x41\u0041\u26c4'", "'AAA\u{26c4}'"),
            (r"'\18', '\z'", "'18', 'z'"),
            (r"N'\\d', e'\\d\'', E'\n'", r"N'\d', e'\\d\'', E'\n'"),
            (r"$$\d'$$, $a$'\'$a$, '\\'", r"$$\d'$$, $a$'\'$a$, '\'"),
            (
                "-- it's \\\n'\\\\d' // it's \\'\n /* '\\' */ # it's\n, '\\''",
                "-- it's \\\n'\\d' // it's \\'\n /* '\\' */ # it's\n, ''''",
            ),
            (r"select 'ä\\', 'ö\'' from ü", r"select 'ä\', 'ö''' from ü"),
        ] {
            assert_eq!(super::standard(written).unwrap(), standard, "{written}");
        }
    }

    #[test]
    fn what_is_no_character_is_refused() {
        for written in [
            r"'a\'",
            r"'\0'",
            r"'\000'",
            r"'\x4'",
            r"'\xg0'",
            r"'\x80'",
            r"'\377'",
            r"'\u12'",
            r"'\ud800'",
            r"'\u0000'",
        ] {
            assert!(super::standard(written).is_err(), "{written}: {:?}", super::standard(written));
        }
    }

    fn without_strings(tokens: Vec<TokenWithSpan>) -> Vec<Token> {
        let all = tokens.into_iter().map(|found| match found.token {
            Token::SingleQuotedString(_) => Token::SingleQuotedString(String::new()),
            Token::NationalStringLiteral(_) => Token::NationalStringLiteral(String::new()),
            other => other,
        });
        all.collect()
    }

    proptest! {
        /// A driver that is told of it doubles backslashes and quotes: what it quotes is one string, of these characters.
        #[test]
        fn what_a_driver_quotes_is_one_string(text in "[^\0]{0,20}") {
            let quoted = text.replace('\\', "\\\\").replace('\'', "''");
            let found = tokens(&super::standard(&format!("'{quoted}'")).unwrap()).unwrap();
            let found: Vec<_> = found.into_iter().map(|found| found.token).collect();
            prop_assert_eq!(found, vec![Token::SingleQuotedString(text)]);
        }

        /// Whatever is written, behind it are as many tokens, and all but strings are what they were.
        #[test]
        fn no_string_ends_elsewhere(text in "(select|'|\\\\|\\\\'|''|\"|\\$\\$|--|\n|/\\*|\\*/| |e'|N'|x|;|1|#|//){0,16}") {
            let Ok(standard) = super::standard(&text) else { return Ok(()) };
            let Ok(escaping) = Tokenizer::new(&ESCAPING, &text).tokenize_with_location() else { return Ok(()) };
            let after = Tokenizer::new(&STANDARD, &standard).tokenize_with_location();
            prop_assert_eq!(without_strings(after.unwrap()), without_strings(escaping), "{} {}", text, standard);
        }
    }
}
