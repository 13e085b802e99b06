//! Writes: `SET t.column = …` names the column alone in the engine, which would take any word before it.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, DoUpdate, FromTable, Ident, Insert, Merge, MergeAction, MergeUpdateExpr,
    MergeUpdateKind, ObjectName, ObjectNamePart, OnConflict, OnConflictAction, OnInsert, Statement, TableFactor,
    TableObject, TableWithJoins, Update, UpdateTableFromKind,
};

use crate::ast::error::Error;

/// The targets of an UPDATE, wherever it stands.
pub(super) fn rewrite(statement: &mut Statement) -> Result<(), Error> {
    match statement {
        Statement::Update(Update { table, assignments, .. }) => unqualify(assignments, Target::of(&table.relation)),
        Statement::Merge(Merge { table, clauses, .. }) => {
            clauses.iter_mut().try_for_each(|clause| match &mut clause.action {
                MergeAction::Update(MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) => {
                    unqualify(assignments, Target::of(table))
                }
                _ => Ok(()),
            })
        }
        Statement::Insert(Insert {
            table: TableObject::TableName(name),
            table_alias,
            on:
                Some(OnInsert::OnConflict(OnConflict {
                    action: OnConflictAction::DoUpdate(DoUpdate { assignments, .. }),
                    ..
                })),
            ..
        }) => unqualify(
            assignments,
            Target { name: Some(name), alias: table_alias.as_ref().map(|written| &written.alias) },
        ),
        _ => Ok(()),
    }
}

/// The relations whose columns the expressions of a statement that writes can name.
pub(super) fn relations(statement: &Statement) -> Vec<&TableFactor> {
    match statement {
        Statement::Update(Update { table, from, .. }) => {
            let others = match from {
                Some(UpdateTableFromKind::AfterSet(tables) | UpdateTableFromKind::BeforeSet(tables)) => {
                    tables.as_slice()
                }
                None => &[],
            };
            beside(std::slice::from_ref(table)).chain(beside(others)).collect()
        }
        Statement::Delete(Delete { from, using, .. }) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = from;
            beside(from).chain(using.as_deref().into_iter().flat_map(beside)).collect()
        }
        Statement::Merge(Merge { table, source, .. }) => vec![table, source],
        _ => Vec::new(),
    }
}

fn beside(tables: &[TableWithJoins]) -> impl Iterator<Item = &TableFactor> {
    tables
        .iter()
        .flat_map(|table| std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)))
}

fn unqualify(assignments: &mut [Assignment], target: Target<'_>) -> Result<(), Error> {
    for assignment in assignments {
        if let AssignmentTarget::ColumnName(name) = &mut assignment.target
            && let Some(column) = name.0.pop()
        {
            let path = std::mem::replace(&mut name.0, vec![column]);
            if !target.is(&path) {
                return Err(Error::no_column(&ObjectName(path).to_string(), &name.to_string()));
            }
        }
    }
    Ok(())
}

/// The target of a write, as the statement has it.
#[derive(Clone, Copy)]
struct Target<'a> {
    name: Option<&'a ObjectName>,
    alias: Option<&'a Ident>,
}

impl<'a> Target<'a> {
    fn of(factor: &'a TableFactor) -> Self {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                Self { name: Some(name), alias: alias.as_ref().map(|alias| &alias.name) }
            }
            _ => Self { name: None, alias: None },
        }
    }

    /// Whether a path means it: none, its alias, or the end of its name.
    fn is(self, path: &[ObjectNamePart]) -> bool {
        let name = self.name.map_or(&[][..], |name| &name.0);
        let same = |one: &ObjectNamePart, other: Option<&Ident>| match (one.as_ident(), other) {
            (Some(one), Some(other)) => one.value.eq_ignore_ascii_case(&other.value),
            _ => false,
        };
        let is_alias = matches!(path, [one] if same(one, self.alias));
        let ends = path.len() <= name.len()
            && path.iter().rev().zip(name.iter().rev()).all(|(one, other)| same(one, other.as_ident()));
        is_alias || ends
    }
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::shown;

    /// UPDATE and MERGE are in the corpus, whose tables have no key.
    #[test]
    fn what_a_conflict_sets_is_named_by_the_table_alone() {
        let made = |set: &str| {
            let sql = format!("INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET {set}");
            shown(&sql, &Rules::default())
        };
        let alone = made("note = excluded.note");
        assert!(alone.ends_with(r#"SET "note" = "excluded"."note""#), "{alone}");
        assert_eq!(made("Orders.note = excluded.note"), alone);
        assert_eq!(made("main.orders.note = excluded.note"), alone);
        assert!(made("excluded.note = 'x'").ends_with("column note of excluded does not exist"));
    }
}
