//! A text in one form of its letters (NFKC), and taken apart: words, and runs of scripts that write no blanks.

use std::borrow::Cow;

use sql::syntax::script::is_unspaced;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What is left of a word behind its apostrophe, as in `it's` and `we'll`.
const CONTRACTED: [&str; 7] = ["s", "t", "re", "ve", "ll", "d", "m"];
/// Of a word with a sign, as `C++` and `F#` are.
const SIGNED_CHARS_MAX: usize = 2;
const SIGN_CHARS_MAX: usize = 2;
/// It parts words of scripts without blanks.
const ZERO_WIDTH_SPACE: char = '\u{200B}';

/// A part of a text that search looks at.
#[derive(Debug, Clone, Copy)]
pub enum TextPiece<'a> {
    Word(Word<'a>),
    /// Characters of scripts that write no blanks between their words.
    Run(&'a str),
}

/// A word between blanks and marks, as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    pub text: &'a str,
    /// `++` of `C++`; behind most words there is none.
    pub sign: &'a str,
    /// The text up to it.
    before: &'a str,
}

impl Word<'_> {
    /// The end of the word before it.
    pub fn is_contracted(&self) -> bool {
        let mut before = self.before.chars().rev();
        CONTRACTED.iter().any(|end| self.text.eq_ignore_ascii_case(end))
            && before.next().is_some_and(|c| matches!(c, '\'' | '’'))
            && before.next().is_some_and(char::is_alphanumeric)
    }

    /// Is it one by its capitals: `IT`, `US`, and the `A` of `plan A`?
    pub fn is_name(&self) -> bool {
        let is_within = || self.before.trim_end().ends_with(char::is_alphanumeric);
        let is_long = self.text.chars().nth(1).is_some();
        self.text.chars().all(char::is_uppercase) && (is_long || (self.text == "A" && is_within()))
    }
}

/// The text with one form for each letter: without what is not seen, full width and ligatures made plain.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let seen = text.chars().filter(|c| !is_unseen(*c)).map(|c| if c == ZERO_WIDTH_SPACE { ' ' } else { c });
    Cow::Owned(seen.nfkc().collect())
}

/// The pieces of a plain text, in order.
pub fn pieces(text: &str) -> impl Iterator<Item = TextPiece<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (_, rest) = text.split_at_checked(from)?;
        let (before, rest) = text.split_at_checked(from + rest.find(char::is_alphanumeric)?)?;
        let is_run = rest.starts_with(is_unspaced);
        let is_part = |c: char| is_combining_mark(c) || (c.is_alphanumeric() && is_unspaced(c) == is_run);
        let (own, after) = rest.split_at(rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()));
        from = before.len() + own.len();
        Some(if is_run {
            TextPiece::Run(own)
        } else {
            TextPiece::Word(Word { text: own, sign: sign(own, after), before })
        })
    })
}

/// The sign that belongs to a short word: `c++`, but neither `a+b` nor `issue#5`.
fn sign<'a>(word: &str, after: &'a str) -> &'a str {
    let (sign, next) = after.split_at(after.find(|c: char| c != '+' && c != '#').unwrap_or(after.len()));
    let is_short = word.chars().all(char::is_alphabetic) && word.chars().nth(SIGNED_CHARS_MAX).is_none();
    let ends = sign.len() <= SIGN_CHARS_MAX && !next.starts_with(char::is_alphanumeric);
    if is_short && ends { sign } else { "" }
}

/// Characters that say how others are shown.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' // a hyphen where a line may break
            | '\u{200C}'..='\u{200F}' // joiners, directions
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2069}'
            | '\u{FE00}'..='\u{FE0F}' // variants of a shape
            | '\u{E0100}'..='\u{E01EF}'
            | '\u{FEFF}'
    )
}
