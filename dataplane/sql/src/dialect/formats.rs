//! The warehouse's date formats (`YYYY-MM-DD HH24:MI:SS`) to the engine's (`%Y-%m-%d %H:%M:%S`).
//!
//! Compiled while rewriting: the engine takes a constant format only. An element neither knows, and a
//! letter that is none, is refused by name.

use std::borrow::Cow;

use crate::ast::error::Error;

/// Which way the format is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatDirection {
    /// Text to a date.
    Read,
    /// A date to text, at a place that is so many minutes ahead of UTC.
    Write(i32),
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
    ("TZM", "%z"),
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
            out.push_str(&directed(element, directive, way)?);
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

/// Whether it ends in an offset behind a time of day with colons, as ISO 8601 has them.
pub(super) fn ends_in_offset_of_clock(format: &str) -> bool {
    without_offset(format).is_some_and(|before| {
        let before = before.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_uppercase();
        let before = before.strip_suffix(".FF").unwrap_or(&before);
        !has_offset(before) && (before.ends_with(":MI") || before.ends_with(":SS"))
    })
}

/// Whether an offset stands anywhere in it.
pub(super) fn has_offset(format: &str) -> bool {
    format.to_ascii_uppercase().contains("TZH")
}

/// The format around its first fraction of 1, 2, 4, 5, 7 or 8 digits, outside of quotes.
pub(super) fn fraction(format: &str) -> Option<(&str, i64, &str)> {
    let (before, fraction, after) = around(format, |_, directive| directive == "?")?;
    Some((before, fraction.get(2..)?.parse().ok()?, after))
}

/// The format around its first offset, outside of quotes, and the engine's format of that without its sign.
pub(super) fn around_offset(format: &str) -> Result<Option<(&str, &'static str, &str)>, Error> {
    let Some((before, element, after)) = around(format, |element, _| element.starts_with("TZ")) else {
        return Ok(None);
    };
    match element {
        "TZH:TZM" => Ok(Some((before, "%H:%M", after))),
        "TZHTZM" => Ok(Some((before, "%H%M", after))),
        "TZH" => Ok(Some((before, "%H", after))),
        _ => Err(Error::unsupported("the format element TZM without TZH")),
    }
}

/// The format around its first element of a kind, outside of quotes.
fn around(format: &str, is_it: fn(&str, &str) -> bool) -> Option<(&str, &'static str, &str)> {
    let mut rest = format;
    let mut is_quoted = false;
    while let Some(first) = rest.chars().next() {
        let element = if is_quoted { None } else { element(rest) };
        let length = element.map_or(first.len_utf8(), |(element, _)| element.len());
        let after = rest.get(length..)?;
        if let Some((element, directive)) = element
            && is_it(element, directive)
        {
            return Some((format.get(..format.len() - rest.len())?, element, after));
        }
        is_quoted ^= first == '"';
        rest = after;
    }
    None
}

/// `+0900` of so many minutes, with this between hours and minutes.
pub(super) fn offset(minutes: i32, between: &str) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let ahead = minutes.unsigned_abs();
    format!("{sign}{:02}{between}{:02}", ahead / 60, ahead % 60)
}

fn element(rest: &str) -> Option<(&'static str, &'static str)> {
    ELEMENTS
        .iter()
        .filter(|(element, _)| rest.get(..element.len()).is_some_and(|head| head.eq_ignore_ascii_case(element)))
        .max_by_key(|(element, _)| element.len())
        .copied()
}

/// Reading takes any number of fractional digits; writing has no directive for some counts.
fn directed(element: &str, directive: &'static str, way: FormatDirection) -> Result<Cow<'static, str>, Error> {
    let directive = match (element, way) {
        // the engine has no offset: the text of it is written out
        ("TZH:TZM", FormatDirection::Write(minutes)) => return Ok(offset(minutes, ":").into()),
        ("TZHTZM", FormatDirection::Write(minutes)) => return Ok(offset(minutes, "").into()),
        ("TZH", FormatDirection::Write(minutes)) => return Ok(offset(minutes, "").chars().take(3).collect()),
        ("TZM", FormatDirection::Write(minutes)) => return Ok(format!("{:02}", minutes.unsigned_abs() % 60).into()),
        ("TZM", FormatDirection::Read) => return Err(Error::unsupported("the format element TZM without TZH")),
        ("FF9", FormatDirection::Read) | ("FF", FormatDirection::Write(_)) => "%n",
        (fraction, FormatDirection::Read) if fraction.starts_with("FF") => "%f",
        _ if directive == "?" => return Err(Error::unsupported(format!("the format element {element}"))),
        _ => directive,
    };
    Ok(directive.into())
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
            assert_eq!(compile(format, FormatDirection::Write(0)).as_deref(), Ok(expected), "{format}");
        }
    }

    #[test]
    fn an_offset_is_written_out() {
        let cases = [(540, "+09:00 +0900 +09"), (-210, "-03:30 -0330 -03"), (0, "+00:00 +0000 +00")];
        for (minutes, expected) in cases {
            let made = compile("TZH:TZM TZHTZM TZH", FormatDirection::Write(minutes));
            assert_eq!(made.as_deref(), Ok(expected), "{minutes}");
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
            let message = compile(format, FormatDirection::Write(0)).map_err(|e| e.message).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }
}
