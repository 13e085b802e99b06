//! How the records of a file are read: each option of its format is honoured here, or refused by name.

use crate::ast::error::Error;
use crate::catalog::csv_spelling::CsvSpelling;
use crate::catalog::file_format::{FileType, FormatOptions, OptionValue};
use crate::catalog::formatted_texts::{FormatReading, FormattedTexts};
use crate::catalog::named_values::NamedValues;
use crate::catalog::text_decoding::TextDecoding;

/// The options of a file's reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReading {
    pub records: FileRecords,
    pub compression: FileCompression,
    /// Of a text that may be other than UTF-8.
    pub decoding: Option<TextDecoding>,
    pub texts: FormattedTexts,
    /// Members of JSON that are null are left out.
    pub strips_nulls: bool,
    /// Of JSON and Parquet.
    pub named: NamedValues,
    /// How a CSV file is written that is written anew for its reader, as its records say.
    pub spelling: Option<CsvSpelling>,
}

/// How the records of a file are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRecords {
    Csv(CsvRecords),
    /// Values one behind the other, or the items of one array.
    Json {
        is_array: bool,
    },
    Parquet {
        binary_is_text: bool,
    },
}

/// The signs of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvRecords {
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// Before a quote within quotes; a quote that is written twice where there is none.
    pub escape: Option<u8>,
    /// Lines before the first record.
    pub skipped: u64,
    /// Texts that stand for NULL.
    pub nulls: Vec<String>,
    /// A backslash outside of quotes takes its meaning from what stands behind it.
    pub escapes_unquoted: bool,
    pub allows_blank: bool,
    /// The first record names the values of the others.
    pub has_header: bool,
    pub width: RecordWidth,
}

/// How many values a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordWidth {
    /// As many as there are columns.
    Exact,
    /// Those that are missing are NULL, and those that are too many are left out.
    Any,
}

/// How the bytes of a file are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCompression {
    /// As the end of its name says.
    ByName,
    Gzip,
    /// Deflate with the head and the sum of zlib.
    Deflate,
    /// Deflate alone.
    RawDeflate,
    Bzip2,
    Zstandard,
    None,
}

impl FileCompression {
    fn of(word: &str) -> Result<Self, Error> {
        match word {
            "AUTO" => Ok(Self::ByName),
            "GZIP" => Ok(Self::Gzip),
            "DEFLATE" => Ok(Self::Deflate),
            "RAW_DEFLATE" => Ok(Self::RawDeflate),
            "BZ2" => Ok(Self::Bzip2),
            "ZSTD" => Ok(Self::Zstandard),
            "NONE" => Ok(Self::None),
            other => Err(Error::unsupported(format!("COMPRESSION = {other} of a file that is read"))),
        }
    }
}

impl FileReading {
    /// As a format says it, whose texts are read by `reading`.
    pub(crate) fn of(format: &FormatOptions, reading: FormatReading) -> Result<Self, Error> {
        let (mut compression, mut texts) = (FileCompression::ByName, FormattedTexts::default());
        let (mut decoding, mut named) = (TextDecoding::PLAIN, NamedValues::default());
        let mut csv = CsvRecords {
            delimiter: b',',
            quote: None,
            escape: None,
            skipped: 0,
            nulls: Vec::new(),
            escapes_unquoted: true,
            allows_blank: false,
            has_header: false,
            width: RecordWidth::Exact,
        };
        let (mut is_array, mut strips_nulls, mut binary_is_text) = (false, false, true);
        let mut spelling = CsvSpelling::default();
        for (name, value) in format.values() {
            match (name, &value) {
                ("COMPRESSION", OptionValue::Text(word)) if format.file_type != FileType::Parquet => {
                    compression = FileCompression::of(word)?;
                }
                ("STRIP_OUTER_ARRAY", OptionValue::Flag(flag)) => is_array = *flag,
                ("STRIP_NULL_VALUES", OptionValue::Flag(flag)) => strips_nulls = *flag,
                ("BINARY_AS_TEXT", OptionValue::Flag(flag)) => binary_is_text = *flag,
                _ if format.file_type != FileType::Csv && named.takes(name, &value) => {}
                _ if format.file_type == FileType::Csv && spelling.takes(name, &value)? => {}
                _ if format.file_type == FileType::Csv && csv.takes(name, &value)? => {}
                _ if format.file_type != FileType::Parquet && decoding.takes(name, &value) => {}
                _ if texts.takes(name, &value, reading)? => {}
                _ if changes_nothing(name, &value) => {}
                _ => return Err(Error::unsupported(format!("this {name} of a file that is read"))),
            }
        }
        let (records, spelling) = match format.file_type {
            FileType::Csv => {
                csv.checked()?;
                let spelling = spelling.beside(&mut csv)?;
                (FileRecords::Csv(csv), spelling)
            }
            FileType::Json => (FileRecords::Json { is_array }, None),
            FileType::Parquet => (FileRecords::Parquet { binary_is_text }, None),
        };
        let decoding = (decoding != TextDecoding::PLAIN).then_some(decoding);
        Ok(Self { records, compression, decoding, texts, strips_nulls, named, spelling })
    }
}

