//! `TABLE(INFER_SCHEMA(LOCATION => '@s/path', FILE_FORMAT => 'f', …))` in FROM, which reads a stage for its columns.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::super::staged_files::is_word;
use super::copy_options::NAMES_MAX;
use super::{NamedStage, is};
use crate::ast::error::Error;
use crate::catalog::stage::StageFormat;
use crate::catalog::staged_rows::{FileChoice, InferOptions, StageRead};

const FUNCTION: &str = "infer_schema";
const FORM: &str = "INFER_SCHEMA is read as TABLE(INFER_SCHEMA(LOCATION => '@stage/path', FILE_FORMAT => 'name'))";

/// A call that stands for a table, as the tokens of a name.
pub(super) struct CalledTable {
    pub name: Vec<TokenWithSpan>,
    pub read: StageRead,
    /// How many tokens the call is.
    pub length: usize,
}

/// Whether a token may be the function's name.
pub(super) fn is_called(token: &Token) -> bool {
    is_word(token, FUNCTION)
}

/// The call, if these tokens begin with one.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<Option<CalledTable>, Error> {
    let [table, open, function, inner, arguments @ ..] = tokens else { return Ok(None) };
    let is_call = is(&table.token, Keyword::TABLE) && is_called(&function.token);
    if !is_call || open.token != Token::LParen || inner.token != Token::LParen {
        return Ok(None);
    }
    let mut said = InferArguments::default();
    let mut rest = arguments;
    loop {
        let place = rest.first().map_or(function.span.start, |token| token.span.start);
        let wrong = || Error::syntax(FORM).at(place);
        let [name, arrow, behind @ ..] = rest else { return Err(wrong()) };
        let Token::Word(word) = &name.token else { return Err(wrong()) };
        if arrow.token != Token::RArrow {
            return Err(wrong());
        }
        let length = said.take(&word.value.to_ascii_uppercase(), behind).map_err(|error| error.at(place))?;
        let [end, behind @ ..] = behind.get(length..).unwrap_or_default() else { return Err(wrong()) };
        rest = behind;
        match end.token {
            Token::Comma => {}
            Token::RParen => break,
            _ => return Err(wrong()),
        }
    }
    let at = function.span.start;
    let closed = rest.split_first().filter(|(close, _)| close.token == Token::RParen);
    let (_, behind) = closed.ok_or_else(|| Error::syntax(FORM).at(at))?;
    said.call(tokens.len() - behind.len()).map(Some).map_err(|error| error.at(at))
}

/// The arguments of a call of `INFER_SCHEMA`.
#[derive(Default)]
struct InferArguments {
    /// Those that were met.
    names: Vec<String>,
    location: Option<NamedStage>,
    format: Option<String>,
    files: Vec<String>,
    options: InferOptions,
}

impl InferArguments {
    /// Takes the value of an argument from the begin of these tokens; how many of them it is.
    fn take(&mut self, name: &str, tokens: &[TokenWithSpan]) -> Result<usize, Error> {
        if self.names.iter().any(|known| known == name) {
            return Err(Error::syntax(format!("{name} is given twice")));
        }
        self.names.push(name.to_owned());
        let wrong = |what: &str| Error::syntax(format!("{name} of INFER_SCHEMA is {what}"));
        let (value, length) = value(tokens).ok_or_else(|| wrong("a text, a list of texts, a number, TRUE or FALSE"))?;
        let count = |value: &ArgumentValue| match value {
            ArgumentValue::Count(count) if *count > 0 => Ok(*count),
            _ => Err(wrong("a whole number from 1")),
        };
        match name {
            "LOCATION" => {
                let found = tokens.first().map(NamedStage::quoted).transpose()?.flatten();
                self.location = Some(found.ok_or_else(|| wrong("a text, '@stage/path'"))?);
            }
            "FILE_FORMAT" => match value {
                ArgumentValue::Text(format) => self.format = Some(format),
                _ => return Err(wrong("the name of a file format, as a text")),
            },
            "FILES" => match value {
                ArgumentValue::Text(file) => self.files = vec![file],
                ArgumentValue::Texts(files) if files.len() <= NAMES_MAX => self.files = files,
                _ => return Err(wrong(&format!("a list of up to {NAMES_MAX} texts"))),
            },
            "IGNORE_CASE" => match value {
                ArgumentValue::Flag(flag) => self.options.ignores_case = flag,
                _ => return Err(wrong("TRUE or FALSE")),
            },
            "MAX_FILE_COUNT" => {
                self.options.files_max = Some(usize::try_from(count(&value)?).unwrap_or(usize::MAX));
            }
            "KIND" if matches!(&value, ArgumentValue::Text(kind) if kind.eq_ignore_ascii_case("STANDARD")) => {}
            "MAX_RECORDS_PER_FILE" => self.options.records_max = Some(count(&value)?),
            _ => return Err(Error::unsupported(format!("{name} of INFER_SCHEMA"))),
        }
        Ok(length)
    }

