//! The words of a text, as far as this protocol needs them: where statements end, and whether one is a
//! command of the session (`command.rs`).
//!
//! Not the dialect's parser: what is not a session command goes to the pipeline as text, and is
//! parsed, judged and rewritten there. A text that cannot be read here is handed on whole.

/// A piece of a statement; white space and comments are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// Unquoted, in lower case.
    Word(String),
    /// `"…"`.
    Quoted(String),
    /// `'…'`, `E'…'`, `$tag$…$tag$`.
    Text(String),
    Number(String),
    Mark(char),
}

/// One statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LexedStatement<'a> {
    pub text: &'a str,
    /// Characters of the whole text before this one's.
    pub before: usize,
    pub tokens: Vec<Token>,
    /// Where each token starts in `text`.
    pub starts: Vec<usize>,
}

/// The statements of a text, cut at semicolons; empty ones are left out.
pub fn split(text: &str) -> Vec<LexedStatement<'_>> {
    let mut reader = Lexer { text, at: 0 };
    let mut pieces = Vec::new();
    let (mut start, mut tokens, mut starts) = (0, Vec::new(), Vec::new());
    loop {
        let token_start = reader.at.saturating_sub(start);
        let next = reader.next();
        let end = match &next {
            Next::Token(Token::Mark(';')) => reader.at - 1,
            Next::Token(_) | Next::Space => {
                if let Next::Token(token) = next {
                    tokens.push(token);
                    starts.push(token_start);
                }
                continue;
            }
            // Unreadable: the pipeline says what is wrong with it.
            Next::Broken => {
                tokens = vec![Token::Mark('\0')];
                starts = vec![0];
                text.len()
            }
            Next::End => text.len(),
        };
        if let (false, Some(piece)) = (tokens.is_empty(), text.get(start..end)) {
            let before = text.get(..start).map_or(0, |before| before.chars().count());
            let (tokens, starts) = (std::mem::take(&mut tokens), std::mem::take(&mut starts));
            pieces.push(LexedStatement { text: piece, before, tokens, starts });
        }
        if !matches!(next, Next::Token(_)) {
            return pieces;
        }
        start = reader.at;
    }
}

/// Does it begin as a statement that makes a temporary table?
pub fn makes_temporary(text: &str) -> bool {
    if !is_first_word(text, "create") {
        return false; // most are told from that, and are not read to their end here
    }
    let first = split(text).into_iter().next();
    let mut words = first.iter().flat_map(|piece| &piece.tokens).map_while(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        _ => None,
    });
    let is_between = |word: &&str| matches!(*word, "or" | "replace" | "local" | "global");
    words.next() == Some("create")
        && words.find(|word| !is_between(word)).is_some_and(|word| matches!(word, "temp" | "temporary"))
}

/// Whether the first statement of a text begins with this word.
fn is_first_word(text: &str, wanted: &str) -> bool {
    let mut reader = Lexer { text, at: 0 };
    loop {
        match reader.next() {
            Next::Space | Next::Token(Token::Mark(';')) => {}
            Next::Token(Token::Word(word)) => return word == wanted,
            Next::Token(_) | Next::Broken | Next::End => return false,
        }
    }
}

/// Is there nothing after the last semicolon but space and comments?
pub fn is_ended(text: &str) -> bool {
    let mut reader = Lexer { text, at: 0 };
    let mut ended = false;
    loop {
        match reader.next() {
            Next::Token(token) => ended = token == Token::Mark(';'),
            Next::Space => {}
            Next::Broken => return false,
            Next::End => return ended,
        }
    }
}

