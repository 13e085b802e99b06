//! The warehouse's date formats (`YYYY-MM-DD HH24:MI:SS`) to the engine's (`%Y-%m-%d %H:%M:%S`).
//!
//! Compiled while rewriting: the engine takes a constant format only. An element neither knows, and a
//! letter that is none, is refused by name.

use crate::ast::error::Error;

/// Which way the format is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatDirection {
    /// Text to a date.
    Read,
    /// A date to text.
    Write,
}

/// Longest first, so that `YYYY` is not two `YY`.
const ELEMENTS: [(&str, &str); 30] = [
    ("TZH:TZM", "%z"),
    ("TZHTZM", "%z"),
    ("YYYY", "%Y"),
    ("MMMM", "%B"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("MON", "%b"),
    ("TZH", "%z"),
    ("TZM", "00"),
    ("FF0", ""),
    ("FF3", "%g"),
    ("FF6", "%f"),
    ("FF9", "%n"),
    ("YY", "%y"),
    ("MM", "%m"),
    ("DD", "%d"),
    ("DY", "%a"),
    ("HH", "%H"),
    ("AM", "%p"),
    ("PM", "%p"),
    ("MI", "%M"),
    ("SS", "%S"),
    ("FF", "%f"),
    ("UUUU", "%Y"),
    ("FF1", "?"),
    ("FF2", "?"),
    ("FF4", "?"),
    ("FF5", "?"),
    ("FF7", "?"),
    ("FF8", "?"),
];

/// The engine's format; `AUTO` has none, the caller casts.
pub(super) fn compile(format: &str, way: FormatDirection) -> Result<String, Error> {
    let mut rest = format;
    let mut out = String::with_capacity(format.len() * 2);
    while let Some(first) = rest.chars().next() {
        if let Some((element, directive)) = element(rest) {
            out.push_str(directed(element, directive, way)?);
            rest = rest.get(element.len()..).unwrap_or_default();
        } else if first == '"' {
            rest = quoted(rest, format, &mut out)?;
        } else {
            literal(first, rest, &mut out)?;
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Ok(out)
}

/// The format without the offset that it ends in.
pub(super) fn without_offset(format: &str) -> Option<&str> {
    let upper = format.to_ascii_uppercase();
    let end = ["TZH:TZM", "TZHTZM", "TZH"].iter().find(|end| upper.ends_with(**end))?;
    format.get(..format.len() - end.len()).map(str::trim_end)
}

/// Whether an offset stands anywhere in it.
pub(super) fn has_offset(format: &str) -> bool {
    format.to_ascii_uppercase().contains("TZH")
}

/// The format around its first fraction of 1, 2, 4, 5, 7 or 8 digits, outside of quotes.
pub(super) fn fraction(format: &str) -> Option<(&str, i64, &str)> {
    let mut rest = format;
    let mut is_quoted = false;
    while let Some(first) = rest.chars().next() {
        let element = if is_quoted { None } else { element(rest) };
        let length = element.map_or(first.len_utf8(), |(element, _)| element.len());
        let after = rest.get(length..)?;
        if let Some((element, "?")) = element {
            let digits = element.get(2..)?.parse().ok()?;
            return Some((format.get(..format.len() - rest.len())?, digits, after));
        }
        is_quoted ^= first == '"';
        rest = after;
    }
    None
}

fn element(rest: &str) -> Option<(&'static str, &'static str)> {
    ELEMENTS
        .iter()
        .filter(|(element, _)| rest.get(..element.len()).is_some_and(|head| head.eq_ignore_ascii_case(element)))
        .max_by_key(|(element, _)| element.len())
        .copied()
}

/// Reading takes any number of fractional digits; writing has no directive for some counts.
fn directed(element: &str, directive: &'static str, way: FormatDirection) -> Result<&'static str, Error> {
    match (element, way) {
        // the engine's day begins at midnight UTC, and so does the text of what has an offset
        ("TZH:TZM", FormatDirection::Write) => Ok("+00:00"),
        ("TZHTZM", FormatDirection::Write) => Ok("+0000"),
        ("TZH", FormatDirection::Write) => Ok("+00"),
        ("FF9", FormatDirection::Read) | ("FF", FormatDirection::Write) => Ok("%n"),
        (fraction, FormatDirection::Read) if fraction.starts_with("FF") => Ok("%f"),
        ("TZM", FormatDirection::Read) => Err(Error::unsupported("the format element TZM without TZH")),
        _ if directive == "?" => Err(Error::unsupported(format!("the format element {element}"))),
        _ => Ok(directive),
    }
}

/// `"text"` stands for itself.
fn quoted<'a>(rest: &'a str, format: &str, out: &mut String) -> Result<&'a str, Error> {
    let inner = rest.strip_prefix('"').unwrap_or(rest);
    let (text, after) = inner
        .split_once('"')
        .ok_or_else(|| Error::unsupported(format!("the format {format}, whose quote is not closed,")))?;
    text.chars().for_each(|c| escaped(c, out));
    Ok(after)
}

/// Punctuation, digits and the `T` and `Z` of ISO 8601 stand for themselves.
fn literal(c: char, rest: &str, out: &mut String) -> Result<(), Error> {
    if c.is_alphabetic() && !matches!(c, 'T' | 'Z') {
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        return Err(Error::unsupported(format!("the format element {word}")));
    }
    escaped(c, out);
    Ok(())
}

fn escaped(c: char, out: &mut String) {
    if c == '%' {
        out.push('%');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_directives() {
        let cases = [
            ("YYYY-MM-DD", "%Y-%m-%d"),
            ("DD-MON-YYYY", "%d-%b-%Y"),
            ("yyyy/mm/dd hh24:mi:ss.ff3", "%Y/%m/%d %H:%M:%S.%g"),
            ("HH12:MI AM", "%I:%M %p"),
            ("YYYY-MM-DDTHH24:MI:SSZ", "%Y-%m-%dT%H:%M:%SZ"),
            ("\"week of\" DY 100%", "week of %a 100%%"),
            ("MMMM DD, YY", "%B %d, %y"),
        ];
        for (format, expected) in cases {
            assert_eq!(compile(format, FormatDirection::Write).as_deref(), Ok(expected), "{format}");
        }
    }

    #[test]
    fn reading_takes_any_number_of_fractional_digits() {
        assert_eq!(compile("SS.FF3", FormatDirection::Read).as_deref(), Ok("%S.%f"));
        assert_eq!(compile("SS.FF9", FormatDirection::Read).as_deref(), Ok("%S.%n"));
    }

    #[test]
    fn an_unknown_element_is_refused_by_its_name() {
        for (format, named) in [("YYYY Q", "Q"), ("WW", "WW"), ("\"open", "\"open")] {
            let message = compile(format, FormatDirection::Write).map_err(|e| e.message).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }
}
