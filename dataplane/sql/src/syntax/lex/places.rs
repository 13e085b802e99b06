//! Where tokens stand in their text, in bytes.

use std::ops::Range;

use sqlparser::tokenizer::{Location, Span};

/// The byte that a place is at; none for a place that is made up.
pub(crate) fn byte(text: &str, at: Location) -> Option<usize> {
    let before = |number: u64| usize::try_from(number).ok()?.checked_sub(1);
    let (lines, chars) = (before(at.line)?, before(at.column)?);
    let begin = match lines.checked_sub(1) {
        None => 0,
        Some(end) => text.match_indices('\n').nth(end).map_or(text.len(), |(end, _)| end + 1),
    };
    let line = text.get(begin..)?;
    if line.as_bytes().get(..chars).is_some_and(<[u8]>::is_ascii) {
        return Some(begin + chars);
    }
    Some(begin + line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at))
}

/// The bytes of these tokens, which stand in the order of the text.
pub(crate) fn bytes(text: &str, spans: &[Span]) -> Option<Vec<Range<usize>>> {
    let mut edges = spans.iter().flat_map(|span| [span.start, span.end]).peekable();
    let mut found = Vec::with_capacity(spans.len() * 2);
    let mut here = Location { line: 1, column: 1 };
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        while edges.next_if_eq(&here).is_some() {
            found.push(at);
        }
        here = if c == '\n' {
            Location { line: here.line + 1, column: 1 }
        } else {
            Location { line: here.line, column: here.column + 1 }
        };
    }
    let pair = |edges: &[usize]| match edges {
        [start, end] => Some(*start..*end),
        _ => None,
    };
    if edges.peek().is_some() { None } else { found.chunks(2).map(pair).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_byte_of_its_character() {
        let text = "ä b\n\ncö\n";
        let found = |line, column| byte(text, Location { line, column }).map(|at| &text[at..]);
        assert_eq!((found(1, 1), found(1, 2)), (Some(text), Some(" b\n\ncö\n")));
        assert_eq!((found(1, 3), found(2, 1)), (Some("b\n\ncö\n"), Some("\ncö\n")));
        assert_eq!((found(3, 2), found(3, 3)), (Some("ö\n"), Some("\n")));
        assert_eq!((found(4, 1), found(9, 9)), (Some(""), Some("")));
        assert_eq!((found(0, 0), found(1, 0), found(0, 1)), (None, None, None));
    }
}
