//! `LIKE 'a\\_b'` without ESCAPE: behind the warehouse's strings, a backslash takes the meaning from a wildcard.

use std::collections::BTreeSet;

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The clause that says so in a text of standard strings.
pub(super) const CLAUSE: &str = r" ESCAPE '\'";

/// The places of what is the whole pattern of a LIKE without ESCAPE. SHOW has patterns of its own.
pub(super) fn patterns(tokens: &[TokenWithSpan]) -> BTreeSet<usize> {
    let read = tokens.iter().enumerate().map(|(at, found)| (at, &found.token));
    let read: Vec<_> = read.filter(|(_, token)| !matches!(token, Token::Whitespace(_))).collect();
    let (mut found, mut begins, mut lists) = (BTreeSet::new(), true, false);
    for (place, (_, token)) in read.iter().enumerate() {
        if begins {
            lists = is_word(token, &["SHOW"]);
        }
        begins = matches!(token, Token::SemiColon);
        if !lists
            && is_word(token, &["LIKE", "ILIKE"])
            && let Some((pattern, _)) = read.get(place + 1)
            && ends(read.get(place + 2).map(|(_, behind)| *behind))
        {
            found.insert(*pattern);
        }
    }
    found
}

/// Whether a pattern ends in front of it, and no ESCAPE follows.
fn ends(behind: Option<&Token>) -> bool {
    match behind {
        None | Some(Token::EOF | Token::Comma | Token::RParen | Token::SemiColon) => true,
        Some(word @ Token::Word(_)) => !is_word(word, &["ESCAPE", "COLLATE"]),
        Some(_) => false,
    }
}

fn is_word(token: &Token, words: &[&str]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none()
        && words.iter().any(|known| word.value.eq_ignore_ascii_case(known)))
}

/// Whether a pattern escapes a wildcard, and nothing but wildcards and backslashes.
pub(super) fn are_escaped(pattern: &str) -> bool {
    let (mut signs, mut found) = (pattern.chars(), false);
    while let Some(sign) = signs.next() {
        if sign == '\\' {
            match signs.next() {
                Some('%' | '_') => found = true,
                Some('\\') => {}
                _ => return false,
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::standard;

    #[test]
    fn a_wildcard_behind_a_backslash_is_itself_in_a_pattern() {
        for (written, meant) in [
            (r"a like 'a\\_b'", r"a like 'a\_b' ESCAPE '\'"),
            (r"a not ILIKE 'a\\%\\\\'and b", r"a not ILIKE 'a\%\\' ESCAPE '\'and b"),
            (r"(a like N'\\_', 'b\\_')", r"(a like N'\_' ESCAPE '\', 'b\_')"),
            (r"a like 'a\\_b' escape '\\'", r"a like 'a\_b' escape '\'"),
            (r"a like 'a\\_b' /* */ ESCAPE '^'", r"a like 'a\_b' /* */ ESCAPE '^'"),
            (r"a like 'a\\_b' || c", r"a like 'a\_b' || c"),
            (r"a like '\\d\\_', a like 'a\\', a = 'a\\_'", r"a like '\d\_', a like 'a\', a = 'a\_'"),
            (r"set v = 1; show tables like 'a\\_b'", r"set v = 1; show tables like 'a\_b'"),
            (r"show tables; select a like 'a\\_b'", r"show tables; select a like 'a\_b' ESCAPE '\'"),
        ] {
            assert_eq!(standard(written).unwrap(), meant, "{written}");
        }
    }
}
