//! How the records of a file are read and written: the options of a file format, with their types and defaults.
//!
//! Names, values and defaults are the warehouse's documented ones. What an option does is said where files are read.

use sqlparser::ast::Value;
use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptionKind, KeyValueOptions};

use crate::ast::error::Error;
use crate::ast::quote;

contract::named! {
    /// A kind of file.
    pub(crate) enum FileType { Csv = "CSV", Json = "JSON", Parquet = "PARQUET" }
}

/// The value of an option of a file format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OptionValue {
    Text(String),
    Flag(bool),
    Count(u64),
    Texts(Vec<String>),
}

/// The default of an option.
#[derive(Debug, Clone, Copy)]
enum DefaultOption {
    Text(&'static str),
    Flag(bool),
    Count(u64),
    Texts(&'static [&'static str]),
}

/// An option that files of some type have.
#[derive(Debug, Clone, Copy)]
struct KnownOption {
    name: &'static str,
    default: DefaultOption,
    /// The words it may be; none where it is any text.
    words: &'static [&'static str],
}

const fn option(name: &'static str, default: DefaultOption) -> KnownOption {
    KnownOption { name, default, words: &[] }
}

const fn text(name: &'static str, default: &'static str) -> KnownOption {
    option(name, DefaultOption::Text(default))
}

const fn flag(name: &'static str, default: bool) -> KnownOption {
    option(name, DefaultOption::Flag(default))
}

const NULLS: &[&str] = &[r"\N"];
const COMPRESSION: KnownOption = KnownOption {
    words: &["AUTO", "GZIP", "BZ2", "BROTLI", "ZSTD", "DEFLATE", "RAW_DEFLATE", "NONE"],
    ..text("COMPRESSION", "AUTO")
};
const OF_PARQUET: KnownOption =
    KnownOption { words: &["AUTO", "LZO", "SNAPPY", "NONE"], ..text("COMPRESSION", "AUTO") };
const BINARY: KnownOption = KnownOption { words: &["HEX", "BASE64", "UTF8"], ..text("BINARY_FORMAT", "HEX") };

const CSV: &[KnownOption] = &[
    text("RECORD_DELIMITER", r"\n"),
    text("FIELD_DELIMITER", ","),
    text("FILE_EXTENSION", ""),
    option("SKIP_HEADER", DefaultOption::Count(0)),
    flag("PARSE_HEADER", false),
    text("DATE_FORMAT", "AUTO"),
    text("TIME_FORMAT", "AUTO"),
    text("TIMESTAMP_FORMAT", "AUTO"),
    BINARY,
    text("ESCAPE", "NONE"),
    text("ESCAPE_UNENCLOSED_FIELD", r"\\"),
    flag("TRIM_SPACE", false),
    text("FIELD_OPTIONALLY_ENCLOSED_BY", "NONE"),
    option("NULL_IF", DefaultOption::Texts(NULLS)),
    COMPRESSION,
    flag("ERROR_ON_COLUMN_COUNT_MISMATCH", true),
    flag("VALIDATE_UTF8", true),
    flag("SKIP_BLANK_LINES", false),
    flag("REPLACE_INVALID_CHARACTERS", false),
    flag("EMPTY_FIELD_AS_NULL", true),
    flag("SKIP_BYTE_ORDER_MARK", true),
    text("ENCODING", "UTF8"),
    flag("MULTI_LINE", true),
];

const JSON: &[KnownOption] = &[
    text("FILE_EXTENSION", ""),
    text("DATE_FORMAT", "AUTO"),
    text("TIME_FORMAT", "AUTO"),
    text("TIMESTAMP_FORMAT", "AUTO"),
    BINARY,
    flag("TRIM_SPACE", false),
    option("NULL_IF", DefaultOption::Texts(&[])),
    COMPRESSION,
    flag("ENABLE_OCTAL", false),
    flag("ALLOW_DUPLICATE", false),
    flag("STRIP_OUTER_ARRAY", false),
    flag("STRIP_NULL_VALUES", false),
    flag("IGNORE_UTF8_ERRORS", false),
    flag("REPLACE_INVALID_CHARACTERS", false),
    flag("SKIP_BYTE_ORDER_MARK", true),
    flag("MULTI_LINE", true),
];

