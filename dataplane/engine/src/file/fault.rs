//! What is wrong with a file, taken from the engine's words: its line, and a reason in words of ours.

use crate::error::{Error, Kind, SHORT_FILE};

/// Why a file could not be read. It names nothing but the file's own lines and columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// From 1, the header's line included.
    pub line: Option<u64>,
    pub reason: String,
}

impl FileFault {
    /// None for an error that is not the file's.
    pub fn of(error: &Error) -> Option<Self> {
        if !matches!(error.kind, Kind::InvalidInput | Kind::Conversion | Kind::Binder | Kind::OutOfRange) {
            return None;
        }
        csv(&error.message).or_else(|| json(&error.message)).or_else(|| parquet(&error.message))
    }
}

fn csv(message: &str) -> Option<FileFault> {
    if message.contains("CSV Parser state machine") {
        let reason = "it is no CSV, or its lines end in different ways".to_owned();
        return Some(FileFault { line: None, reason });
    }
    let rest = message.strip_prefix("CSV Error on Line: ")?;
    let reason = if let Some((expected, found)) = numbers(rest, "Expected Number of Columns: ", " Found: ") {
        format!("it has {found} values for {expected} columns")
    } else if rest.contains("unterminated quote") {
        "a quote is not closed".to_owned()
    } else if let Some(column) = between(rest, "Error when converting column \"", "\". ") {
        match between(rest, "\" to '", "'") {
            Some(kind) => format!("column {column} has a value that is no {kind}"),
            None => format!("column {column} has a value that is not of its type"),
        }
    } else if rest.contains("not UTF-8") || rest.contains("Invalid unicode") {
        "it is not UTF-8".to_owned()
    } else if rest.contains("Maximum line size") {
        "it is longer than a line may be".to_owned()
    } else {
        "it is no line of CSV".to_owned()
    };
    Some(FileFault { line: leading(rest), reason })
}

fn json(message: &str) -> Option<FileFault> {
    let line = message.split_once(" in line ").and_then(|(_, rest)| leading(rest));
    let reason = if message.starts_with("Malformed JSON in file") {
        "it is no whole JSON object"
    } else if message.starts_with("JSON transform error in file") {
        "a value is not of its column's type"
    } else if message.contains("json_read expected records") || message.contains("expected records") {
        "each line is one JSON object"
    } else if message.contains("maximum_object_size") {
        "an object is longer than a line may be"
    } else {
        return None;
    };
    Some(FileFault { line, reason: reason.to_owned() })
}

fn parquet(message: &str) -> Option<FileFault> {
    const BROKEN: [&str; 8] =
        ["magic bytes", "arquet", "Snappy", "ZSTD", "GZIP", "TProtocolException", "Footer length", SHORT_FILE];
    let reason = "it is no whole Parquet file".to_owned();
    BROKEN.iter().any(|word| message.contains(word)).then_some(FileFault { line: None, reason })
}

/// The number at the start of a text.
fn leading(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

fn numbers(text: &str, first: &str, second: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.split_once(first)?;
    let (_, other) = rest.split_once(second)?;
    Some((leading(rest)?, leading(other)?))
}

fn between<'t>(text: &'t str, before: &str, behind: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(behind).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_and_neither_its_text_nor_a_path() {
        let cases = [
            (
                "CSV Error on Line: 3\nOriginal Line: 2,y,z\nExpected Number of Columns: 2 Found: 3\nfile = /spool/1",
                Some(3),
                "it has 3 values for 2 columns",
            ),
            (
                "CSV Error on Line: 9\nOriginal Line: abc\nError when converting column \"id\". Could not convert \
                 string \"abc\" to 'BIGINT'\n",
                Some(9),
                "column id has a value that is no BIGINT",
            ),
            ("CSV Error on Line: 2\nValue with unterminated quote found.", Some(2), "a quote is not closed"),
            (
                "Malformed JSON in file \"/spool/1\", at byte 8 in line 3: unexpected end of data. ",
                Some(3),
                "it is no whole JSON object",
            ),
            ("No magic bytes found at end of file '/spool/1'", None, "it is no whole Parquet file"),
            (
                "Could not read enough bytes from file \"/spool/1\": attempted to read 9 bytes from location 4",
                None,
                "it is no whole Parquet file",
            ),
        ];
        for (message, line, reason) in cases {
            let fault = FileFault::of(&Error::new(Kind::InvalidInput, message)).unwrap();
            assert_eq!((fault.line, fault.reason.as_str()), (line, reason), "{message}");
        }
        assert_eq!(FileFault::of(&Error::new(Kind::Conversion, "Could not convert string 'x'")), None);
        assert_eq!(FileFault::of(&Error::new(Kind::Crashed, "CSV Error on Line: 3")), None);
    }
}
