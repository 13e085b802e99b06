//! How the records of a file are written: each option of its format is honoured here, is of files that are read, or is
//! refused by name.

use crate::ast::error::Error;
use crate::catalog::file_format::{FileType, FormatOptions, OptionValue};
use crate::catalog::file_reading::{sign, sign_or_none};

/// What encloses a text that needs it, where the format does not say.
pub const QUOTE: u8 = b'"';
/// What stands for NULL, as documented. It is never in quotes: a text in quotes is read as that text.
pub const NULL: &str = r"\N";
const EXTENSION_BYTES_MAX: usize = 32;

/// How an unloaded file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadFormat {
    Csv,
    /// A line for each value of the one column.
    Json,
    Parquet,
}

/// How the bytes of an unloaded file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadCompression {
    None,
    /// As is usual for its format: gzip of a text, Snappy within Parquet.
    OfFormat,
    /// A text by deflate, with the head and the sum of zlib.
    Deflate,
    /// A text by deflate alone.
    RawDeflate,
}

/// How an empty text is told from NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyText {
    Enclosed,
    /// It is nothing, and something else stands for NULL.
    Bare,
}

/// How the records of an unloaded CSV file are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvWriting {
    pub delimiter: u8,
    pub line_end: &'static str,
    /// Encloses each value but numbers and truths; none: a double quote encloses those that need it.
    pub quote: Option<u8>,
    /// Stands for NULL.
    pub null: String,
    pub empty: EmptyText,
}

/// How an unloaded file is written, and called at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWriting {
    pub format: UnloadFormat,
    pub compression: UnloadCompression,
    /// How its name ends, in place of what its format and compression make of it.
    pub extension: Option<String>,
    pub csv: CsvWriting,
}

impl FileWriting {
    /// As a format says it.
    pub(crate) fn of(format: &FormatOptions) -> Result<Self, Error> {
        let csv = CsvWriting {
            delimiter: b',',
            line_end: "\n",
            quote: None,
            null: NULL.to_owned(),
            empty: EmptyText::Enclosed,
        };
        let kind = match format.file_type {
            FileType::Csv => UnloadFormat::Csv,
            FileType::Json => UnloadFormat::Json,
            FileType::Parquet => UnloadFormat::Parquet,
        };
        let mut writing = Self { format: kind, compression: UnloadCompression::OfFormat, extension: None, csv };
        for (name, value) in format.values() {
            match (name, &value) {
                ("COMPRESSION", OptionValue::Text(word)) => writing.compression = writing.compressed(word)?,
                ("SNAPPY_COMPRESSION", OptionValue::Flag(false)) => writing.compression = UnloadCompression::None,
                ("FILE_EXTENSION", OptionValue::Text(text)) => writing.extension = extension(text)?,
                _ if kind == UnloadFormat::Csv => writing.csv.takes(name, &value)?,
                _ => {} // of files that are read alone
            }
        }
        if kind == UnloadFormat::Csv {
            writing.csv.checked()?;
        }
        Ok(writing)
    }

    fn compressed(&self, word: &str) -> Result<UnloadCompression, Error> {
        match (self.format, word) {
            (_, "NONE") => Ok(UnloadCompression::None),
            (_, "AUTO") | (UnloadFormat::Csv | UnloadFormat::Json, "GZIP") | (UnloadFormat::Parquet, "SNAPPY") => {
                Ok(UnloadCompression::OfFormat)
            }
            (UnloadFormat::Csv | UnloadFormat::Json, "DEFLATE") => Ok(UnloadCompression::Deflate),
            (UnloadFormat::Csv | UnloadFormat::Json, "RAW_DEFLATE") => Ok(UnloadCompression::RawDeflate),
            _ => Err(refused("COMPRESSION")),
        }
    }