const PARQUET: &[KnownOption] = &[
    flag("TRIM_SPACE", false),
    option("NULL_IF", DefaultOption::Texts(&[])),
    OF_PARQUET,
    flag("SNAPPY_COMPRESSION", true),
    flag("BINARY_AS_TEXT", true),
    flag("USE_LOGICAL_TYPE", false),
    flag("USE_VECTORIZED_SCANNER", false),
    flag("REPLACE_INVALID_CHARACTERS", false),
];

impl FileType {
    fn of(word: &str) -> Result<Self, Error> {
        let word = word.to_ascii_uppercase();
        Self::parse(&word).ok_or_else(|| match word.as_str() {
            "AVRO" | "ORC" | "XML" | "CUSTOM" => Error::unsupported(format!("a file of type {word}")),
            _ => Error::syntax("the type of a file is CSV, JSON or PARQUET"),
        })
    }

    const fn options(self) -> &'static [KnownOption] {
        match self {
            Self::Csv => CSV,
            Self::Json => JSON,
            Self::Parquet => PARQUET,
        }
    }
}

/// The type of a file and what is said of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatOptions {
    pub file_type: FileType,
    /// What differs from the defaults, or was said all the same, by name.
    given: Vec<(&'static str, OptionValue)>,
}

/// A row of DESCRIBE FILE FORMAT.
pub(crate) struct FormatProperty {
    pub name: &'static str,
    pub kind: &'static str,
    pub value: String,
    pub default: String,
}

impl FormatOptions {
    pub fn new(file_type: FileType) -> Self {
        Self { file_type, given: Vec::new() }
    }

    /// What these options say; of a type that they do not name, CSV.
    pub fn of(options: &KeyValueOptions) -> Result<Self, Error> {
        let named = options.options.iter().find(|option| is_type(option));
        let file_type = named.map_or(Ok(FileType::Csv), |option| FileType::of(word(option)?))?;
        let mut format = Self::new(file_type);
        format.change(options)?;
        Ok(format)
    }

    /// The same with these options in place of what was said of them before; its type stays.
    pub fn change(&mut self, options: &KeyValueOptions) -> Result<(), Error> {
        for option in &options.options {
            if is_type(option) {
                if FileType::of(word(option)?)? != self.file_type {
                    return Err(Error::unsupported("another TYPE for a file format that is there"));
                }
                continue;
            }
            let (name, value) = self.read(option)?;
            self.given.retain(|(known, _)| *known != name);
            self.given.push((name, value));
        }
        Ok(())
    }

    fn read(&self, option: &KeyValueOption) -> Result<(&'static str, OptionValue), Error> {
        let written = option.option_name.to_ascii_uppercase();
        let found = self.file_type.options().iter().find(|known| known.name == written);
        let KnownOption { name, default, words } = found.copied().ok_or_else(|| {
            Error::unsupported(format!("{written} of a file format of type {}", self.file_type.as_str()))
        })?;
        let wrong = |what: &str| Error::syntax(format!("{name} is {what}"));
        let value = match default {
            DefaultOption::Flag(_) => OptionValue::Flag(flagged(option).ok_or_else(|| wrong("TRUE or FALSE"))?),
            DefaultOption::Count(_) => OptionValue::Count(counted(option).ok_or_else(|| wrong("a whole number"))?),
            DefaultOption::Texts(_) => OptionValue::Texts(listed(option).ok_or_else(|| wrong("a list of texts"))?),
            DefaultOption::Text(_) if words.is_empty() => OptionValue::Text(word(option)?.to_owned()),
            DefaultOption::Text(_) => {
                let word = word(option)?.to_ascii_uppercase();
                if !words.contains(&word.as_str()) {
                    return Err(wrong(&format!("one of {}", words.join(", "))));
                }
                OptionValue::Text(word)
            }
        };
        Ok((name, value))
    }

