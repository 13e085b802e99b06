//! The pieces of a text of a date or a time.

/// A piece, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateToken<'a> {
    Word(&'a str),
    /// With a fraction, if it is a time without colons.
    Number(&'a str),
    /// Fields between `-`, `/` or `.`; a zone's name looks like one too.
    Date(&'a str),
    Time(&'a str),
    /// With its sign.
    Offset(&'a str),
}

/// All of them; nothing for a text that has something else in it.
pub(super) fn tokens(text: &str) -> Option<Vec<DateToken<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '0'..='9' => number(rest)?,
            'a'..='z' => word(rest)?,
            '+' | '-' => {
                let digits = length(rest.get(1..)?, |c| c.is_ascii_digit() || c == ':');
                if digits == 0 {
                    return None;
                }
                let offset = rest.get(..digits + 1)?;
                // in front of all there is none to be an offset of
                let known = tokens.last().is_some();
                known.then_some((DateToken::Offset(offset), offset.len()))?
            }
            ',' | ';' | '(' | ')' => {
                rest = rest.get(1..)?.trim_start();
                continue;
            }
            _ => return None,
        };
        tokens.push(taken.0);
        rest = rest.get(taken.1..)?.trim_start();
    }
    Some(tokens)
}

fn length(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

fn number(text: &str) -> Option<(DateToken<'_>, usize)> {
    let digits = length(text, |c| c.is_ascii_digit());
    let behind = text.get(digits..)?;
    let next = behind.chars().next();
    if next == Some(':') {
        let end = length(text, |c| c.is_ascii_digit() || matches!(c, ':' | '.'));
        return Some((DateToken::Time(text.get(..end)?), end));
    }
    let field = |from: &str| length(from.get(1..).unwrap_or_default(), |c| c.is_ascii_alphanumeric());
    if matches!(next, Some('-' | '/' | '.')) {
        let separator = next?;
        let first = field(behind);
        let second = behind.get(first + 1..)?;
        if first > 0 && second.starts_with(separator) && field(second) > 0 {
            // a `t` between a date and a time is none of the date's
            let last = length(second.get(1..)?, |c| c.is_ascii_digit());
            let last = if last > 0 { last } else { field(second) };
            let end = digits + 1 + first + 1 + last;
            return Some((DateToken::Date(text.get(..end)?), end));
        }
        let is_plain = behind.get(1..=first)?.bytes().all(|byte| byte.is_ascii_digit());
        if separator == '.' && is_plain && digits == 6 {
            let end = digits + 1 + first;
            return Some((DateToken::Number(text.get(..end)?), end));
        }
        if first > 0 && (separator != '-' || !is_plain || digits >= 4 && first == 3) {
            let end = digits + 1 + first;
            return Some((DateToken::Date(text.get(..end)?), end));
        }
    }
    Some((DateToken::Number(text.get(..digits)?), digits))
}

fn word(text: &str) -> Option<(DateToken<'_>, usize)> {
    let letters = length(text, |c| c.is_ascii_lowercase());
    let behind = text.get(letters..)?;
    let is_zone = behind.starts_with(['/', '_']);
    let is_date = behind.starts_with(['-', '.', '/']) && behind.get(1..2)?.bytes().all(|byte| byte.is_ascii_digit());
    if is_zone || is_date {
        let end = length(text, |c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '+'));
        return Some((DateToken::Date(text.get(..end)?), end));
    }
    // `est5edt`
    let end = length(text, |c| c.is_ascii_alphanumeric());
    let whole = text.get(..end)?;
    let is_zone = end > letters && letters >= 3 && whole.ends_with(|c: char| c.is_ascii_lowercase());
    let end = if is_zone { end } else { letters };
    Some((DateToken::Word(text.get(..end)?), end))
}
