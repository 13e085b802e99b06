//! Rows that are written.
//!
//! Only rows the caller may see can be changed, and only into rows the caller may see; the caller's
//! expressions are evaluated over the governed table, so a masked value cannot be copied into a column
//! that is not masked. A masked column may be filled by INSERT, unless it is of a key, but not set afterwards, and
//! what comes back is masked. What cannot be done this way is refused.

mod given;
mod once;

use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, Delete, Expr, FromTable, Ident, Insert, ObjectName, OnInsert, Query, SelectItem, SetExpr,
    Statement, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Update, UpdateTableFromKind,
};

use super::{Filter, denied_error, keys, masked_error, safe_filter};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::expression::relation;
use crate::ast::names::ours::{self, NEW, ROWID};
use crate::ast::{Visit, any_expression, names, result_of, visit_expressions};
use crate::catalog::table::Column;
use crate::functions::types::Type;
use crate::govern::filter::is_alias;
use crate::scan::marker::{self, GeneratedExpr, Marked};
use crate::scan::{Check, Mask, Scan, ScanColumn};

pub(super) use once::is_governed;

/// The target is the last of the scans.
pub(super) fn govern(tree: &mut Statement, filters: &[Filter], scans: &mut [Scan]) -> Result<(), Error> {
    let number = scans.len() - 1;
    let is_filtered = scans.last().is_some_and(|target| !target.filters.is_empty());
    let width = match tree {
        Statement::Insert(insert) if is_filtered => given::width(insert, scans)?,
        _ => None,
    };
    let Some(target) = scans.last_mut() else {
        return Ok(());
    };
    if !target.is_governed() {
        return match tree {
            Statement::Delete(delete) if delete.using.is_some() => once::deleted(delete, target, number),
            _ => Ok(()),
        };
    }
    let path = target.table.path();
    if is_nested(filters, target) && collates(tree) {
        return Err(Error::ungovernable("COLLATE", &path));
    }
    match tree {
        Statement::Insert(insert) => {
            let alias = insert.table_alias.as_ref().map(|alias| alias.alias.clone());
            let alias = alias.unwrap_or_else(|| names::quoted(&target.table.name));
            returning(insert.returning.as_mut(), &alias, target, number)?;
            self::insert(insert, filters, target, number, width)
        }
        Statement::Update(update) => {
            has_rowid(target, "UPDATE")?;
            returning(update.returning.as_mut(), &alias_of(&update.table.relation)?, target, number)?;
            self::update(update, filters, target, number)
        }
        Statement::Delete(delete) => {
            has_rowid(target, "DELETE")?;
            let alias = written_to(delete)?;
            returning(delete.returning.as_mut(), &alias, target, number)?;
            self::delete(delete, target, number)
        }
        Statement::Truncate(_) if target.filters.is_empty() => Ok(()),
        Statement::Truncate(_) => Err(Error::ungovernable("TRUNCATE", &path)),
        Statement::Merge(_) => Err(Error::ungovernable("MERGE", &path)),
        _ => Err(Error::ungovernable("this statement", &path)),
    }
}

/// Whether a filter asks for a list, structure or map, whose texts bring their collations along.
fn is_nested(filters: &[Filter], target: &Scan) -> bool {
    let is_one = |name: &String| {
        let kind = target.table.column(name).map_or(Type::Unknown, Column::family);
        matches!(kind, Type::List | Type::Struct | Type::Map | Type::Unknown)
    };
    filters.iter().any(|filter| filter.columns().iter().any(is_one))
}

fn collates(tree: &Statement) -> bool {
    any_expression(tree, |expr| matches!(expr, Expr::Collate { .. }))
}

/// Rows are found again by the engine's row number, which a column of that name would hide.
fn has_rowid(target: &Scan, construct: &str) -> Result<(), Error> {
    let is_hidden = target.table.column("rowid").is_some() || target.table.column(ROWID).is_some();
    if is_hidden { Err(Error::ungovernable(construct, &target.table.path())) } else { Ok(()) }
}

