//! Stages and file formats, bound to their place, and what is kept of them.

mod unloaded;

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast::helpers::key_value_options::KeyValueOptions;
use sqlparser::ast::{
    AlterTable, AlterTableOperation, Expr, ObjectName, ObjectNamePart, RenameTableNameKind, SqlOption, Statement, Value,
};

use super::{Binder, located};
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::catalog::comment::Comment;
use crate::catalog::definition::{self, Definition, DefinitionKind};
use crate::catalog::file_format::FormatOptions;
use crate::catalog::own_stage;
use crate::catalog::stage::{Stage, StageFormat};
use crate::catalog::stage_location::StageLocation;
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::parse::{options, staged};
use crate::syntax::statement::{Operation, Statement as ParsedStatement, StatementKind};

pub use unloaded::unloaded_as_said;

/// A stage that there is, and where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlace {
    /// Names the folder of its files.
    pub id: String,
    /// Where they are instead, of an external stage.
    pub location: Option<StageLocation>,
    /// `schema.@name`, as policies and the log have it.
    pub path: String,
}

/// The stage that a name means in this session; it is written as SQL has it, without the `@`.
pub fn stage_named(catalog: &Catalog, name: &str, session: &SessionNames) -> Result<StagePlace, Error> {
    let name = staged::stage_name(name)?;
    let found = catalog.staged(DefinitionKind::Stage, &name, session)?;
    let Stage { id, location, .. } = found.stage()?;
    Ok(StagePlace { id, location, path: found.path() })
}

/// The path that a stage of this name has in this session, or would have.
pub fn stage_path(catalog: &Catalog, name: &str, session: &SessionNames) -> Option<String> {
    let written = TableName::of(&staged::stage_name(name).ok()?)?;
    Some(format!("{}.{}", session.home(catalog, &written)?, written.name))
}

/// The files that a statement lists or removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesAsked {
    pub stage_id: String,
    /// `schema.@name`, as policies have it.
    pub stage_path: String,
    /// Where the files of an external stage are.
    pub location: Option<StageLocation>,
    /// The stage's name, which stands before the paths that are told, unless it is an own stage.
    called: String,
    /// How the paths begin.
    pub path: String,
    /// For what of name and path together a regular expression holds.
    pub pattern: Option<String>,
    pub removes: bool,
}

impl FilesAsked {
    /// A file of it as LIST tells it.
    pub fn told(&self, path: &str) -> String {
        own_stage::listed(&self.called, path)
    }
}

/// The files that a statement is about, as this session means the name of their stage; none of any other statement.
pub fn files_asked(
    statement: &ParsedStatement,
    catalog: &Catalog,
    session: &SessionNames,
) -> Result<Option<FilesAsked>, Error> {
    let StatementKind::Files { done, path, pattern } = statement.kind() else { return Ok(None) };
    let (Statement::List(files) | Statement::Remove(files)) = statement.tree() else { return Ok(None) };
    let found = catalog.staged(DefinitionKind::Stage, &files.stage, session)?;
    let Stage { id, location, .. } = found.stage()?;
    Ok(Some(FilesAsked {
        stage_id: id,
        stage_path: found.path(),
        location,
        called: found.called().to_owned(),
        path: path.clone(),
        pattern: pattern.clone(),
        removes: *done == Operation::Delete,
    }))
}

/// The stages whose files are not in the environment; without an id and a location where these cannot be read.
pub fn external_stages(catalog: &Catalog) -> Vec<StagePlace> {
    let all = catalog.definitions().into_iter().filter(|one| one.kind == DefinitionKind::Stage);
    let external = all.filter_map(|one| match one.stage() {
        Ok(Stage { location: None, .. }) => None,
        Ok(Stage { id, location, .. }) => Some(StagePlace { id, location, path: one.path() }),
        Err(_) => Some(StagePlace { id: String::new(), location: None, path: one.path() }),
    });
    external.collect()
}

