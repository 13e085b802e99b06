//! Writes: `SET t.column = …` names the column alone in the engine.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Merge, MergeAction, MergeUpdateExpr, MergeUpdateKind, Statement, Update,
};

/// The targets of an UPDATE, wherever it stands.
pub(super) fn rewrite(statement: &mut Statement) {
    match statement {
        Statement::Update(Update { assignments, .. }) => assignments.iter_mut().for_each(unqualify),
        Statement::Merge(Merge { clauses, .. }) => {
            for clause in clauses {
                if let MergeAction::Update(MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) =
                    &mut clause.action
                {
                    assignments.iter_mut().for_each(unqualify);
                }
            }
        }
        _ => {}
    }
}

fn unqualify(assignment: &mut Assignment) {
    if let AssignmentTarget::ColumnName(name) = &mut assignment.target
        && let Some(column) = name.0.pop()
    {
        name.0 = vec![column];
    }
}
