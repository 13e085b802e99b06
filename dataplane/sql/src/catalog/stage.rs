//! A stage: where files lie that tables are loaded from and unloaded to, and how they are read unless a statement says.

use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptionKind, KeyValueOptions};

use crate::ast::error::Error;
use crate::ast::quote;
use crate::catalog::file_format::{FileType, FormatOptions, flagged, word};
use crate::catalog::stage_location::StageLocation;

/// How the files of a stage are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StageFormat {
    /// As the file format of this name says.
    Named(String),
    Own(FormatOptions),
}

/// A file of a stage, as statements tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The stage's name, a slash, and the path below it.
    pub name: String,
    pub bytes: u64,
    pub md5: String,
    /// When it was put there, in words.
    pub last_modified: String,
}

/// The record of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Names the folder of its files, whatever the stage is called.
    pub id: String,
    pub format: StageFormat,
    /// Of an external stage; the files of others are in the environment.
    pub location: Option<StageLocation>,
}

/// What no caller writes: the option that keeps the id.
const ID: &str = "ID";

impl Stage {
    /// The stage that these options make.
    pub fn of(id: &str, options: &KeyValueOptions) -> Result<Self, Error> {
        let format = StageFormat::Own(FormatOptions::new(FileType::Csv));
        let (location, others) = StageLocation::taken_of(options)?;
        let mut stage = Self { id: id.to_owned(), format, location };
        stage.change(&others)?;
        Ok(stage)
    }

    /// The stage that [`Stage::written`] has written.
    pub fn kept(mut options: KeyValueOptions) -> Result<Self, Error> {
        let is_id = |option: &KeyValueOption| option.option_name == ID;
        let place =
            options.options.iter().position(is_id).ok_or_else(|| Error::unsupported("a stage without an id"))?;
        let id = options.options.remove(place);
        Self::of(word(&id)?, &options)
    }

    /// The same with these options in place of its own.
    pub fn change(&mut self, options: &KeyValueOptions) -> Result<(), Error> {
        for option in &options.options {
            let refused = match option.option_name.to_ascii_uppercase().as_str() {
                "FILE_FORMAT" => {
                    self.format = format(option)?;
                    continue;
                }
                "DIRECTORY" if !has_directory(option)? => continue,
                "DIRECTORY" => "a directory table of a stage".to_owned(),
                "CREDENTIALS" => "CREDENTIALS in SQL".to_owned(),
                "URL" | "STORAGE_INTEGRATION" => "another URL for a stage that is there".to_owned(),
                name => format!("{name} of a stage"),
            };
            return Err(Error::unsupported(refused));
        }
        Ok(())
    }

    /// Its options as SQL.
    pub fn written(&self) -> String {
        let format = match &self.format {
            StageFormat::Named(name) => format!("FORMAT_NAME = {}", quote::text(name)),
            StageFormat::Own(format) => format.written(),
        };
        let location = self.location.as_ref().map_or_else(String::new, StageLocation::written);
        format!("{ID} = {}{location} FILE_FORMAT = ({format})", quote::text(&self.id))
    }
}

/// `FILE_FORMAT = (FORMAT_NAME = f)`, `FILE_FORMAT = f` or `FILE_FORMAT = (TYPE = CSV …)`.
pub(crate) fn format(option: &KeyValueOption) -> Result<StageFormat, Error> {
    let within = match &option.option_value {
        KeyValueOptionKind::KeyValueOptions(within) => within,
        KeyValueOptionKind::Multi(values) if values.is_empty() => {
            return Ok(StageFormat::Own(FormatOptions::new(FileType::Csv)));
        }
        _ => return Ok(StageFormat::Named(word(option)?.to_owned())),
    };
    let is_name = |option: &&KeyValueOption| option.option_name.eq_ignore_ascii_case("FORMAT_NAME");
    match within.options.iter().find(is_name) {
        None => Ok(StageFormat::Own(FormatOptions::of(within)?)),
        Some(name) if within.options.len() == 1 => Ok(StageFormat::Named(word(name)?.to_owned())),
        Some(_) => Err(Error::syntax("FORMAT_NAME stands alone")),
    }
}

fn has_directory(option: &KeyValueOption) -> Result<bool, Error> {
    let wrong = || Error::syntax("DIRECTORY is (ENABLE = TRUE | FALSE)");
    let KeyValueOptionKind::KeyValueOptions(within) = &option.option_value else { return Err(wrong()) };
    match within.options.as_slice() {
        [one] if one.option_name.eq_ignore_ascii_case("ENABLE") => flagged(one).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}