/// The path of the stage whose files an external table is made of; none of another table, and where it is not there.
pub fn stage_of_external(catalog: &Catalog, table: &Table) -> Option<String> {
    let kept = table.external.as_ref()?;
    let all = catalog.definitions().into_iter().filter(|one| one.kind == DefinitionKind::Stage);
    let mut alike = all.filter(|one| one.text.contains(&kept.stage_id));
    alike.find(|one| one.stage().is_ok_and(|stage| stage.id == kept.stage_id)).map(|one| one.path())
}

/// Where the files of the external stage are that a statement makes; none of any other statement.
pub fn stage_location(statement: &ParsedStatement) -> Result<Option<StageLocation>, Error> {
    match statement.tree() {
        Statement::CreateStage { file_format, .. } => Ok(StageLocation::taken_of(file_format)?.0),
        _ => Ok(None),
    }
}

/// The ids of all stages that there are, but for those of users.
pub fn stage_ids(catalog: &Catalog) -> Result<BTreeSet<String>, Error> {
    let all = catalog.definitions().into_iter().filter(|one| one.kind == DefinitionKind::Stage);
    let of_tables = catalog.tables().filter_map(|table| table.own_stage.clone());
    all.map(|one| Ok(one.stage()?.id)).chain(of_tables.map(Ok)).collect()
}

impl StageFormat {
    /// What it says, as this session means the name of a file format.
    pub(super) fn options(self, catalog: &Catalog, session: &SessionNames) -> Result<FormatOptions, Error> {
        match self {
            Self::Own(options) => Ok(options),
            Self::Named(written) => {
                let name = staged::format_name(&written)?;
                catalog.staged(DefinitionKind::FileFormat, &name, session)?.file_format()
            }
        }
    }
}

impl Definition {
    /// The file format that it is.
    pub(crate) fn file_format(&self) -> Result<FormatOptions, Error> {
        match self.statement()? {
            Statement::CreateFileFormat { options, .. } => FormatOptions::of(&options),
            _ => Err(Error::unsupported("this file format")),
        }
    }

    /// The stage that it is.
    pub(crate) fn stage(&self) -> Result<Stage, Error> {
        match self.statement()? {
            Statement::CreateStage { file_format, .. } => Stage::kept(file_format),
            _ => Err(Error::unsupported("this stage")),
        }
    }

    fn with_text(&self, text: &str, words: Option<String>) -> Comment {
        Comment { words, ..definition::comment(&self.home, text) }
    }
}