impl CsvRecords {
    /// Whether it is an option of CSV alone, which is kept then.
    fn takes(&mut self, name: &str, value: &OptionValue) -> Result<bool, Error> {
        match (name, value) {
            ("SKIP_HEADER", OptionValue::Count(lines)) => self.skipped = *lines,
            ("FIELD_OPTIONALLY_ENCLOSED_BY", OptionValue::Text(text)) => self.quote = sign_or_none(name, text)?,
            ("ESCAPE", OptionValue::Text(text)) => self.escape = sign_or_none(name, text)?,
            ("ESCAPE_UNENCLOSED_FIELD", OptionValue::Text(text)) => {
                self.escapes_unquoted = match sign_or_none(name, text)? {
                    None => false,
                    Some(b'\\') => true,
                    Some(_) => return Err(Error::unsupported(format!("this {name} of a file that is read"))),
                };
            }
            ("NULL_IF", OptionValue::Texts(texts)) => texts.iter().for_each(|text| self.reads_as_null(text)),
            ("EMPTY_FIELD_AS_NULL", OptionValue::Flag(true)) => self.reads_as_null(""),
            ("EMPTY_FIELD_AS_NULL", OptionValue::Flag(false)) => {}
            ("SKIP_BLANK_LINES", OptionValue::Flag(flag)) => self.allows_blank = *flag,
            ("PARSE_HEADER", OptionValue::Flag(flag)) => self.has_header = *flag,
            ("ERROR_ON_COLUMN_COUNT_MISMATCH", OptionValue::Flag(flag)) => {
                self.width = if *flag { RecordWidth::Exact } else { RecordWidth::Any };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn reads_as_null(&mut self, text: &str) {
        if !self.nulls.iter().any(|known| known == text) {
            self.nulls.push(text.to_owned());
        }
    }

    /// What the engine can be told together.
    fn checked(&self) -> Result<(), Error> {
        if self.quote.is_none() && self.escape.is_some() {
            return Err(Error::unsupported("ESCAPE without FIELD_OPTIONALLY_ENCLOSED_BY"));
        }
        if self.has_header && self.skipped > 0 {
            return Err(Error::syntax("PARSE_HEADER and SKIP_HEADER do not stand together"));
        }
        if self.nulls.is_empty() {
            return Err(Error::unsupported("EMPTY_FIELD_AS_NULL = FALSE without NULL_IF"));
        }
        Ok(())
    }
}

/// Whether an option has the one value that reading has anyway, or is of files that are written.
fn changes_nothing(name: &str, value: &OptionValue) -> bool {
    match (name, value) {
        // Parquet says itself how it is packed
        (
            "FILE_EXTENSION" | "COMPRESSION" | "SNAPPY_COMPRESSION" | "USE_VECTORIZED_SCANNER" | "USE_LOGICAL_TYPE",
            _,
        ) => true,
        ("VALIDATE_UTF8" | "SKIP_BYTE_ORDER_MARK" | "MULTI_LINE", value) => *value == OptionValue::Flag(true),
        (_, value) => *value == OptionValue::Flag(false),
    }
}

/// A sign of one byte, which may be written as an escape.
pub(super) fn sign(name: &str, text: &str) -> Result<u8, Error> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("\\x"));
    let coded = hex.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let found = match (text, text.as_bytes(), coded) {
        (r"\t", ..) => Some(b'\t'),
        (r"\\", ..) => Some(b'\\'),
        (_, _, Some(byte)) => Some(byte),
        (_, [byte], None) => Some(*byte),
        _ => None,
    };
    let fits = |byte: &u8| byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0);
    found.filter(fits).ok_or_else(|| Error::unsupported(format!("a {name} of other than one ASCII character")))
}

