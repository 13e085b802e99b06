//! Options behind the stage of COPY INTO a table: which files are loaded, how they are read, and what is an error.

use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptionKind, KeyValueOptions};
use sqlparser::dialect::SnowflakeDialect;
use sqlparser::tokenizer::{Location, TokenWithSpan};

use crate::ast::error::Error;
use crate::catalog::file_format::{counted, flagged, listed, word};
use crate::catalog::stage::{StageFormat, format};
use crate::catalog::staged_rows::{
    AfterLoad, ErrorLimit, FileChoice, LoadOptions, MetadataColumn, NameMatching, OnError, StageRead, ToldFiles,
    ValidatedFiles, metadata_named,
};
use crate::syntax::parse::{end, options, parser, refused};

/// Files that are named at most, as documented.
pub(super) const NAMES_MAX: usize = 1_000;
/// Records that are shown at most.
const SHOWN_MAX: u64 = 10_000;

/// The options behind the stage of COPY INTO.
pub(super) struct CopyOptions {
    pub names: Vec<String>,
    pub pattern: Option<String>,
    pub format: Option<StageFormat>,
    pub load: LoadOptions,
    pub metadata: Vec<MetadataColumn>,
}

impl CopyOptions {
    pub fn said(tokens: &[TokenWithSpan]) -> Result<Self, Error> {
        let mut parser = parser(&SnowflakeDialect {}, tokens.to_vec());
        let given = options::options(&mut parser).map_err(refused)?;
        end(&parser).map_err(refused)?;
        Self::of(&given)
    }

    fn of(given: &KeyValueOptions) -> Result<Self, Error> {
        let (load, metadata) = (LoadOptions::default(), Vec::new());
        let mut copy = Self { names: Vec::new(), pattern: None, format: None, load, metadata };
        given.options.iter().try_for_each(|option| copy.takes(option))?;
        if !copy.names.is_empty() && copy.pattern.is_some() {
            return Err(Error::syntax("FILES and PATTERN do not stand together"));
        }
        if !copy.metadata.is_empty() && copy.load.by_name.is_none() {
            return Err(Error::syntax("INCLUDE_METADATA stands with MATCH_BY_COLUMN_NAME"));
        }
        if copy.load.shows().is_some() {
            copy.load.on_error = OnError::Abort; // the first record that fails ends it
        }
        Ok(copy)
    }

    fn takes(&mut self, option: &KeyValueOption) -> Result<(), Error> {
        let name = option.option_name.to_ascii_uppercase();
        let flag = || flagged(option).ok_or_else(|| Error::syntax(format!("{name} is TRUE or FALSE")));
        match name.as_str() {
            "FILES" => {
                let names = listed(option).filter(|names| (1..=NAMES_MAX).contains(&names.len()));
                self.names =
                    names.ok_or_else(|| Error::syntax(format!("FILES is a list of up to {NAMES_MAX} texts")))?;
            }
            "PATTERN" => self.pattern = Some(word(option)?.to_owned()),
            "FILE_FORMAT" => self.format = Some(format(option)?),
            "MATCH_BY_COLUMN_NAME" => self.load.by_name = matching(option)?,
            "INCLUDE_METADATA" => self.metadata = included(option)?,
            "ON_ERROR" => self.load.on_error = on_error(option)?,
            "TRUNCATECOLUMNS" => self.load.truncates = flag()?,
            // the same said the other way round
            "ENFORCE_LENGTH" => self.load.truncates = !flag()?,
            "FORCE" => self.load.forces = flag()?,
            "PURGE" => self.load.after = if flag()? { AfterLoad::Removed } else { AfterLoad::Stays },
            "RETURN_FAILED_ONLY" => self.load.told = if flag()? { ToldFiles::Failed } else { ToldFiles::All },
            "VALIDATION_MODE" => self.load.validates = Some(validated(option)?),
            "SIZE_LIMIT" => {
                let bytes = counted(option).filter(|bytes| *bytes > 0);
                self.load.size_limit = Some(bytes.ok_or_else(|| Error::syntax("SIZE_LIMIT is a number of bytes"))?);
            }
            // a file that nothing is known of is loaded anyway
            "LOAD_UNCERTAIN_FILES" => {
                flag()?;
            }
            _ => return Err(Error::unsupported(format!("this {name} of COPY INTO"))),
        }
        Ok(())
    }

