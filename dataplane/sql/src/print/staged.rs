//! Statements about stages and file formats, for the log. The engine gets what is kept of them (`compile/steps`).

use sqlparser::ast::{AlterTable, AlterTableOperation, Ident, ObjectName, RenameTableNameKind, Statement};

use super::Printer;
use crate::ast::error::Error;
use crate::ast::names;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::own_stage;

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
        self.done(" ?")
    }

    /// The name without what makes it one of its kind.
    fn staged_name(&mut self, name: &ObjectName) -> Result<(), Error> {
        let mut parts: Vec<_> = names::parts(name).unwrap_or_default().into_iter().cloned().collect();
        let Some(mut last) = parts.pop() else { return Ok(()) };
        let kind = DefinitionKind::of_name(name);
        if let Some(kind) = kind {
            last.value = last.value.strip_prefix(kind.sign()).unwrap_or_default().to_owned();
        }
        if !parts.is_empty() {
            self.name(&ObjectName::from(parts))?;
            self.put(".");
        }
        let is_own = kind == Some(DefinitionKind::Stage) && own_stage::is_own(&last.value);
        match last.value.strip_prefix(own_stage::TABLE_SIGN).filter(|_| is_own) {
            Some(table) => {
                self.put(own_stage::TABLE_SIGN);
                self.ident(&Ident::new(table));
            }
            None if is_own => self.put(own_stage::USER),
            None => self.ident(&last),
        }
        Ok(())
    }
}
