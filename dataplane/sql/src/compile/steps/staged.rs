//! The record of a stage or file format in the engine: a macro that no caller can name, with the statement that made
//! it.

use sqlparser::ast::{AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind, Statement};

use super::{CountedStep, Step, on, quiet, whole};
use crate::ast::error::Error;
use crate::ast::{names, quote};
use crate::catalog::comment::Comment;
use crate::catalog::definition::DefinitionKind;

/// The steps of a statement that defines one; none of any other.
pub(super) fn of(statement: &Statement, comment: &Comment) -> Result<Option<Vec<CountedStep>>, Error> {
    let made = |word: &str, name: &ObjectName| {
        let kept = on("MACRO", &entry(name)?, whole(comment)?.as_deref());
        Ok(vec![text(format!("{word} {}() AS NULL", entry(name)?)), kept])
    };
    let steps = match statement {
        Statement::CreateStage { or_replace, if_not_exists, name, .. }
        | Statement::CreateFileFormat { or_replace, if_not_exists, name, .. } => {
            if *or_replace && *if_not_exists {
                return Err(Error::unsupported("OR REPLACE with IF NOT EXISTS"));
            }
            let word = if *or_replace { "CREATE OR REPLACE MACRO" } else { "CREATE MACRO" };
            made(&format!("{word}{}", if *if_not_exists { " IF NOT EXISTS" } else { "" }), name)?
        }
        Statement::Drop { names, if_exists, .. } => {
            let [name] = names.as_slice() else { return Ok(None) };
            if DefinitionKind::of_name(name).is_none() {
                return Ok(None);
            }
            vec![dropped(name, *if_exists)?]
        }
        Statement::AlterTable(AlterTable { name, operations, .. }) => {
            if DefinitionKind::of_name(name).is_none() {
                return Ok(None);
            }
            if comment.ours.is_none() {
                return Ok(Some(vec![dropped(name, true)?])); // IF EXISTS of one that is not there
            }
            match operations.as_slice() {
                [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }] => {
                    let mut parts: Vec<_> = names::parts(name).unwrap_or_default().into_iter().cloned().collect();
                    if let (Some(last), Some(new)) = (parts.last_mut(), names::last(new)) {
                        *last = new.clone();
                    }
                    let mut steps = vec![dropped(name, false)?];
                    steps.extend(made("CREATE MACRO", &ObjectName::from(parts))?);
                    steps
                }
                _ => vec![on("MACRO", &entry(name)?, whole(comment)?.as_deref())],
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(steps))
}

fn text(sql: String) -> CountedStep {
    quiet(Step::Text(sql))
}

fn dropped(name: &ObjectName, if_exists: bool) -> Result<CountedStep, Error> {
    let condition = if if_exists { "IF EXISTS " } else { "" };
    Ok(text(format!("DROP MACRO {condition}{}", entry(name)?)))
}

/// The full name of the engine's entry.
fn entry(name: &ObjectName) -> Result<String, Error> {
    let parts = names::parts(name).unwrap_or_default();
    let (last, home) = parts.split_last().ok_or_else(|| Error::unsupported("this form of name"))?;
    let last = DefinitionKind::entry_of(&last.value).ok_or_else(|| Error::unsupported("this form of name"))?;
    let home = home.iter().map(|part| part.value.as_str()).chain([last.as_str()]);
    Ok(home.map(quote::name).collect::<Vec<_>>().join("."))
}
