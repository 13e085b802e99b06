//! MERGE: a row of the target that several rows of the source would set is an error.
//!
//! The engine sets it by the row that it meets last. The rows that meet are counted in a step before; a target with rules
//! for the caller takes no MERGE, so every row that is counted is one that the caller sees.

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, Merge, MergeAction, MergeClauseKind, Query, SetExpr,
    Statement, TableFactor, Value,
};

use super::{CountedStep, Step, kept, quiet, tree};
use crate::ast::any_expression;
use crate::ast::call::call;
use crate::ast::error::Error;
use crate::dialect;

/// What the engine says of such a row.
pub const MET_TWICE: &str = "MERGE: a row of the target is met by several rows of the source";

/// The MERGE behind what counts the rows that meet; alone where none is set.
pub(super) fn counted(mut merge: Merge) -> Result<Vec<CountedStep>, Error> {
    let sets = |clause: &sqlparser::ast::MergeClause| {
        clause.clause_kind == MergeClauseKind::Matched && matches!(clause.action, MergeAction::Update(_))
    };
    if !merge.clauses.iter().any(sets) {
        return Ok(vec![CountedStep { step: tree(Statement::Merge(merge)), counts: true }]);
    }
    let mut steps = Vec::new();
    if is_volatile(&merge.source) {
        let TableFactor::Derived { subquery, .. } = &mut merge.source else {
            return Err(Error::unsupported("MERGE from a function that is another each time"));
        };
        steps.push(quiet(Step::Keep(std::mem::replace(subquery, kept(None)?))));
    }
    let flag = acted(&merge);
    if is_volatile(&merge.on) || is_volatile(&flag) {
        return Err(Error::unsupported("a condition of MERGE that is another each time"));
    }
    steps.push(quiet(Step::Check(meeting(&merge, flag)?)));
    steps.push(CountedStep { step: tree(Statement::Merge(merge)), counts: true });
    Ok(steps)
}

fn is_volatile(part: &impl crate::ast::Visit) -> bool {
    any_expression(part, |expr| matches!(expr, Expr::Function(_)) && dialect::is_volatile(expr))
}

/// Whether the row that is met is set: the first clause whose condition holds acts; NULL where none does.
fn acted(merge: &Merge) -> Expr {
    let truth = |is_true: bool| Expr::value(Value::Boolean(is_true));
    let matched = merge.clauses.iter().filter(|clause| clause.clause_kind == MergeClauseKind::Matched);
    let conditions = matched.map(|clause| sqlparser::ast::CaseWhen {
        condition: clause.predicate.clone().unwrap_or_else(|| truth(true)),
        result: truth(matches!(clause.action, MergeAction::Update(_))),
    });
    Expr::Case {
        case_token: sqlparser::ast::helpers::attached_token::AttachedToken::empty(),
        end_token: sqlparser::ast::helpers::attached_token::AttachedToken::empty(),
        operand: None,
        conditions: conditions.collect(),
        else_result: None,
    }
}

/// `SELECT error(…) FROM target JOIN source ON … WHERE <acts> IS NOT NULL GROUP BY rowid HAVING count(*) > 1 AND <sets>`.
fn meeting(merge: &Merge, flag: Expr) -> Result<Box<Query>, Error> {
    let unexpected = || Error::unsupported("MERGE into this");
    let name = match &merge.table {
        TableFactor::Table { alias: Some(alias), .. } => vec![alias.name.clone()],
        TableFactor::Table { name, alias: None, .. } => {
            crate::ast::names::parts(name).ok_or_else(unexpected)?.into_iter().cloned().collect()
        }
        _ => return Err(unexpected()),
    };
    let row = Expr::CompoundIdentifier(name.into_iter().chain([Ident::with_quote('"', "rowid")]).collect());
    let mut query = crate::syntax::parse::query(
        "SELECT CAST(1 AS INTEGER) AS met FROM t JOIN s ON TRUE WHERE TRUE GROUP BY g HAVING count(*) > 1 AND TRUE",
    )?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(unexpected()) };
    let [table] = select.from.as_mut_slice() else { return Err(unexpected()) };
    table.relation = merge.table.clone();
    let Some(join) = table.joins.first_mut() else { return Err(unexpected()) };
    join.relation = merge.source.clone();
    join.join_operator = JoinOperator::Inner(JoinConstraint::On((*merge.on).clone()));
    select.selection = Some(Expr::IsNotNull(Box::new(flag.clone())));
    select.group_by = GroupByExpr::Expressions(vec![row], Vec::new());
    if let Some(Expr::BinaryOp { right, .. }) = &mut select.having {
        **right = call("bool_or", [flag]);
    }
    if let Some(sqlparser::ast::SelectItem::ExprWithAlias { expr: Expr::Cast { expr, .. }, .. }) =
        select.projection.first_mut()
    {
        **expr = call("error", [Expr::value(Value::SingleQuotedString(MET_TWICE.to_owned()))]);
    }
    Ok(query)
}
