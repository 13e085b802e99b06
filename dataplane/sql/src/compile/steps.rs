//! One statement of the warehouse that is several of the engine, run one after another in one transaction.
//!
//! The last of them is the one that answers. What the others read is kept in a temporary table that no caller can
//! name, so that a statement that reads what it writes reads it as it was.

mod merge;
mod staged;

pub use merge::MET_TWICE;

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, BinaryOperator, ColumnDef, ColumnOption, CommentObject,
    CreateTable, Delete, Expr, FromTable, Ident, Insert, MultiTableInsertIntoClause, MultiTableInsertType,
    MultiTableInsertValue, ObjectName, Query, RenameTableNameKind, SelectItem, SetExpr, Statement, TableFactor,
    TableObject, UnaryOperator, Value,
};

use crate::ast::call::call;
use crate::ast::error::Error;
use crate::ast::expression::binary;
use crate::ast::names::ours::{CHECK, NOTHING, SOURCE};
use crate::ast::{names, quote};
use crate::bind::sequence;
use crate::catalog::column_comment::{ColumnComment, SpelledType, length};
use crate::catalog::comment::Comment;
use crate::dialect;

/// Expressions that the conditions of one INSERT FIRST become: each stands behind all that were before it.
const CONDITIONS_MAX: usize = 100_000;

/// One statement for the engine.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Tree(Box<Statement>),
    /// The rows of this query, kept for the steps behind.
    Keep(Box<Query>),
    /// A query that answers nothing, or fails.
    Check(Box<Query>),
    /// A definition in the engine's own words.
    Text(String),
}

/// A step, and whether the rows it changes are the caller's.
#[derive(Debug, Clone)]
pub(crate) struct CountedStep {
    pub step: Step,
    pub counts: bool,
}

fn quiet(step: Step) -> CountedStep {
    CountedStep { step, counts: false }
}

fn tree(statement: Statement) -> Step {
    Step::Tree(Box::new(statement))
}

/// The steps of a statement, in order; never none.
pub(crate) fn of(
    statement: Box<Statement>,
    comment: &Comment,
    sequences: sequence::Changed,
) -> Result<Vec<CountedStep>, Error> {
    let sequence::Changed { made, ending } = sequences;
    if let Some(steps) = staged::of(&statement, comment)? {
        return Ok(steps);
    }
    let mut steps = match *statement {
        Statement::Query(_) => vec![CountedStep { step: Step::Tree(statement), counts: true }],
        Statement::CreateTable(create) => table(create, comment, made),
        other => without_sequences(other, comment)?,
    };
    steps.extend(ending.iter().map(dropped));
    Ok(steps)
}

/// A table, behind the sequences that its columns count by.
fn table(mut create: CreateTable, comment: &Comment, sequences: Vec<Statement>) -> Vec<CountedStep> {
    let mut steps = Vec::new();
    if create.or_replace && !sequences.is_empty() {
        steps.push(quiet(Step::Text(format!("DROP TABLE IF EXISTS {}", path(&create.name)))));
    }
    if !create.if_not_exists {
        // one that a table dropped since has left
        steps.extend(sequences.iter().filter_map(|made| match made {
            Statement::CreateSequence { name, .. } => Some(dropped(name)),
            _ => None,
        }));
    }
    steps.extend(sequences.into_iter().map(|made| quiet(tree(made))));
    let kept = comment.kept().map(|kept| on("TABLE", &path(&create.name), Some(&kept)));
    let columns = create.columns.iter().filter_map(|column| on_column(&create.name, column));
    let comments: Vec<_> = kept.into_iter().chain(columns).collect();
    if create.query.is_some() {
        // the rows say which columns there are; the lengths of their texts are said above
        create.columns.clear();
    }
    steps.push(CountedStep { step: tree(Statement::CreateTable(create)), counts: true });
    steps.extend(comments);
    steps
}

fn dropped(sequence: &ObjectName) -> CountedStep {
    quiet(Step::Text(format!("DROP SEQUENCE IF EXISTS {}", path(sequence))))
}