    /// How its name ends.
    pub(crate) fn ending(&self) -> &str {
        if let Some(extension) = &self.extension {
            return extension;
        }
        match (self.format, self.compression) {
            (UnloadFormat::Csv, UnloadCompression::None) => "csv",
            (UnloadFormat::Csv, UnloadCompression::OfFormat) => "csv.gz",
            (UnloadFormat::Csv, UnloadCompression::Deflate) => "csv.deflate",
            (UnloadFormat::Csv, UnloadCompression::RawDeflate) => "csv.raw_deflate",
            (UnloadFormat::Json, UnloadCompression::None) => "json",
            (UnloadFormat::Json, UnloadCompression::OfFormat) => "json.gz",
            (UnloadFormat::Json, UnloadCompression::Deflate) => "json.deflate",
            (UnloadFormat::Json, UnloadCompression::RawDeflate) => "json.raw_deflate",
            (UnloadFormat::Parquet, UnloadCompression::OfFormat) => "snappy.parquet",
            (UnloadFormat::Parquet, _) => "parquet",
        }
    }
}

impl CsvWriting {
    fn takes(&mut self, name: &'static str, value: &OptionValue) -> Result<(), Error> {
        match (name, value) {
            ("FIELD_DELIMITER", OptionValue::Text(text)) => self.delimiter = sign(name, text)?,
            ("RECORD_DELIMITER", OptionValue::Text(text)) => {
                self.line_end = match text.as_str() {
                    "\n" | r"\n" => "\n",
                    "\r\n" | r"\r\n" => "\r\n",
                    _ => return Err(refused(name)),
                };
            }
            ("FIELD_OPTIONALLY_ENCLOSED_BY", OptionValue::Text(text)) => self.quote = sign_or_none(name, text)?,
            ("NULL_IF", OptionValue::Texts(texts)) => self.null = texts.first().cloned().unwrap_or_default(),
            ("EMPTY_FIELD_AS_NULL", OptionValue::Flag(flag)) => {
                self.empty = if *flag { EmptyText::Enclosed } else { EmptyText::Bare };
            }
            // what an escape would be before stands in quotes
            ("ESCAPE", OptionValue::Text(text)) if sign_or_none(name, text)?.is_some() => return Err(refused(name)),
            ("ESCAPE_UNENCLOSED_FIELD", OptionValue::Text(text))
                if !matches!(sign_or_none(name, text)?, None | Some(b'\\')) =>
            {
                return Err(refused(name));
            }
            ("DATE_FORMAT" | "TIME_FORMAT" | "TIMESTAMP_FORMAT", OptionValue::Text(text))
                if !text.eq_ignore_ascii_case("AUTO") =>
            {
                return Err(refused(name));
            }
            ("BINARY_FORMAT", OptionValue::Text(text)) if text != "HEX" => return Err(refused(name)),
            _ => {} // of files that are read alone
        }
        Ok(())
    }

    /// Whether each value can be told from those beside it, and from NULL.
    fn checked(&self) -> Result<(), Error> {
        let (delimiter, quote) = (self.delimiter, self.quote.unwrap_or(QUOTE));
        if quote == delimiter {
            return Err(Error::syntax("FIELD_DELIMITER and FIELD_OPTIONALLY_ENCLOSED_BY differ"));
        }
        let is_of_numbers = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'\\');
        if is_of_numbers(delimiter) {
            return Err(refused("FIELD_DELIMITER"));
        }
        if is_of_numbers(quote) {
            return Err(refused("FIELD_OPTIONALLY_ENCLOSED_BY"));
        }
        let is_odd = |byte: u8| byte == delimiter || byte == quote || matches!(byte, b'\r' | b'\n');
        if self.null.bytes().any(is_odd) {
            return Err(refused("NULL_IF"));
        }
        if self.quote.is_some() && !self.null.is_empty() && self.null != NULL {
            return Err(Error::unsupported("NULL_IF with FIELD_OPTIONALLY_ENCLOSED_BY of COPY INTO a stage"));
        }
        if self.quote.is_none() && self.null.is_empty() && self.empty == EmptyText::Bare {
            return Err(Error::unsupported("EMPTY_FIELD_AS_NULL = FALSE without NULL_IF"));
        }
        Ok(())
    }
}

fn refused(name: &str) -> Error {
    Error::unsupported(format!("this {name} of COPY INTO a stage"))
}

