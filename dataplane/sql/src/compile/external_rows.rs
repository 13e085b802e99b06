//! The queries that make the rows of an external table: they walk what every statement walks, over the records alone.
//!
//! Nothing else is in their catalog, so an expression of the table's definition reads the record and the path of its
//! file, and no table and no function that somebody defines.

use sqlparser::ast::{BinaryOperator, Expr, SelectItem, SetExpr, Statement as Tree, Value};

use crate::ast::error::Error;
use crate::ast::expression::binary;
use crate::ast::names;
use crate::bind::resolve::resolve;
use crate::catalog::external_rows::ExternalRows;
use crate::catalog::external_table::{ExternalColumn, PartitionCondition, RECORD_COLUMN, record};
use crate::catalog::file_reading::FileRecords;
use crate::catalog::staged_rows::{FILE_NAME, StagedRows};
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::compile::external_members::{RECORDS, members};
use crate::compile::transpile::{EngineSql, transpile};
use crate::govern::{Rules, govern};
use crate::syntax::parse::{self, SourceText};
use crate::syntax::statement::Statement;

/// The query of the rows that an external table has of the records of a file. A column of members that are not read is not
/// asked for, and NULL: its expression may fail without them.
pub fn external_query(records: &StagedRows, external: &ExternalRows) -> Result<EngineSql, Error> {
    let read = records.members.as_ref().filter(|_| matches!(records.reading.records, FileRecords::Parquet { .. }));
    let is_read = |column: &ExternalColumn| {
        read.is_none_or(|read| members(&column.expr).is_some_and(|all| all.iter().all(|member| read.contains(member))))
    };
    let item = |column: &ExternalColumn| {
        let expr = if !is_read(column) {
            Expr::value(Value::Null)
        } else if column.name.value == RECORD_COLUMN {
            record()
        } else {
            column.value()
        };
        SelectItem::ExprWithAlias { expr, alias: names::quoted(&column.name.value) }
    };
    query(records, external.made.iter().map(item).collect(), None)
}

/// The query of the paths whose files may have rows that are asked for; none where all may.
pub fn external_paths(records: &StagedRows, external: &ExternalRows) -> Result<Option<EngineSql>, Error> {
    let of = |condition: &PartitionCondition| {
        let is_its = |column: &&ExternalColumn| column.name.value.eq_ignore_ascii_case(&condition.column);
        Some(compared(external.made.iter().find(is_its)?.value(), &condition.values))
    };
    let conditions: Option<Vec<Expr>> = external.conditions.iter().map(of).collect();
    let all = conditions.unwrap_or_default().into_iter();
    let Some(condition) = all.reduce(|one, other| binary(one, BinaryOperator::And, other)) else { return Ok(None) };
    let path = Expr::Identifier(names::quoted(FILE_NAME));
    let items = vec![SelectItem::ExprWithAlias { expr: path, alias: names::quoted(FILE_NAME) }];
    query(records, items, Some(condition)).map(Some)
}

/// Whether the value is one of these.
fn compared(value: Expr, literals: &[Expr]) -> Expr {
    let condition = match literals {
        [one] => binary(value, BinaryOperator::Eq, one.clone()),
        _ => Expr::InList { expr: Box::new(value), list: literals.to_vec(), negated: false },
    };
    Expr::Nested(Box::new(condition))
}

fn query(records: &StagedRows, items: Vec<SelectItem>, condition: Option<Expr>) -> Result<EngineSql, Error> {
    let unexpected = || Error::unsupported("an expression of this kind in an external table");
    let mut query = parse::query(&format!("SELECT 1 FROM {RECORDS}"))?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(unexpected()) };
    select.projection = items;
    select.selection = condition;
    let source = SourceText { whole: String::new(), own: String::new() };
    let statement = Statement::new(source, Tree::Query(query))?;
    let table = Table::new(names::MAIN_SCHEMA, RECORDS, records.columns.clone()).kept_as(&records.kept_as);
    let resolved = resolve(statement, &Catalog::new([table]), &SessionNames::new(String::new()))?;
    let made = transpile(govern(resolved, &Rules::default())?.embedded()?)?;
    if made.before.is_empty() && made.binds.is_empty() { Ok(made) } else { Err(unexpected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_expression_reads_anything_but_the_record_and_its_path() {
        for expr in ["(select max(x) from t)", "nextval('s')", "read_text('/etc/passwd')", "$2", "_sluice_x"] {
            let text = format!("CREATE EXTERNAL TABLE e (c VARCHAR AS ({expr})) LOCATION = @s");
            assert!(made(&text).is_err(), "{expr}");
        }
        let columns = "c INT AS (value:a::int), p VARCHAR AS (metadata$filename)";
        let made = made(&format!("CREATE EXTERNAL TABLE e ({columns}) LOCATION = @s")).expect("a query");
        assert!(made.sql.contains("\"temp\".\"main\".\"_sluice_staged_0_file\""), "{}", made.sql);
        assert_eq!(made.tables.len(), 1, "{:?}", made.tables);
    }

    fn made(text: &str) -> Result<EngineSql, Error> {
        use crate::catalog::definition::{Definition, DefinitionKind, comment};
        use crate::catalog::external_change::ExternalChange;
        let stage = comment("main", "CREATE STAGE s ID = 'q1' FILE_FORMAT = (TYPE = 'JSON')");
        let stage = Definition::read(DefinitionKind::Function, "main", "_svc_stage_s", Vec::new(), stage);
        let mut catalog = Catalog::new([Table::new("main", "t", vec![crate::Column::new("x", "INTEGER")])]);
        catalog.define(stage.expect("a stage"));
        let resolved = resolve(crate::parse(text)?, &catalog, &SessionNames::new("demo"))?;
        match resolved.external() {
            Some(ExternalChange::Made { rows, .. }) => {
                let external = rows.external.as_ref().ok_or_else(|| Error::unsupported("no rows"))?;
                external_query(rows, external)
            }
            _ => Err(Error::unsupported("no external table")),
        }
    }
}