fn without_sequences(statement: Statement, comment: &Comment) -> Result<Vec<CountedStep>, Error> {
    match statement {
        Statement::Insert(insert) if insert.multi_table_insert_type.is_some() => many(insert),
        Statement::Insert(insert) if insert.overwrite => overwrite(insert),
        Statement::Merge(merge) => merge::counted(merge),
        Statement::CreateView(create) => {
            let comment = on("VIEW", &path(&create.name), whole(comment)?.as_deref());
            Ok(vec![quiet(tree(Statement::CreateView(create))), comment])
        }
        Statement::AlterTable(alter) if comment.ours.is_some() => view_renamed(&alter, comment),
        Statement::AlterTable(alter) => Ok(one_by_one(&alter, comment)),
        Statement::CreateFunction(create) => {
            let word = if create.or_replace { "CREATE OR REPLACE MACRO" } else { "CREATE MACRO" };
            let word = if create.if_not_exists { format!("{word} IF NOT EXISTS") } else { word.to_owned() };
            // the engine keeps the name; calls are answered by the text
            let made = format!("{word} {}() AS NULL", path(&create.name));
            let comment = on("MACRO", &path(&create.name), whole(comment)?.as_deref());
            Ok(vec![quiet(Step::Text(made)), comment])
        }
        Statement::DropFunction(drop) => {
            let word = if drop.if_exists { "DROP MACRO IF EXISTS" } else { "DROP MACRO" };
            let [one] = drop.func_desc.as_slice() else {
                return Err(Error::unsupported("DROP of several at once"));
            };
            Ok(vec![quiet(Step::Text(format!("{word} {}", path(&one.name))))])
        }
        Statement::Comment { object_type, object_name, .. } => {
            // of a column they are together
            let kept = if object_type == CommentObject::Column { comment.words.clone() } else { comment.kept() };
            Ok(vec![on(&object_type.to_string(), &path(&object_name), kept.as_deref())])
        }
        other => Ok(vec![CountedStep { step: tree(other), counts: true }]),
    }
}

/// One change each, which is all that the engine takes.
fn one_by_one(alter: &AlterTable, comment: &Comment) -> Vec<CountedStep> {
    if alter.operations.is_empty() {
        // all of it was left out, and something must answer
        return vec![quiet(Step::Text(format!("DROP SEQUENCE IF EXISTS \"temp\".\"main\".\"{NOTHING}\"")))];
    }
    let changes = alter.operations.iter().flat_map(|operation| match operation {
        AlterTableOperation::DropColumn { has_column_keyword, column_names, if_exists, drop_behavior } => {
            let one = |column: &Ident| AlterTableOperation::DropColumn {
                has_column_keyword: *has_column_keyword,
                column_names: vec![column.clone()],
                if_exists: *if_exists,
                drop_behavior: *drop_behavior,
            };
            column_names.iter().map(one).collect()
        }
        other => vec![other.clone()],
    });
    let one = |mut change: AlterTableOperation| {
        let is_told =
            |name: &Ident| comment.widened.as_ref().is_some_and(|widened| widened.eq_ignore_ascii_case(&name.value));
        let mut is_kept_alone = false;
        let comment = match &mut change {
            AlterTableOperation::AddColumn { if_not_exists: if_not_exists @ false, column_def, .. } => {
                // it is not there; else the engine takes one with a computed default for several statements
                *if_not_exists = column_def.options.iter().any(|option| is_computed(&option.option));
                on_column(&alter.name, column_def)
            }
            AlterTableOperation::AlterColumn {
                column_name: name,
                op: AlterColumnOperation::SetDataType { data_type, .. },
            } => {
                let known = comment.of_columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(&name.value));
                let (length, spelled) = (length(data_type), SpelledType::of(data_type));
                is_kept_alone = is_told(name);
                (known.is_some() || length.is_some() || spelled.is_some()).then(|| {
                    let words = known.and_then(|(_, words)| words.clone());
                    let column = format!("{}.{}", path(&alter.name), quote::name(&name.value));
                    on("COLUMN", &column, ColumnComment { words, length, spelled }.kept().as_deref())
                })
            }
            _ => None,
        };
        let step = tree(Statement::AlterTable(AlterTable { operations: vec![change], ..alter.clone() }));
        let step = CountedStep { step, counts: true };
        let step = if is_kept_alone && comment.is_some() { None } else { Some(step) };
        step.into_iter().chain(comment)
    };
    changes.flat_map(one).collect()
}