/// An end of a name, without the dot before it; none where none is said.
fn extension(text: &str) -> Result<Option<String>, Error> {
    let text = text.strip_prefix('.').unwrap_or(text);
    if text.is_empty() || text.eq_ignore_ascii_case("NONE") {
        return Ok(None);
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_name = text.len() <= EXTENSION_BYTES_MAX && text.bytes().all(fits);
    if is_name { Ok(Some(text.to_owned())) } else { Err(refused("FILE_EXTENSION")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse::options::of_text;

    fn written(text: &str) -> Result<FileWriting, Error> {
        FileWriting::of(&FormatOptions::of(&of_text(text)?)?)
    }

    #[test]
    fn a_format_says_how_records_are_written() {
        let plain = written("TYPE = CSV").unwrap();
        let signs = (plain.csv.delimiter, plain.csv.line_end, plain.csv.quote, plain.csv.null.as_str());
        assert_eq!((signs, plain.csv.empty), ((b',', "\n", None, r"\N"), EmptyText::Enclosed));
        let said = "FIELD_DELIMITER = '|' RECORD_DELIMITER = '\\r\\n' FIELD_OPTIONALLY_ENCLOSED_BY = '0x27' NULL_IF = () \
                    EMPTY_FIELD_AS_NULL = FALSE COMPRESSION = NONE FILE_EXTENSION = '.txt' SKIP_HEADER = 1";
        let said = written(said).unwrap();
        let signs = (said.csv.delimiter, said.csv.line_end, said.csv.quote, said.csv.null.as_str());
        assert_eq!((signs, said.csv.empty), ((b'|', "\r\n", Some(b'\''), ""), EmptyText::Bare));
        assert_eq!((said.compression, said.ending()), (UnloadCompression::None, "txt"));
        for (text, ending) in [
            ("TYPE = CSV", "csv.gz"),
            ("TYPE = JSON STRIP_OUTER_ARRAY = TRUE", "json.gz"),
            ("TYPE = PARQUET", "snappy.parquet"),
            ("TYPE = PARQUET SNAPPY_COMPRESSION = FALSE", "parquet"),
            ("TYPE = CSV FILE_EXTENSION = NONE COMPRESSION = NONE", "csv"),
            ("TYPE = CSV COMPRESSION = DEFLATE", "csv.deflate"),
            ("TYPE = JSON COMPRESSION = RAW_DEFLATE", "json.raw_deflate"),
        ] {
            assert_eq!(written(text).unwrap().ending(), ending, "{text}");
        }
    }

    #[test]
    fn an_option_that_is_not_honoured_is_refused_by_name() {
        for (text, name) in [
            ("DATE_FORMAT = 'DD-MM-YYYY'", "DATE_FORMAT"),
            ("RECORD_DELIMITER = ';'", "RECORD_DELIMITER"),
            ("FIELD_DELIMITER = '||'", "FIELD_DELIMITER"),
            ("FIELD_DELIMITER = '1'", "FIELD_DELIMITER"),
            ("FIELD_OPTIONALLY_ENCLOSED_BY = 'x'", "FIELD_OPTIONALLY_ENCLOSED_BY"),
            ("ESCAPE = '#'", "ESCAPE"),
            ("ESCAPE_UNENCLOSED_FIELD = '#'", "ESCAPE_UNENCLOSED_FIELD"),
            ("BINARY_FORMAT = BASE64", "BINARY_FORMAT"),
            ("NULL_IF = ('a,b')", "NULL_IF"),
            ("NULL_IF = ('null') FIELD_OPTIONALLY_ENCLOSED_BY = '0x27'", "NULL_IF"),
            ("NULL_IF = () EMPTY_FIELD_AS_NULL = FALSE", "EMPTY_FIELD_AS_NULL"),
            ("FILE_EXTENSION = '/../a'", "FILE_EXTENSION"),
            ("COMPRESSION = ZSTD", "COMPRESSION"),
            ("TYPE = PARQUET COMPRESSION = LZO", "COMPRESSION"),
            ("COMPRESSION = BROTLI", "COMPRESSION"),
        ] {
            let error = written(text).unwrap_err();
            assert!(error.message.contains(name) && error.message.contains("not supported"), "{text}: {error}");
        }
        for text in ["FIELD_DELIMITER = '\"'", "FIELD_DELIMITER = '|' FIELD_OPTIONALLY_ENCLOSED_BY = '|'"] {
            assert!(written(text).unwrap_err().message.contains("differ"), "{text}");
        }
    }
}
