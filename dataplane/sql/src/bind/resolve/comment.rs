//! Comments that the engine is to keep: of a definition, and of COMMENT ON.

use std::sync::Arc;

use sqlparser::ast::{self, ColumnOption, CommentObject, CreateTable, DataType, ObjectName};

use super::{Binder, located};
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::catalog::column_comment::{ColumnComment, SpelledType, length, length_named};
use crate::catalog::comment::{self, Comment};
use crate::catalog::definition::{self, Definition, DefinitionKind};

impl Binder<'_> {
    /// Of a statement whose target is bound. `text` is that of one which makes a view or a function.
    pub(super) fn comment(&self, tree: &mut ast::Statement, text: &str) -> Result<Comment, Error> {
        use ast::Statement as S;
        let defined = || definition::comment(&definition::searched(&self.session.search_path), text);
        match tree {
            S::CreateStage { .. } | S::CreateFileFormat { .. } => self.staged_made(tree),
            S::AlterTable(alter) if DefinitionKind::of_name(&alter.name).is_some() => self.staged_altered(alter),
            S::CreateTable(create) => Ok(self.of_table(create)),
            S::CreateView(create) => Ok(Comment { words: create.comment.clone(), ..defined() }),
            S::CreateFunction(_) => Ok(defined()),
            S::AlterTable(alter) => self.altered(alter),
            S::Comment { object_type, object_name, comment, .. } => {
                self.commented(*object_type, object_name, comment.take())
            }
            _ => Ok(Comment::default()),
        }
    }

    /// One that is there already says what it said.
    fn of_table(&self, create: &mut CreateTable) -> Comment {
        if create.if_not_exists && self.is_there(&create.name) {
            for column in &mut create.columns {
                column.options.retain(|option| !matches!(option.option, ColumnOption::Comment(_)));
                let spelled = SpelledType::of(&column.data_type);
                if spelled == Some(SpelledType::Jsonb) {
                    column.data_type = DataType::JSON;
                } else if spelled.is_some() || length(&column.data_type).is_some() {
                    column.data_type = DataType::Text;
                }
            }
            return Comment::default();
        }
        Comment { words: comment::of_table(create).map(str::to_owned), ..Comment::default() }
    }

    fn is_there(&self, bound: &ObjectName) -> bool {
        TableName::of(bound).is_some_and(|TableName { database, schema, name }| {
            let is_temporary = database.as_deref() == Some(names::TEMP_CATALOG);
            let schema = if is_temporary { Some(names::TEMPORARY_SCHEMA) } else { schema.as_deref() };
            schema.is_some_and(|schema| self.catalog.get(schema, &name).is_some())
        })
    }

    /// Binds what is commented on; what else is kept with it stays.
    fn commented(&self, on: CommentObject, name: &mut ObjectName, words: Option<String>) -> Result<Comment, Error> {
        let (mut relation, column) = comment::described(on, name);
        if on == CommentObject::View {
            let Some(view) = self.view_named(&relation) else {
                let found = self.existing(&mut relation).map(|table| table.path());
                return Err(located(found.map_or_else(|missing| missing, |table| not_a_view(&table)), name));
            };
            *name = names::qualified(&view.schema, &view.name);
            return Ok(Comment { words, ..view.kept() });
        }
        let table = match self.existing(&mut relation) {
            Err(_) if self.view_named(&relation).is_some() => {
                return Err(located(Error::unsupported(format!("COMMENT ON {on} of a view")), name));
            }
            found => found?,
        };
        let Some(column) = column else {
            *name = relation;
            let (ours, own_stage) = (table.origin.clone(), table.own_stage.clone());
            return Ok(Comment { words, ours, own_stage, ..Comment::default() });
        };
        let found = table.column(&column.value).ok_or_else(|| Error::no_column(&table.path(), &column.value))?;
        let parts = names::parts(&relation).unwrap_or_default().into_iter().cloned();
        *name = ObjectName::from(parts.chain([names::quoted(&found.name)]).collect::<Vec<_>>());
        let length = length_named(&found.type_name);
        let words = ColumnComment { words, length, spelled: found.spelled }.kept();
        Ok(Comment { words, ..Comment::default() })
    }

    pub(super) fn view_named(&self, name: &ObjectName) -> Option<Arc<Definition>> {
        let name = TableName::of(name).filter(|name| !name.is_reserved())?;
        self.catalog.defined(definition::DefinitionKind::View, &name, self.session)
    }
}

fn not_a_view(table: &str) -> Error {
    Error::unsupported(format!("COMMENT ON VIEW of the table {table}"))
}