fn insert(
    insert: &mut Insert,
    filters: &[Filter],
    target: &mut Scan,
    number: usize,
    width: Option<usize>,
) -> Result<(), Error> {
    let path = target.table.path();
    if target.is_masked() {
        let written = written_columns(insert, target)?;
        written.iter().try_for_each(|written| not_denied(target, written))?;
        keys::filled(target, &written)?;
    }
    if let Some(OnInsert::OnConflict(on)) = &insert.on {
        keys::conflict(target, &on.action)?;
    }
    if target.filters.is_empty() {
        return Ok(());
    }
    let mut columns = written_columns(insert, target)?;
    let Some(mut source) = insert.source.take() else {
        return Err(Error::ungovernable("INSERT DEFAULT VALUES", &path));
    };
    given::fit(&mut source, &mut columns, width, target)?;
    let place = |column: &str| {
        let is_written = columns.iter().any(|written| written.eq_ignore_ascii_case(column));
        if is_written { written_as(target, number, column, column) } else { Err(unset(&path, column)) }
    };
    let filters = over_new_row(filters, target, &place)?;
    let Some(first) = columns.first() else {
        return Err(Error::unsupported("INSERT without columns"));
    };
    let type_name = target.table.column(first).map_or_else(String::new, |column| column.type_name.clone());
    let value = place(first)?;
    let list = columns.iter().enumerate().map(|(i, column)| {
        let value = if i == 0 { Ok(marker::expr(GeneratedExpr::Check(number))) } else { place(column) };
        value.map(|expr| SelectItem::ExprWithAlias { expr, alias: names::quoted(column) })
    });
    let list = list.collect::<Result<Vec<_>, _>>()?;
    target.check = Some(Check { filters, value, type_name });
    insert.columns = columns.iter().map(|column| ObjectName::from(vec![names::quoted(column)])).collect();
    insert.source = Some(select(list, vec![derived(source, &columns)], None)?);
    Ok(())
}

/// The value that goes into a column, by the name it has among those of the new row.
fn written_as(target: &Scan, number: usize, column: &str, place: &str) -> Result<Expr, Error> {
    let found = target.columns().position(|known| known.name.eq_ignore_ascii_case(column));
    let found = found.ok_or_else(|| Error::unsupported("this column"))?;
    Ok(marker::expr(GeneratedExpr::Written(number, found, place)))
}

fn not_denied(target: &Scan, column: &str) -> Result<(), Error> {
    let denied = |known: &ScanColumn<'_>| known.name == column && known.mask == Some(Mask::Denied);
    target.columns().find(denied).map_or(Ok(()), |_| Err(denied_error(&target.table, column)))
}

fn unset(path: &str, column: &str) -> Error {
    let kind = ErrorKind::Ungovernable { construct: "INSERT".to_owned() };
    Error::new(kind, format!("a row filter of {path} asks for column {column}: set it"))
}

/// The columns an INSERT fills, spelled as declared.
fn written_columns(insert: &Insert, target: &Scan) -> Result<Vec<String>, Error> {
    if insert.columns.is_empty() {
        return Ok(target.table.columns.iter().map(|column| column.name.clone()).collect());
    }
    insert.columns.iter().map(|name| declared(name, target)).collect()
}

fn declared(name: &ObjectName, target: &Scan) -> Result<String, Error> {
    let written = names::last(name).map_or("", |ident| ident.value.as_str());
    let missing = || Error::no_column(&target.table.path(), written);
    target.table.column(written).map(|column| column.name.clone()).ok_or_else(missing)
}

/// The rows carry the engine's number, which tells of hidden rows: no row is named as a whole, and no number by its name.
fn named_by_columns(parts: &impl Visit, target: &Scan, alias: &Ident) -> Result<(), Error> {
    let is = |ident: &Ident, name: &str| ident.value.eq_ignore_ascii_case(name);
    let is_row = |ident: &Ident| is(ident, &alias.value) && target.table.column(&ident.value).is_none();
    let found = visit_expressions(parts, |expr| match expr {
        Expr::Identifier(ident) if is_row(ident) => ControlFlow::Break("a whole row"),
        Expr::Identifier(ident) if is(ident, "rowid") => ControlFlow::Break("rowid"),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [table, ident, ..] if is(table, &alias.value) && is(ident, "rowid") => ControlFlow::Break("rowid"),
            _ => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    });
    result_of(found).map_err(|construct| Error::ungovernable(construct, &target.table.path()))
}