pub(super) fn sign_or_none(name: &str, text: &str) -> Result<Option<u8>, Error> {
    if text.eq_ignore_ascii_case("NONE") { Ok(None) } else { sign(name, text).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::text_decoding::TextEncoding;
    use crate::syntax::parse::options::of_text;

    fn read(text: &str) -> Result<FileReading, Error> {
        FileReading::of(&FormatOptions::of(&of_text(text)?)?, |_, format| Ok(format.to_owned()))
    }

    #[test]
    fn what_a_format_says_of_its_signs_is_what_the_reader_is_told() {
        let FileRecords::Csv(plain) = read("TYPE = CSV").unwrap().records else { panic!("no CSV") };
        assert_eq!((plain.delimiter, plain.quote, plain.escape, plain.skipped), (b',', None, None, 0));
        assert_eq!((plain.nulls, plain.escapes_unquoted), (vec![r"\N".to_owned(), String::new()], true));
        let said = "FIELD_DELIMITER = '\\t' SKIP_HEADER = 2 FIELD_OPTIONALLY_ENCLOSED_BY = '\"' ESCAPE = '\\' NULL_IF = ('x') \
                    ESCAPE_UNENCLOSED_FIELD = NONE COMPRESSION = GZIP";
        let FileReading { records, compression, .. } = read(said).unwrap();
        let FileRecords::Csv(said) = records else { panic!("no CSV") };
        assert_eq!((said.delimiter, said.quote, said.escape, said.skipped), (b'\t', Some(b'"'), Some(b'\\'), 2));
        assert_eq!((said.nulls, said.escapes_unquoted), (vec!["x".to_owned(), String::new()], false));
        assert_eq!(compression, FileCompression::Gzip);
        for (word, compression) in [("DEFLATE", FileCompression::Deflate), ("RAW_DEFLATE", FileCompression::RawDeflate)]
        {
            assert_eq!(read(&format!("TYPE = JSON COMPRESSION = {word}")).unwrap().compression, compression);
        }
        let decoding = TextDecoding { encoding: TextEncoding::Utf16, replaces: true };
        let said = read("ENCODING = 'UTF-16' REPLACE_INVALID_CHARACTERS = TRUE").unwrap();
        assert_eq!((said.decoding, read("ENCODING = UTF8").unwrap().decoding), (Some(decoding), None));
        let array = read("TYPE = JSON STRIP_OUTER_ARRAY = TRUE").unwrap().records;
        assert_eq!(array, FileRecords::Json { is_array: true });
        assert_eq!(read("TYPE = PARQUET").unwrap().records, FileRecords::Parquet { binary_is_text: true });
    }

    #[test]
    fn a_file_is_written_anew_where_its_reader_would_not_take_it() {
        assert_eq!(read("FIELD_DELIMITER = '|' RECORD_DELIMITER = '\\r\\n'").unwrap().spelling, None);
        let FileReading { records, spelling, .. } = read("FIELD_DELIMITER = '||' RECORD_DELIMITER = ';'").unwrap();
        let FileRecords::Csv(signs) = records else { panic!("no CSV") };
        assert_eq!((signs.delimiter, signs.quote), (0x1f, Some(b'"')));
        let written =
            CsvSpelling { value_end: b"||".to_vec(), record_end: Some(b";".to_vec()), quote: None, trims: false };
        assert_eq!(spelling, Some(written));
        let FileReading { records, spelling, .. } = read("TRIM_SPACE = TRUE").unwrap();
        let FileRecords::Csv(signs) = records else { panic!("no CSV") };
        assert_eq!((signs.delimiter, signs.quote, spelling.is_some_and(|spelling| spelling.trims)), (b',', None, true));
        for text in
            ["FIELD_DELIMITER = 'aa' RECORD_DELIMITER = 'aabb'", "FIELD_DELIMITER = '|' RECORD_DELIMITER = '|\\n'"]
        {
            assert!(read(text).unwrap_err().message.contains("no part of each other"), "{text}");
        }
        let quoted = read("FIELD_DELIMITER = '\"' FIELD_OPTIONALLY_ENCLOSED_BY = '\"'");
        assert!(quoted.unwrap_err().message.contains("differ"));
    }

    #[test]
    fn an_option_that_is_not_honoured_is_refused_by_name() {
        for (text, name) in [
            ("RECORD_DELIMITER = NONE", "RECORD_DELIMITER"),
            ("FIELD_DELIMITER = 'a\nb'", "FIELD_DELIMITER"),
            ("RECORD_DELIMITER = ';' NULL_IF = ('a\nb')", "NULL_IF"),
            ("FIELD_DELIMITER = '\"|' FIELD_OPTIONALLY_ENCLOSED_BY = '\"'", "FIELD_DELIMITER"),
            ("ENCODING = 'IBM420'", "ENCODING"),
            ("TYPE = PARQUET REPLACE_INVALID_CHARACTERS = TRUE", "REPLACE_INVALID_CHARACTERS"),
            ("COMPRESSION = BROTLI", "COMPRESSION"),
            ("TYPE = JSON ENABLE_OCTAL = TRUE", "ENABLE_OCTAL"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(name) && error.message.contains("not supported"), "{text}: {error}");
        }
    }
}
