//! Where tokens stand in their text, in bytes.

use std::ops::Range;

use sqlparser::tokenizer::{Location, Span};

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