/// `UPDATE t SET c = new.first FROM (SELECT t.number, <value> AS first FROM <scan> AS t … WHERE …) AS new
/// WHERE t.rowid = new.number`.
fn update(update: &mut Update, filters: &[Filter], target: &mut Scan, number: usize) -> Result<(), Error> {
    let alias = alias_of(&update.table.relation)?;
    named_by_columns(&update.assignments, target, &alias)?;
    named_by_columns(&update.from, target, &alias)?;
    named_by_columns(&update.selection, target, &alias)?;
    let mut list = vec![column(&alias, ROWID)];
    let mut set: Vec<(String, Expr)> = Vec::new();
    for (i, assignment) in update.assignments.iter_mut().enumerate() {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(Error::unsupported("SET of several columns at once"));
        };
        let written = declared(name, target)?;
        not_denied(target, &written)?;
        if target.columns().any(|column| column.name == written && column.mask.is_some()) {
            return Err(masked_error(&target.table, &written, "it cannot be set"));
        }
        keys::set(target, &written)?;
        let place = ours::place(i);
        let new = written_as(target, number, &written, &place)?;
        let value = std::mem::replace(&mut assignment.value, new.clone());
        if is_default(&value) {
            return Err(Error::ungovernable("SET … = DEFAULT", &target.table.path()));
        }
        list.push(SelectItem::ExprWithAlias { expr: value, alias: names::quoted(&place) });
        assignment.target = AssignmentTarget::ColumnName(ObjectName::from(vec![names::quoted(&written)]));
        set.push((written, new));
    }
    check_new_row(update, filters, target, number, &alias, &set)?;
    let mut from = vec![scan(number, &alias)];
    match update.from.take() {
        None => {}
        Some(UpdateTableFromKind::AfterSet(tables)) => from.extend(tables),
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(Error::unsupported("FROM before SET"));
        }
    }
    let meets = from.len() > 1;
    let mut rows = select(list, from, update.selection.take())?;
    if meets {
        rows = once::each(rows, update.assignments.len())?;
    }
    target.with_rowid = true;
    update.from = Some(UpdateTableFromKind::AfterSet(vec![derived(rows, &[])]));
    let same = Expr::BinaryOp {
        left: Box::new(Expr::CompoundIdentifier(vec![alias, names::quoted("rowid")])),
        op: sqlparser::ast::BinaryOperator::Eq,
        right: Box::new(Expr::CompoundIdentifier(vec![names::quoted(NEW), names::quoted(ROWID)])),
    };
    update.selection = Some(same);
    Ok(())
}

/// The filters on the values of a new row.
fn over_new_row(
    filters: &[Filter],
    target: &Scan,
    place: &dyn Fn(&str) -> Result<Expr, Error>,
) -> Result<Vec<Expr>, Error> {
    filters.iter().map(|filter| safe_filter::on_new_row(filter, &target.table, place)).collect()
}

/// Only if a filter asks for a column that is set; all others passed already, unchanged. One that asks for a masked column
/// as well would compare what the caller chooses with what is hidden.
fn check_new_row(
    update: &mut Update,
    filters: &[Filter],
    target: &mut Scan,
    number: usize,
    alias: &Ident,
    set: &[(String, Expr)],
) -> Result<(), Error> {
    let is_set = |column: &String| set.iter().any(|(written, _)| written.eq_ignore_ascii_case(column));
    let mut asked = filters.iter().filter(|filter| filter.columns().iter().any(is_set)).peekable();
    if asked.peek().is_none() {
        return Ok(());
    }
    let is_masked =
        |column: &String| target.columns().any(|known| known.mask.is_some() && known.name.eq_ignore_ascii_case(column));
    if asked.any(|filter| filter.columns().iter().any(is_masked)) {
        let what = "UPDATE of a column that a row filter asks for together with a masked one";
        return Err(Error::ungovernable(what, &target.table.path()));
    }
    let place = |column: &str| {
        let new = set.iter().find(|(written, _)| written.eq_ignore_ascii_case(column)).map(|(_, new)| new.clone());
        Ok(new.unwrap_or_else(|| Expr::CompoundIdentifier(vec![alias.clone(), names::quoted(column)])))
    };
    let filters = over_new_row(filters, target, &place)?;
    let (Some(first), Some((written, new))) = (update.assignments.first_mut(), set.first()) else {
        return Ok(());
    };
    let type_name = target.table.column(written).map_or_else(String::new, |column| column.type_name.clone());
    target.check = Some(Check { filters, value: new.clone(), type_name });
    first.value = marker::expr(GeneratedExpr::Check(number));
    Ok(())
}

fn delete(delete: &mut Delete, target: &mut Scan, number: usize) -> Result<(), Error> {
    let alias = written_to(delete)?;
    named_by_columns(&delete.using, target, &alias)?;
    named_by_columns(&delete.selection, target, &alias)?;
    by_number(delete, alias, target, number)
}