enum Next {
    Token(Token),
    Space,
    Broken,
    End,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn while_(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.find(|c: char| !fits(c)).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    fn next(&mut self) -> Next {
        let mut ahead = self.rest().chars();
        let Some(first) = ahead.next() else { return Next::End };
        let second = ahead.next();
        match (first, second) {
            (c, _) if c.is_whitespace() => {
                self.while_(char::is_whitespace);
                Next::Space
            }
            ('-', Some('-')) | ('/', Some('/')) | ('#', _) => {
                self.while_(|c| c != '\n');
                Next::Space
            }
            ('/', Some('*')) => self.comment(),
            ('\'', _) => self.quoted('\'', false, Token::Text),
            ('"', _) => self.quoted('"', false, Token::Quoted),
            ('e' | 'E', Some('\'')) => {
                self.at += 1;
                self.quoted('\'', true, Token::Text)
            }
            ('$', Some(c)) if c == '$' || c.is_alphabetic() || c == '_' => self.dollar(),
            (c, _) if c.is_ascii_digit() => {
                Next::Token(Token::Number(self.while_(|c| c.is_ascii_alphanumeric() || c == '.').to_owned()))
            }
            (c, _) if c.is_alphabetic() || c == '_' => {
                let word = self.while_(|c| c.is_alphanumeric() || c == '_' || c == '$');
                Next::Token(Token::Word(word.to_lowercase()))
            }
            (c, _) => {
                self.at += c.len_utf8();
                Next::Token(Token::Mark(c))
            }
        }
    }

    /// `/* … */`, which nests.
    fn comment(&mut self) -> Next {
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return Next::Space;
                }
            } else if let Some(c) = rest.chars().next() {
                self.at += c.len_utf8();
            } else {
                return Next::Broken;
            }
        }
    }

    /// Up to the closing quote; a doubled one stands for itself.
    fn quoted(&mut self, quote: char, escapes: bool, token: fn(String) -> Token) -> Next {
        let mut value = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote && chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                value.push(quote);
            } else if c == quote {
                self.at += at + 1;
                return Next::Token(token(value));
            } else if escapes && c == '\\' {
                match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, other)) => value.push(other),
                    None => return Next::Broken,
                }
            } else {
                value.push(c);
            }
        }
        Next::Broken
    }

    /// `$tag$ … $tag$`; a `$` that opens nothing is a mark.
    fn dollar(&mut self) -> Next {
        let rest = self.rest();
        let tag: String = rest.chars().skip(1).take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let fence = format!("${tag}$");
        let Some(body) = rest.strip_prefix(fence.as_str()) else {
            self.at += 1;
            return Next::Token(Token::Mark('$'));
        };
        let Some(length) = body.find(fence.as_str()) else { return Next::Broken };
        let value = body.get(..length).unwrap_or_default().to_owned();
        self.at += length + 2 * fence.len();
        Next::Token(Token::Text(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|piece| piece.text.trim()).collect()
    }

    #[test]
    fn statements_end_at_semicolons_that_are_not_quoted() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" ;; -- nothing\n;/* ; */", &[]),
            ("select 1", &["select 1"]),
            ("select ';'; select \";\";", &["select ';'", "select \";\""]),
            ("select 'it''s; one'", &["select 'it''s; one'"]),
            (r"select 'a\'; select 2", &[r"select 'a\'", "select 2"]),
            (r"select E'a\'; b'; select 2", &[r"select E'a\'; b'", "select 2"]),
            ("select $q$ ; $q$; select $1", &["select $q$ ; $q$", "select $1"]),
            ("select 1 -- a;\n; select 2", &["select 1 -- a;", "select 2"]),
            ("select /* a /* ; */ ; */ 1; x", &["select /* a /* ; */ ; */ 1", "x"]),
            ("select 1; select 'never ends", &["select 1", "select 'never ends"]),
        ];
        for (text, expected) in cases {
            assert_eq!(texts(text), *expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_ended_by_its_last_semicolon() {
        for (text, ended) in [("", false), ("select 1", false), ("a; -- b", true), ("a; b", false), ("'a;", false)] {
            assert_eq!(is_ended(text), ended, "{text}");
        }
    }

    #[test]
    fn a_temporary_table_is_told_from_the_first_words() {
        for text in ["create temp table t (a int)", " ;; /* x */ CREATE OR REPLACE local Temporary TABLE t as select 1"]
        {
            assert!(makes_temporary(text), "{text}");
        }
        for text in
            ["", ";", "create table temp (a int)", "select 1; create temp table t (a int)", "'", "create temp '"]
        {
            assert!(!makes_temporary(text), "{text}");
        }
    }

    #[test]
    fn a_piece_knows_the_characters_before_it() {
        let pieces = split("select 'ä'; select 2");
        assert_eq!(pieces.iter().map(|piece| piece.before).collect::<Vec<_>>(), [0, 11]);
    }

    #[test]
    fn tokens_have_their_values() {
        let tokens = split(r#"SET "My.Var" = E'a\'b', 1.5"#).remove(0).tokens;
        let expected = [
            Token::Word("set".to_owned()),
            Token::Quoted("My.Var".to_owned()),
            Token::Mark('='),
            Token::Text("a'b".to_owned()),
            Token::Mark(','),
            Token::Number("1.5".to_owned()),
        ];
        assert_eq!(tokens, expected);
    }
}