    /// Each option with what it is and what it would be.
    pub fn properties(&self) -> Vec<FormatProperty> {
        let own = self.file_type.as_str().to_owned();
        let default = FileType::Csv.as_str().to_owned();
        let head = FormatProperty { name: "TYPE", kind: "String", value: own, default };
        let each = self.file_type.options().iter().map(|known| {
            let default = default_value(known.default);
            let given = self.given.iter().find(|(name, _)| *name == known.name).map_or(&default, |(_, value)| value);
            let kind = match default {
                OptionValue::Text(_) => "String",
                OptionValue::Flag(_) => "Boolean",
                OptionValue::Count(_) => "Integer",
                OptionValue::Texts(_) => "List",
            };
            FormatProperty { name: known.name, kind, value: given.shown(), default: default.shown() }
        });
        std::iter::once(head).chain(each).collect()
    }

    /// Each option by name, with what it is.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, OptionValue)> {
        self.file_type.options().iter().map(|known| {
            let given = self.given.iter().find(|(name, _)| *name == known.name);
            (known.name, given.map_or_else(|| default_value(known.default), |(_, value)| value.clone()))
        })
    }

    /// What is said of it, as SQL: `TYPE = 'CSV' SKIP_HEADER = 1`.
    pub fn written(&self) -> String {
        let given = self.given.iter().map(|(name, value)| format!(" {name} = {}", value.written()));
        format!("TYPE = {}{}", quote::text(self.file_type.as_str()), given.collect::<String>())
    }
}

impl OptionValue {
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Texts(texts) => format!("[{}]", texts.join(", ")),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Text(text) => quote::text(text),
            Self::Flag(flag) => flag.to_string().to_ascii_uppercase(),
            Self::Count(count) => count.to_string(),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quote::text(text)).collect();
                format!("({})", texts.join(", "))
            }
        }
    }
}

fn default_value(default: DefaultOption) -> OptionValue {
    match default {
        DefaultOption::Text(text) => OptionValue::Text(text.to_owned()),
        DefaultOption::Flag(flag) => OptionValue::Flag(flag),
        DefaultOption::Count(count) => OptionValue::Count(count),
        DefaultOption::Texts(texts) => OptionValue::Texts(texts.iter().map(|text| (*text).to_owned()).collect()),
    }
}

fn is_type(option: &KeyValueOption) -> bool {
    option.option_name.eq_ignore_ascii_case("TYPE")
}

fn single(option: &KeyValueOption) -> Option<&Value> {
    match &option.option_value {
        KeyValueOptionKind::Single(value) => Some(&value.value),
        _ => None,
    }
}

/// The text or word that an option is.
pub(crate) fn word(option: &KeyValueOption) -> Result<&str, Error> {
    match single(option) {
        Some(Value::SingleQuotedString(text)) => Ok(text),
        _ => Err(Error::syntax(format!("{} is a text", option.option_name.to_ascii_uppercase()))),
    }
}

/// Whether an option is TRUE.
pub(crate) fn flagged(option: &KeyValueOption) -> Option<bool> {
    match single(option)? {
        Value::Boolean(flag) => Some(*flag),
        _ => None,
    }
}

/// The whole number that an option is.
pub(crate) fn counted(option: &KeyValueOption) -> Option<u64> {
    match single(option)? {
        Value::Number(digits, _) => digits.parse().ok(),
        _ => None,
    }
}

/// The texts that an option is a list of.
pub(crate) fn listed(option: &KeyValueOption) -> Option<Vec<String>> {
    let texts = match &option.option_value {
        KeyValueOptionKind::Single(value) => std::slice::from_ref(value),
        KeyValueOptionKind::Multi(values) => values.as_slice(),
        KeyValueOptionKind::KeyValueOptions(_) => return None,
    };
    let text = |value: &sqlparser::ast::ValueWithSpan| match &value.value {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    };
    texts.iter().map(text).collect()
}