/// `DELETE FROM t WHERE t.rowid IN (SELECT t.number FROM <scan> AS t … WHERE …)`.
fn by_number(delete: &mut Delete, alias: Ident, target: &mut Scan, number: usize) -> Result<(), Error> {
    let mut from = vec![scan(number, &alias)];
    from.extend(delete.using.take().unwrap_or_default());
    let rows = select(vec![column(&alias, ROWID)], from, delete.selection.take())?;
    target.with_rowid = true;
    delete.selection = Some(Expr::InSubquery {
        expr: Box::new(Expr::CompoundIdentifier(vec![alias, names::quoted("rowid")])),
        subquery: rows,
        negated: false,
    });
    Ok(())
}

/// What the statement calls its table.
fn written_to(delete: &Delete) -> Result<Ident, Error> {
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    tables.first().map_or_else(|| Err(Error::unsupported("DELETE without a table")), |one| alias_of(&one.relation))
}

/// Columns by name, each as the caller may see it; anything else could look behind a mask.
fn returning(items: Option<&mut Vec<SelectItem>>, alias: &Ident, target: &Scan, number: usize) -> Result<(), Error> {
    let Some(items) = items else { return Ok(()) };
    if !target.is_masked() {
        return Ok(());
    }
    let path = target.table.path();
    let mut shown = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item {
            SelectItem::Wildcard(options) if crate::print::is_bare_star(options) => {
                target.columns().try_for_each(|column| not_denied(target, column.name))?;
                shown.extend((0..target.table.columns.len()).map(|i| returned(number, i, None, target)));
            }
            SelectItem::UnnamedExpr(expr) => {
                shown.push(returned(number, column_of(expr, alias, target, &path)?, None, target));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                shown.push(returned(number, column_of(expr, alias, target, &path)?, Some(alias), target));
            }
            _ => return Err(Error::ungovernable("RETURNING of an expression", &path)),
        }
    }
    *items = shown;
    Ok(())
}

fn column_of(expr: &Expr, alias: &Ident, target: &Scan, path: &str) -> Result<usize, Error> {
    let name = match expr {
        Expr::Identifier(ident) => ident,
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, ident] if table.value.eq_ignore_ascii_case(&alias.value) => ident,
            _ => return Err(Error::ungovernable("RETURNING of an expression", path)),
        },
        _ => return Err(Error::ungovernable("RETURNING of an expression", path)),
    };
    let found = target.columns().position(|column| column.name.eq_ignore_ascii_case(&name.value));
    let found = found.ok_or_else(|| Error::ungovernable("RETURNING of an expression", path))?;
    target.column(found).map_or(Ok(()), |column| not_denied(target, column.name))?;
    Ok(found)
}

fn returned(number: usize, i: usize, alias: Option<&Ident>, target: &Scan) -> SelectItem {
    let declared = target.column(i).map_or_else(String::new, |column| column.name.to_owned());
    let alias = alias.cloned().unwrap_or_else(|| names::quoted(&declared));
    SelectItem::ExprWithAlias { expr: marker::expr(GeneratedExpr::Returned(number, i)), alias }
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

fn alias_of(factor: &TableFactor) -> Result<Ident, Error> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } if is_alias(&alias.name.value) => {
            Err(Error::unsupported("an alias that begins as those of filters do"))
        }
        TableFactor::Table { alias: Some(alias), .. } => Ok(alias.name.clone()),
        _ => Err(Error::unsupported("writing to something other than a table")),
    }
}

fn column(table: &Ident, name: &str) -> SelectItem {
    SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![table.clone(), names::quoted(name)]))
}

fn scan(number: usize, alias: &Ident) -> TableWithJoins {
    let alias = TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None };
    TableWithJoins { relation: relation(marker::name(Marked::Scan(number)), Some(alias)), joins: Vec::new() }
}

fn derived(subquery: Box<Query>, columns: &[String]) -> TableWithJoins {
    let columns = columns.iter().map(|name| TableAliasColumnDef { name: names::quoted(name), data_type: None });
    let alias = TableAlias { explicit: true, name: names::quoted(NEW), columns: columns.collect(), at: None };
    let relation = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    TableWithJoins { relation, joins: Vec::new() }
}

fn select(list: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Result<Box<Query>, Error> {
    let mut query = crate::syntax::parse::query("SELECT 1")?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::unsupported("this query"));
    };
    select.projection = list;
    select.from = from;
    select.selection = selection;
    Ok(query)
}
