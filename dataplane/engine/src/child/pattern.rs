//! `system.main.sluice_like(VARCHAR, VARCHAR, VARCHAR) -> BOOLEAN`: a text, a pattern, the sign before what is meant
//! as it stands (or an empty text).
//!
//! The engine's own LIKE tries every place for every `%`, and hears no interrupt meanwhile: a text of a hundred letters
//! and a pattern of ten signs take it longer than anybody lives. This goes back to the last `%` alone, which is enough.

use crate::error::Error;
use crate::ffi::Connection;

const ANY: u8 = b'%';
const ONE: u8 = b'_';
const NO_END: &str = "a pattern of LIKE must not end with the sign of its escape";
const NO_SIGN: &str = "the escape of LIKE must be one character, of ASCII, or none";

/// Registers it for every connection of the database.
pub fn register(connection: &Connection) -> Result<(), Error> {
    connection.register_predicate("sluice_like", matches)
}

/// Whether a text is like a pattern.
fn matches(text: &str, pattern: &str, escape: &str) -> Result<bool, &'static str> {
    let escape = match escape.as_bytes() {
        [] => None,
        [sign] => Some(*sign),
        _ => return Err(NO_SIGN),
    };
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut asked) = (0, 0);
    // behind the last `%`, and where what it stands for ends
    let mut last: Option<(usize, usize)> = None;
    while let Some(letter) = text.get(at) {
        if pattern.get(asked) == Some(&ANY) && escape != Some(ANY) {
            asked += 1;
            last = Some((asked, at));
        } else if let Some(signs) = fitting(*letter, pattern.get(asked..).unwrap_or_default(), escape)? {
            at = if signs.is_one { next(text, at) } else { at + 1 };
            asked += signs.count;
        } else if let Some((behind, end)) = last {
            let end = next(text, end);
            last = Some((behind, end));
            (at, asked) = (end, behind);
        } else {
            return Ok(false);
        }
    }
    let mut rest = pattern.iter().skip(asked).skip_while(|sign| **sign == ANY && escape != Some(ANY));
    match (rest.next(), rest.next()) {
        (None, _) => Ok(true),
        (Some(sign), None) if Some(*sign) == escape => Err(NO_END),
        _ => Ok(false),
    }
}

/// Signs that stand for what is there.
struct Signs {
    count: usize,
    /// It stands for a whole character.
    is_one: bool,
}

/// The first of these signs, if they are for this byte: one, or the escape and what it escapes.
fn fitting(letter: u8, pattern: &[u8], escape: Option<u8>) -> Result<Option<Signs>, &'static str> {
    let Some((sign, rest)) = pattern.split_first() else { return Ok(None) };
    if Some(*sign) == escape {
        let meant = rest.first().ok_or(NO_END)?;
        return Ok((*meant == letter).then_some(Signs { count: 2, is_one: false }));
    }
    let is_one = *sign == ONE;
    Ok((is_one || *sign == letter).then_some(Signs { count: 1, is_one }))
}

/// Where the next character begins.
fn next(text: &[u8], at: usize) -> usize {
    let is_within = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let rest = text.get(at + 1..).unwrap_or_default();
    at + 1 + rest.iter().take_while(|byte| is_within(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_stands_for_one_character_or_any_number_of_them() {
        let like = ["", "%", "abc", "a_c", "%c", "a%", "%b%", "___", "%a%b%c%", "%%", "a%%c", "_%_", "%_c"];
        for pattern in like {
            let is_of_empty = pattern.bytes().all(|sign| sign == ANY);
            assert_eq!(matches("abc", pattern, ""), Ok(!pattern.is_empty()), "{pattern}");
            assert_eq!(matches("", pattern, ""), Ok(is_of_empty), "{pattern}");
        }
        for pattern in ["ab", "b%", "%b", "____", "a_", "%a%c%b%", "A%", "_", "%d%"] {
            assert_eq!(matches("abc", pattern, ""), Ok(false), "{pattern}");
        }
        assert_eq!(matches("aXbXbX", "a%bX", ""), Ok(true), "the last place counts too");
    }

    #[test]
    fn a_character_may_have_several_bytes() {
        assert_eq!(matches("zürich", "z_rich", ""), Ok(true));
        assert_eq!(matches("zürich", "%_____", ""), Ok(true));
        assert_eq!(matches("zürich", "%_______", ""), Ok(false));
        assert_eq!(matches("日本", "__", ""), Ok(true));
        assert_eq!(matches("日本", "%本", ""), Ok(true));
    }

    #[test]
    fn what_is_escaped_stands_for_itself() {
        assert_eq!(matches("100%", r"100\%", r"\"), Ok(true));
        assert_eq!(matches("1000", r"100\%", r"\"), Ok(false));
        assert_eq!(matches(r"a\b", r"a\\b", r"\"), Ok(true));
        assert_eq!(matches("a%%b", "%!%!%_", "!"), Ok(true));
        assert_eq!(matches("a_", "%!_", "!"), Ok(true));
        assert_eq!(matches("a%b", "a%%b", "%"), Ok(true));
        assert_eq!(matches("axb", "a%%b", "%"), Ok(false));
        assert_eq!(matches(r"a\", r"%\", r"\"), Err(NO_END));
        assert_eq!(matches("a", r"a\", r"\"), Err(NO_END));
        assert_eq!(matches("a", "a", "ab"), Err(NO_SIGN));
    }

    #[test]
    fn a_pattern_of_many_signs_takes_no_longer_than_text_and_pattern_are_long() {
        let (text, pattern) = ("a".repeat(10_000), "%a_".repeat(100) + "b");
        assert_eq!(matches(&text, &pattern, ""), Ok(false));
    }
}