    fn call(self, length: usize) -> Result<CalledTable, Error> {
        let Self { location: Some(location), format: Some(format), files, options, .. } = self else {
            return Err(Error::syntax("INFER_SCHEMA needs its LOCATION and its FILE_FORMAT"));
        };
        let NamedStage { at, name, path } = location;
        let chosen = FileChoice { prefix: path, names: files, pattern: None };
        let format = Some(StageFormat::Named(format));
        let (members, load, metadata, infers) = (None, None, Vec::new(), Some(options));
        let read = StageRead { at, chosen, format, width: 0, members, load, metadata, infers, job: None };
        Ok(CalledTable { name, read, length })
    }
}

/// The value of an argument.
enum ArgumentValue {
    Text(String),
    Texts(Vec<String>),
    Flag(bool),
    Count(u64),
}

/// The value that these tokens begin with, and how many of them it is.
fn value(tokens: &[TokenWithSpan]) -> Option<(ArgumentValue, usize)> {
    let (first, behind) = tokens.split_first()?;
    match &first.token {
        Token::SingleQuotedString(text) => Some((ArgumentValue::Text(text.clone()), 1)),
        Token::Number(digits, _) => Some((ArgumentValue::Count(digits.parse().ok()?), 1)),
        Token::LParen => texts(behind).map(|(texts, length)| (ArgumentValue::Texts(texts), length + 1)),
        word if is(word, Keyword::TRUE) => Some((ArgumentValue::Flag(true), 1)),
        word if is(word, Keyword::FALSE) => Some((ArgumentValue::Flag(false), 1)),
        _ => None,
    }
}

/// Texts up to the bracket that closes.
fn texts(tokens: &[TokenWithSpan]) -> Option<(Vec<String>, usize)> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let [text, end, behind @ ..] = rest {
        let Token::SingleQuotedString(text) = &text.token else { return None };
        found.push(text.clone());
        rest = behind;
        match end.token {
            Token::Comma => {}
            Token::RParen => return Some((found, tokens.len() - behind.len())),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(text: &str) -> (String, StageRead) {
        let statement = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let [read] = statement.reads() else { panic!("{text}: {:?}", statement.reads()) };
        (statement.redacted(), read.clone())
    }

    #[test]
    fn a_call_reads_the_stage_that_it_names() {
        let (redacted, read) = read_of(
            "SELECT column_name FROM TABLE(INFER_SCHEMA(LOCATION => '@main.s/in/', FILE_FORMAT => 'f', \
             FILES => ('a.csv', 'b.csv'), IGNORE_CASE => TRUE, MAX_FILE_COUNT => 2, MAX_RECORDS_PER_FILE => 10)) x",
        );
        assert_eq!(redacted, "SELECT column_name FROM main.\"@s\" AS x");
        assert_eq!((read.chosen.prefix.as_str(), read.chosen.names.len()), ("in/", 2));
        assert_eq!(read.format, Some(StageFormat::Named("f".to_owned())));
        let options = InferOptions { ignores_case: true, files_max: Some(2), records_max: Some(10) };
        assert_eq!(read.infers, Some(options));
        let (_, read) = read_of("select 1 from t, table ( infer_schema ( file_format=>'f', location=>'@s' ) )");
        assert_eq!((read.chosen.prefix.as_str(), read.infers), ("", Some(InferOptions::default())));
    }

    #[test]
    fn any_other_form_is_refused() {
        for (said, words) in [
            ("", "INFER_SCHEMA is read as"),
            ("LOCATION => '@s'", "needs its LOCATION and its FILE_FORMAT"),
            ("FILE_FORMAT => 'f'", "needs its LOCATION and its FILE_FORMAT"),
            ("LOCATION => 's', FILE_FORMAT => 'f'", "LOCATION of INFER_SCHEMA is a text, '@stage/path'"),
            ("LOCATION => @s, FILE_FORMAT => 'f'", "LOCATION of INFER_SCHEMA is"),
            ("LOCATION => '@s', LOCATION => '@u'", "LOCATION is given twice"),
            ("LOCATION => '@s', FILE_FORMAT => 'f', FILES => ('a' 'b')", "FILES of INFER_SCHEMA is"),
            ("LOCATION => '@s', FILE_FORMAT => 'f', MAX_FILE_COUNT => 0", "is a whole number from 1"),
            ("LOCATION => '@s', FILE_FORMAT => 'f', KIND => 'ICEBERG'", "KIND of INFER_SCHEMA is not supported"),
            ("LOCATION => '@s', FILE_FORMAT => 'f'", ""),
            ("LOCATION => '@s', FILE_FORMAT => 'f', KIND => 'standard'", ""),
        ] {
            let told = crate::parse(&format!("SELECT * FROM TABLE(INFER_SCHEMA({said}))"));
            match told {
                Ok(_) => assert_eq!(words, "", "{said}"),
                Err(error) => assert!(!words.is_empty() && error.message.contains(words), "{said}: {error}"),
            }
        }
        let loaded = "COPY INTO t FROM (SELECT * FROM TABLE(INFER_SCHEMA(LOCATION => '@s', FILE_FORMAT => 'f')))";
        assert!(crate::parse(loaded).unwrap_err().message.contains("a SELECT from one"));
    }
}