    pub fn read(self, at: Location, path: String) -> StageRead {
        let Self { names, pattern, format, load, metadata } = self;
        let chosen = FileChoice { prefix: path, names, pattern };
        let load = Some(load);
        StageRead { at, chosen, format, width: 0, members: None, load, metadata, infers: None, job: None }
    }
}

fn matching(option: &KeyValueOption) -> Result<Option<NameMatching>, Error> {
    match word(option)?.to_ascii_uppercase().as_str() {
        "NONE" => Ok(None),
        "CASE_SENSITIVE" => Ok(Some(NameMatching::CaseSensitive)),
        "CASE_INSENSITIVE" => Ok(Some(NameMatching::CaseInsensitive)),
        _ => Err(Error::syntax("MATCH_BY_COLUMN_NAME is CASE_SENSITIVE, CASE_INSENSITIVE or NONE")),
    }
}

/// `(column = METADATA$FILENAME, …)`.
fn included(option: &KeyValueOption) -> Result<Vec<MetadataColumn>, Error> {
    let wrong = || Error::syntax("INCLUDE_METADATA is (column = METADATA$FILENAME, …)");
    let KeyValueOptionKind::KeyValueOptions(within) = &option.option_value else { return Err(wrong()) };
    let one = |option: &KeyValueOption| {
        let value = metadata_named(word(option)?).ok_or_else(wrong)?;
        Ok(MetadataColumn { column: option.option_name.clone(), value })
    };
    within.options.iter().map(one).collect()
}

fn validated(option: &KeyValueOption) -> Result<ValidatedFiles, Error> {
    match word(option)?.to_ascii_uppercase().as_str() {
        "RETURN_ERRORS" => Ok(ValidatedFiles::Unloaded),
        "RETURN_ALL_ERRORS" => Ok(ValidatedFiles::All),
        other => {
            let digits = other.strip_prefix("RETURN_").and_then(|rest| rest.strip_suffix("_ROWS")).unwrap_or_default();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let count = digits.parse().ok().filter(|count| is_number && (1..=SHOWN_MAX).contains(count));
            let forms =
                format!("VALIDATION_MODE is RETURN_n_ROWS, n up to {SHOWN_MAX}, RETURN_ERRORS or RETURN_ALL_ERRORS");
            count.map(ValidatedFiles::First).ok_or_else(|| Error::syntax(forms))
        }
    }
}

fn on_error(option: &KeyValueOption) -> Result<OnError, Error> {
    let said = word(option)?.to_ascii_uppercase();
    let counted = said.strip_prefix("SKIP_FILE_").and_then(error_limit).map(OnError::SkipFile);
    let found = match said.as_str() {
        "ABORT_STATEMENT" => Some(OnError::Abort),
        "CONTINUE" => Some(OnError::Continue),
        "SKIP_FILE" => Some(OnError::SkipFile(ErrorLimit::Count(1))),
        _ => counted,
    };
    let forms = "ON_ERROR is ABORT_STATEMENT, CONTINUE, SKIP_FILE, SKIP_FILE_n or 'SKIP_FILE_n%'";
    found.ok_or_else(|| Error::syntax(forms))
}

/// `5`, or `5%`.
fn error_limit(text: &str) -> Option<ErrorLimit> {
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_number)
    };
    match text.strip_suffix('%') {
        Some(percent) => number(percent).filter(|percent| *percent <= 100).map(ErrorLimit::Percent),
        None => number(text).filter(|count| *count > 0).map(ErrorLimit::Count),
    }
}
