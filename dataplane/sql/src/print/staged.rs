//! Statements about stages and file formats, for the log. The engine gets what is kept of them (`compile/steps`).

use sqlparser::ast::{AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind, Statement};

use super::Printer;
use crate::ast::error::Error;
use crate::ast::names;
use crate::catalog::definition::DefinitionKind;

impl Printer<'_> {
    /// Prints such a statement; nothing is printed of any other.
    pub(super) fn staged(&mut self, statement: &Statement) -> Result<bool, Error> {
        let exists = |words, is: bool| if is { words } else { "" };
        match statement {
            Statement::CreateStage { or_replace, if_not_exists, name, .. }
            | Statement::CreateFileFormat { or_replace, if_not_exists, name, .. } => {
                let verb = if *or_replace { "CREATE OR REPLACE " } else { "CREATE " };
                self.staged_object(verb, exists("IF NOT EXISTS ", *if_not_exists), name)?;
                self.put(" ?");
            }
            Statement::Drop { if_exists, names, .. } => {
                let [name] = names.as_slice() else { return Ok(false) };
                if DefinitionKind::of_name(name).is_none() {
                    return Ok(false);
                }
                self.staged_object("DROP ", exists("IF EXISTS ", *if_exists), name)?;
            }
            Statement::AlterTable(AlterTable { name, if_exists, operations, .. }) => {
                if DefinitionKind::of_name(name).is_none() {
                    return Ok(false);
                }
                self.staged_object("ALTER ", exists("IF EXISTS ", *if_exists), name)?;
                match operations.as_slice() {
                    [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }] => {
                        self.put(" RENAME TO ");
                        self.staged_name(new)?;
                    }
                    _ => self.put(" SET ?"),
                }
            }
            Statement::List(files) => self.staged_files("LIST @", &files.stage)?,
            Statement::Remove(files) => self.staged_files("REMOVE @", &files.stage)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn staged_object(&mut self, verb: &str, condition: &str, name: &ObjectName) -> Result<(), Error> {
        self.warehouse_only("a statement about a stage")?;
        let word = match DefinitionKind::of_name(name) {
            Some(DefinitionKind::FileFormat) => "FILE FORMAT ",
            _ => "STAGE ",
        };
        self.put(verb);
        self.put(word);
        self.put(condition);
        self.staged_name(name)
    }

    fn staged_files(&mut self, verb: &str, stage: &ObjectName) -> Result<(), Error> {
        self.warehouse_only("a statement about the files of a stage")?;
        self.put(verb);
        self.staged_name(stage)?;
        self.put(" ?");
        Ok(())
    }

    /// The name without what makes it one of its kind.
    fn staged_name(&mut self, name: &ObjectName) -> Result<(), Error> {
        let mut parts: Vec<_> = names::parts(name).unwrap_or_default().into_iter().cloned().collect();
        if let (Some(kind), Some(last)) = (DefinitionKind::of_name(name), parts.last_mut()) {
            last.value = last.value.strip_prefix(kind.sign()).unwrap_or_default().to_owned();
        }
        self.name(&ObjectName::from(parts))
    }
}