impl Binder<'_> {
    /// The stage or file format of this name.
    pub(super) fn staged_named(&self, name: &ObjectName) -> Result<Arc<Definition>, Error> {
        let kind = DefinitionKind::of_name(name).ok_or_else(|| Error::unsupported("this form of name"))?;
        self.catalog.staged(kind, name, self.session).map_err(|error| located(error, name))
    }

    /// One that is dropped, by its full name.
    pub(super) fn staged_dropped(&self, name: &mut ObjectName, if_exists: bool) -> Result<(), Error> {
        match self.staged_named(name) {
            Ok(found) => *name = DefinitionKind::place(&found.schema, &found.name),
            Err(_) if if_exists => self.staged_new(name)?,
            Err(missing) => return Err(missing),
        }
        Ok(())
    }

    /// The full name of one that is not there yet.
    pub(super) fn staged_new(&self, name: &mut ObjectName) -> Result<(), Error> {
        self.new_table(name)?;
        if let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() {
            last.quote_style = None;
        }
        Ok(())
    }

    /// What is kept of one that is made.
    pub(super) fn staged_made(&self, tree: &Statement) -> Result<Comment, Error> {
        let (Statement::CreateStage { name, if_not_exists, file_format: options, comment, .. }
        | Statement::CreateFileFormat { name, if_not_exists, options, comment, .. }) = tree
        else {
            return Ok(Comment::default());
        };
        if *if_not_exists && let Ok(there) = self.staged_named(&unbound(name)) {
            return Ok(there.kept());
        }
        let text = match DefinitionKind::of_name(name) {
            Some(DefinitionKind::FileFormat) => format_text(name, &FormatOptions::of(options)?),
            _ => stage_text(name, &self.formatted(Stage::of(&self.session.statement_id, options)?)?),
        };
        let home = definition::searched(&self.session.search_path);
        Ok(Comment { words: comment.clone(), ..definition::comment(&home, &text) })
    }

    /// A stage whose file format has its full name, so that it means the same wherever the stage is read.
    fn formatted(&self, mut stage: Stage) -> Result<Stage, Error> {
        if let StageFormat::Named(written) = &mut stage.format {
            let found =
                self.catalog.staged(DefinitionKind::FileFormat, &staged::format_name(written)?, self.session)?;
            *written = names_in(&found);
        }
        Ok(stage)
    }

    /// What is kept of one that is altered, which gets its full name.
    pub(super) fn staged_altered(&self, alter: &mut AlterTable) -> Result<Comment, Error> {
        let found = match self.staged_named(&alter.name) {
            Err(_) if alter.if_exists => {
                self.staged_new(&mut alter.name)?;
                return Ok(Comment::default());
            }
            found => found?,
        };
        alter.name = DefinitionKind::place(&found.schema, &found.name);
        let set = match alter.operations.as_slice() {
            [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }] => {
                let Some(new) = names::single(new) else {
                    return Err(located(Error::unsupported("RENAME into another schema"), new));
                };
                return renamed(&found, &DefinitionKind::place(&found.schema, &new.value));
            }
            [AlterTableOperation::SetTblProperties { table_properties }] => options_set(table_properties)?,
            _ => return Err(Error::unsupported("this change of a stage")),
        };
        let (set, words) = staged::uncommented(set)?;
        let text = if found.kind == DefinitionKind::FileFormat {
            let mut format = found.file_format()?;
            format.change(&set)?;
            format_text(&alter.name, &format)
        } else {
            let mut stage = found.stage()?;
            stage.change(&set)?;
            stage_text(&alter.name, &self.formatted(stage)?)
        };
        Ok(found.with_text(&text, words.or_else(|| found.comment.clone())))
    }
}

fn renamed(found: &Definition, new: &ObjectName) -> Result<Comment, Error> {
    let text = match found.kind {
        DefinitionKind::FileFormat => format_text(new, &found.file_format()?),
        _ => stage_text(new, &found.stage()?),
    };
    Ok(found.with_text(&text, found.comment.clone()))
}

fn options_set(set: &[SqlOption]) -> Result<KeyValueOptions, Error> {
    let text = set.iter().find_map(|option| match option {
        SqlOption::KeyValue { value: Expr::Value(value), .. } => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    });
    options::of_text(text.ok_or_else(|| Error::unsupported("this change of a stage"))?)
}

/// The name as it is looked for: what binding puts before it is taken away.
fn unbound(name: &ObjectName) -> ObjectName {
    let parts = names::parts(name).unwrap_or_default();
    let own = parts.into_iter().filter(|part| part.value != names::RAW_CATALOG);
    ObjectName::from(own.cloned().collect::<Vec<_>>())
}

fn stage_text(name: &ObjectName, stage: &Stage) -> String {
    format!("CREATE STAGE {} {}", called(name), stage.written())
}

fn format_text(name: &ObjectName, format: &FormatOptions) -> String {
    format!("CREATE FILE FORMAT {} {}", called(name), format.written())
}

/// The name alone, without what makes it one of its kind.
fn called(name: &ObjectName) -> String {
    let sign = DefinitionKind::of_name(name).map_or("", DefinitionKind::sign);
    let last = names::last(name).map_or("", |last| last.value.as_str());
    crate::ast::quote::name(last.strip_prefix(sign).unwrap_or(last))
}

/// The full name of a definition, as it is written.
fn names_in(found: &Definition) -> String {
    format!("{}.{}", crate::ast::quote::name(&found.schema), crate::ast::quote::name(found.called()))
}