fn is_computed(option: &ColumnOption) -> bool {
    matches!(option, ColumnOption::Default(value) if !matches!(value, Expr::Value(_)))
}

/// The name that the engine keeps of a view, and the view's text with it.
fn view_renamed(alter: &AlterTable, comment: &Comment) -> Result<Vec<CountedStep>, Error> {
    let unsupported = || Error::unsupported("RENAME into another schema");
    let [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }] = alter.operations.as_slice()
    else {
        return Err(Error::unsupported("this change of a view"));
    };
    let new = names::single(new).ok_or_else(unsupported)?.value.clone();
    let parts = names::parts(&alter.name).unwrap_or_default();
    let (_, home) = parts.split_last().ok_or_else(unsupported)?;
    let home = home.iter().map(|part| quote::name(&part.value)).collect::<Vec<_>>().join(".");
    let new = quote::name(&new);
    Ok(vec![
        quiet(Step::Text(format!("ALTER VIEW {} RENAME TO {new}", path(&alter.name)))),
        on("VIEW", &format!("{home}.{new}"), comment.kept().as_deref()),
    ])
}

fn whole(comment: &Comment) -> Result<Option<String>, Error> {
    comment.ours.is_some().then(|| comment.kept()).ok_or_else(|| Error::unsupported("a definition without its text"))
}

fn on(what: &str, path: &str, kept: Option<&str>) -> CountedStep {
    let kept = kept.map_or_else(|| "NULL".to_owned(), quote::text);
    quiet(Step::Text(format!("COMMENT ON {what} {path} IS {kept}")))
}

/// What a column's definition says of it.
fn on_column(table: &ObjectName, column: &ColumnDef) -> Option<CountedStep> {
    let words = column.options.iter().find_map(|option| match &option.option {
        ColumnOption::Comment(words) => Some(words.clone()),
        _ => None,
    });
    let (length, spelled) = (length(&column.data_type), SpelledType::of(&column.data_type));
    let kept = ColumnComment { words, length, spelled }.kept()?;
    let path = format!("{}.{}", path(table), quote::name(&column.name.value));
    Some(on("COLUMN", &path, Some(&kept)))
}

fn path(name: &ObjectName) -> String {
    let parts = names::parts(name).unwrap_or_default();
    parts.iter().map(|part| quote::name(&part.value)).collect::<Vec<_>>().join(".")
}

/// All rows are replaced: those that the source reads are read first.
fn overwrite(mut insert: Insert) -> Result<Vec<CountedStep>, Error> {
    let TableObject::TableName(name) = insert.table.clone() else {
        return Err(Error::unsupported("INSERT into something other than a table"));
    };
    let source =
        insert.source.replace(kept(None)?).ok_or_else(|| Error::unsupported("INSERT OVERWRITE without rows"))?;
    insert.overwrite = false;
    Ok(vec![
        quiet(Step::Keep(source)),
        quiet(tree(emptied(&name)?)),
        CountedStep { step: tree(Statement::Insert(insert)), counts: true },
    ])
}

fn emptied(name: &ObjectName) -> Result<Statement, Error> {
    let unexpected = || Error::unsupported("INSERT OVERWRITE");
    let mut delete = crate::syntax::parse::own("DELETE FROM t")?;
    let Statement::Delete(Delete { from: FromTable::WithFromKeyword(from), .. }) = &mut delete else {
        return Err(unexpected());
    };
    match from.first_mut().map(|table| &mut table.relation) {
        Some(TableFactor::Table { name: table, .. }) => *table = name.clone(),
        _ => return Err(unexpected()),
    }
    Ok(delete)
}

/// `SELECT … FROM` the kept rows.
fn kept(items: Option<Vec<SelectItem>>) -> Result<Box<Query>, Error> {
    let mut query = crate::syntax::parse::query(&format!("SELECT * FROM \"temp\".\"main\".\"{SOURCE}\""))?;
    if let (SetExpr::Select(select), Some(items)) = (query.body.as_mut(), items) {
        select.projection = items;
    }
    Ok(query)
}

