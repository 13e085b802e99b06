//! Tables in the text for the engine: raw ones by their full name, governed ones as a subquery.
//!
//! `(SELECT "id", <mask> AS "ssn" FROM "raw"."main"."customers" AS "customers" WHERE (<filter>))`:
//! a masked value is never in the scope of the caller's expressions, a hidden row never among its rows.

use super::{Printer, Reading};
use crate::ast::error::Error;
use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement};

use crate::ast::names::ours::{self, NEW, ROWID, ROWS};
use crate::ast::{names, quote};
use crate::scan::{Check, Scan, ScanColumn, marker};

/// What the engine says when a written row does not pass; the data plane knows it by this text.
pub const CHECK_FAILED: &str = "sluice: the row does not pass the row filter of its table";

impl Printer<'_> {
    pub(super) fn marked(&mut self, marked: marker::Marked) -> Result<(), Error> {
        match marked {
            marker::Marked::With(number) => {
                quote::name_into(&mut self.out, &marker::with_name(number));
                Ok(())
            }
            marker::Marked::Scan(number) => {
                let Some(scan) = self.scans.get(number) else {
                    return Err(Error::unsupported("this table"));
                };
                if self.reading == Reading::Visible && !scan.filters.is_empty() {
                    self.visible_rows(scan, number);
                    return Ok(());
                }
                self.scan(scan, self.looked_up == Some(number))
            }
        }
    }

    fn scan(&mut self, scan: &Scan, is_by_key: bool) -> Result<(), Error> {
        if !scan.is_governed() {
            self.raw(scan);
            return Ok(());
        }
        self.put("(");
        self.governed_columns(scan, &scan.columns().collect::<Vec<_>>())?;
        if is_by_key {
            self.filters_behind_key(scan)?;
        } else {
            self.filters(" WHERE ", &scan.filters)?;
        }
        self.done(")")
    }

    /// What the caller sees of a table.
    fn governed_rows(&mut self, scan: &Scan, columns: &[ScanColumn<'_>]) -> Result<(), Error> {
        self.governed_columns(scan, columns)?;
        self.filters(" WHERE ", &scan.filters)
    }

    /// The same of every row.
    fn governed_columns(&mut self, scan: &Scan, columns: &[ScanColumn<'_>]) -> Result<(), Error> {
        self.put("SELECT ");
        self.list(columns, |p, column| {
            p.scan_column(scan, column);
            Ok(())
        })?;
        if scan.with_rowid {
            self.put(", ");
            self.scan_name(scan);
            self.put(".rowid AS ");
            quote::name_into(&mut self.out, ROWID);
        }
        self.put(" FROM ");
        self.raw(scan);
        self.put(" AS ");
        self.scan_name(scan);
        Ok(())
    }

    /// The rows that were kept of this table; of one that is read twice they are kept once.
    fn visible_rows(&mut self, scan: &Scan, number: usize) {
        let same = |other: &Scan| {
            let (one, other) = ((&scan.table, scan.with_rowid), (&other.table, other.with_rowid));
            one == other
        };
        let number = self.scans.iter().position(same).unwrap_or(number);
        self.visible.insert(number);
        let name = ours::visible(number);
        self.tables.push(format!("{}.{}.{name}", names::TEMP_CATALOG, names::TEMP_SCHEMA));
        self.kept_name(&name);
    }

    fn kept_name(&mut self, name: &str) {
        for (part, dot) in [(names::TEMP_CATALOG, "."), (names::TEMP_SCHEMA, "."), (name, "")] {
            quote::name_into(&mut self.out, part);
            self.put(dot);
        }
    }

    /// `CREATE OR REPLACE TEMP TABLE … AS` what the caller sees, and at least one column of it.
    ///
    /// What the engine then knows of the kept rows follows from these alone. Written as they are found they would be
    /// cut into groups as the table is, and the engine would guess how many values a column has from the first of each
    /// part that it read, with the hidden rows among them. A positional join beside nothing packs them one behind the
    /// other before they are written. Where the filter asks other tables the engine joins these, and which side it
    /// goes through follows the sizes of both: there rows are put back into the order they have in the table.
    pub(super) fn keeping(
        &mut self,
        scan: &Scan,
        number: usize,
        narrowed: Option<&Statement>,
        is_asked_for: &dyn Fn(&str) -> bool,
    ) -> Result<(), Error> {
        self.put("CREATE OR REPLACE TEMP TABLE ");
        self.kept_name(&ours::visible(number));
        self.put(" AS SELECT ");
        quote::name_into(&mut self.out, ROWS);
        self.put(".* FROM (SELECT system.main.max(1) AS n HAVING n < 0) POSITIONAL JOIN (");
        let mut columns: Vec<_> = scan.columns().filter(|column| is_asked_for(column.name)).collect();
        if columns.is_empty() {
            columns.extend(scan.columns().next());
        }
        match narrowed {
            Some(Statement::Query(query)) => self.query(&of_columns(query, &columns))?,
            _ => self.governed_rows(scan, &columns)?,
        }
        if scan.asks_other_tables() {
            self.put(" ORDER BY ");
            self.scan_name(scan);
            self.put(".rowid");
        }
        self.put(") AS ");
        quote::name_into(&mut self.out, ROWS);
        Ok(())
    }

    fn raw(&mut self, scan: &Scan) {
        let catalog = if scan.table.temporary { names::TEMP_CATALOG } else { names::RAW_CATALOG };
        self.tables.push(format!("{catalog}.{}.{}", scan.table.stored_schema(), scan.table.stored_name()));
        quote::name_into(&mut self.out, catalog);
        self.put(".");
        quote::name_into(&mut self.out, scan.table.stored_schema());
        self.put(".");
        quote::name_into(&mut self.out, scan.table.stored_name());
    }

    fn scan_name(&mut self, scan: &Scan) {
        quote::name_into(&mut self.out, &scan.table.name);
    }

    /// All filters hold.
    pub(super) fn filters(&mut self, keyword: &str, filters: &[Expr]) -> Result<(), Error> {
        for (i, filter) in filters.iter().enumerate() {
            self.put(if i == 0 { keyword } else { " AND " });
            self.enclosed("(", ")", |p| p.expr(filter))?;
        }
        Ok(())
    }

    fn scan_column(&mut self, scan: &Scan, column: &ScanColumn<'_>) {
        if column.mask.is_none() {
            self.scan_name(scan);
            self.put(".");
            quote::name_into(&mut self.out, column.name);
            return;
        }
        let value = format!("{}.{}", quote::name(&scan.table.name), quote::name(column.name));
        self.put(&column.seen(&value));
        self.put(" AS ");
        quote::name_into(&mut self.out, column.name);
    }

    pub(super) fn made(&mut self, made: marker::GeneratedExpr<'_>) -> Result<(), Error> {
        match made {
            marker::GeneratedExpr::Bound(text) => {
                self.bind(text);
                Ok(())
            }
            marker::GeneratedExpr::Returned(scan, column) => {
                let column = self.scans.get(scan).and_then(|scan| scan.column(column));
                let Some(column) = column else {
                    return Err(Error::unsupported("this column"));
                };
                let value = column.seen(&quote::name(column.name));
                self.done(&value)
            }
            marker::GeneratedExpr::Written(scan, column, place) => self.written(scan, column, place),
            marker::GeneratedExpr::Check(scan) => self.check(scan),
            marker::GeneratedExpr::Literal(number) => {
                self.warehouse_only("a value nobody has bound")?;
                self.done(&format!("{{{number}}}"))
            }
        }
    }

    /// As the column will hold it: the filter must not ask about a fraction that is rounded off, nor by a collation
    /// that the value brings along.
    fn written(&mut self, scan: usize, column: usize, place: &str) -> Result<(), Error> {
        let Some(column) = self.scans.get(scan).and_then(|scan| scan.column(column)) else {
            return Err(Error::unsupported("this column"));
        };
        let value = format!("CAST({}.{} AS {})", quote::name(NEW), quote::name(place), column.type_name);
        let collation = if column.is_text() { " COLLATE \"binary\"" } else { "" };
        self.done(&format!("({value}{collation})"))
    }

    /// The engine evaluates a CASE branch only for the rows that reach it.
    fn check(&mut self, scan: usize) -> Result<(), Error> {
        let Some(Check { filters, value, type_name }) = self.scans.get(scan).and_then(|scan| scan.check.as_ref())
        else {
            return Err(Error::unsupported("this check"));
        };
        self.filters("CASE WHEN ", filters)?;
        self.put(" THEN ");
        self.expr(value)?;
        self.done(&format!(" ELSE CAST(system.main.\"error\"({}) AS {type_name}) END", quote::text(CHECK_FAILED)))
    }
}

/// The query with these columns of the one table that it reads.
fn of_columns(query: &Query, columns: &[ScanColumn<'_>]) -> Query {
    let mut query = query.clone();
    if let SetExpr::Select(select) = query.body.as_mut() {
        let alias = select.from.first().and_then(|table| names::alias(&table.relation)).map(|alias| alias.name.clone());
        let item = |column: &ScanColumn<'_>| {
            let path = alias.iter().cloned().chain([names::quoted(column.name)]).collect();
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(path))
        };
        select.projection = columns.iter().map(item).collect();
    }
    query
}