/// How the engine runs a check for nothing but its error.
pub(crate) fn checking() -> String {
    format!("CREATE OR REPLACE TEMP TABLE \"temp\".\"main\".\"{CHECK}\" AS ")
}

/// The name of the kept rows, and how the engine makes them.
pub(crate) fn keeping() -> String {
    format!("CREATE OR REPLACE TEMP TABLE \"temp\".\"main\".\"{SOURCE}\" AS ")
}

/// `INSERT ALL` and `INSERT FIRST`.
fn many(insert: Insert) -> Result<Vec<CountedStep>, Error> {
    let is_first = insert.multi_table_insert_type == Some(MultiTableInsertType::First);
    let template = Insert {
        overwrite: false,
        source: None,
        multi_table_insert_type: None,
        multi_table_into_clauses: Vec::new(),
        multi_table_when_clauses: Vec::new(),
        multi_table_else_clause: None,
        ..insert.clone()
    };
    let targets: Vec<MultiTableInsertIntoClause> = crate::syntax::statement::many::clauses(&insert).cloned().collect();
    let source = insert.source.ok_or_else(|| Error::unsupported("INSERT into several tables without rows"))?;
    let mut steps = vec![quiet(Step::Keep(source))];
    if insert.overwrite {
        let mut done: Vec<ObjectName> = Vec::new();
        for clause in targets {
            if !done.contains(&clause.table_name) {
                steps.push(quiet(tree(emptied(&clause.table_name)?)));
                done.push(clause.table_name.clone());
            }
        }
    }
    let mut add = |clause: MultiTableInsertIntoClause, condition: Option<Expr>| -> Result<(), Error> {
        steps.push(CountedStep { step: tree(into(&template, clause, condition)?), counts: true });
        Ok(())
    };
    for clause in insert.multi_table_into_clauses {
        add(clause, None)?;
    }
    let mut before: Option<Expr> = None;
    let mut left = CONDITIONS_MAX;
    for when in insert.multi_table_when_clauses {
        let condition = match (&before, is_first) {
            (Some(before), true) => {
                binary(none_of(before.clone()), BinaryOperator::And, nested(when.condition.clone()))
            }
            _ => nested(when.condition.clone()),
        };
        left = dialect::size(&condition)
            .checked_mul(when.into_clauses.len())
            .and_then(|size| left.checked_sub(size))
            .ok_or_else(|| Error::unsupported("INSERT into several tables under this many conditions"))?;
        for clause in when.into_clauses {
            add(clause, Some(condition.clone()))?;
        }
        before = Some(match before {
            None => nested(when.condition),
            Some(before) => binary(before, BinaryOperator::Or, nested(when.condition)),
        });
    }
    for clause in insert.multi_table_else_clause.into_iter().flatten() {
        add(clause, before.clone().map(none_of))?;
    }
    Ok(steps)
}

fn into(template: &Insert, clause: MultiTableInsertIntoClause, condition: Option<Expr>) -> Result<Statement, Error> {
    let items = clause.values.map(|values| {
        let item = |value| match value {
            MultiTableInsertValue::Expr(expr) => Ok(SelectItem::UnnamedExpr(expr)),
            MultiTableInsertValue::Default => Err(Error::unsupported("DEFAULT in INSERT into several tables")),
        };
        values.values.into_iter().map(item).collect::<Result<Vec<_>, _>>()
    });
    let mut query = kept(items.transpose()?)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.selection = condition;
    }
    let columns = clause.columns.into_iter().map(|column| ObjectName::from(vec![column])).collect();
    let table = TableObject::TableName(clause.table_name);
    Ok(Statement::Insert(Insert { table, columns, source: Some(query), ..template.clone() }))
}

/// Rows for which the condition does not hold, NULL included.
fn none_of(condition: Expr) -> Expr {
    let coalesced = call("coalesce", [nested(condition), Expr::value(Value::Boolean(false))]);
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(coalesced) }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}
