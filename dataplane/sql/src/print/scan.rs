//! Tables in the text for the engine: raw ones by their full name, governed ones as a subquery.
//!
//! `(SELECT "id", <mask> AS "ssn" FROM "raw"."main"."customers" AS "customers" WHERE (<filter>))`:
//! a masked value is never in the scope of the caller's expressions, a hidden row never among its rows.

use super::{Printer, Reading};
use crate::ast::error::Error;
use sqlparser::ast::Expr;

use crate::ast::names::ours::{self, NEW, ROWID, ROWS};
use crate::ast::{names, quote};
use crate::govern::{Check, Mask, Scan, ScanColumn};

/// Names in the tree that stand for what this crate decided; no text can be read as one of them.
pub(crate) mod marker {
    use sqlparser::ast::{Expr, Ident, ObjectName, Value};

    use crate::ast::names;

    const SCAN: &str = "\0scan";
    const WITH: &str = "\0with";

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Marked {
        /// A table, by its number among the statement's references.
        Scan(usize),
        /// A WITH query, by its number in the statement.
        With(usize),
    }

    pub(crate) fn name(marked: Marked) -> ObjectName {
        let (word, number) = match marked {
            Marked::Scan(number) => (SCAN, number),
            Marked::With(number) => (WITH, number),
        };
        ObjectName::from(vec![Ident::new(word), Ident::new(number.to_string())])
    }

    pub(crate) fn read(name: &ObjectName) -> Option<Marked> {
        let parts = names::parts(name)?;
        let [word, number] = parts.as_slice() else {
            return None;
        };
        let number = number.value.parse().ok()?;
        match word.value.as_str() {
            SCAN => Some(Marked::Scan(number)),
            WITH => Some(Marked::With(number)),
            _ => None,
        }
    }

    /// What a WITH query is called in the engine's text.
    pub(crate) fn with_name(number: usize) -> String {
        format!("{}{number}", names::ours::WITH)
    }

    const CHECK: &str = "\0check";
    const RETURNED: &str = "\0returned";
    const WRITTEN: &str = "\0written";
    const BOUND: &str = "\0bound";
    const LITERAL: &str = "\0literal";

    /// Expressions of ours; they travel as parameters with names that no text can spell.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Made<'a> {
        /// The first value written, if the new row passes the filters of the target, this scan.
        Check(usize),
        /// What the caller sees of this column of the target.
        Returned(usize, usize),
        /// What is written into this column of the target, of its type, once for each row.
        Written(usize, usize, &'a str),
        /// A value from a policy's placeholder.
        Bound(&'a str),
        /// A literal of a filter that holds the name of something a caller carries.
        Literal(usize),
    }

    pub(crate) fn expr(made: Made<'_>) -> Expr {
        Expr::Value(Value::Placeholder(name_of(made)).into())
    }

    pub(crate) fn name_of(made: Made<'_>) -> String {
        match made {
            Made::Check(scan) => format!("{CHECK}{scan}"),
            Made::Returned(scan, column) => format!("{RETURNED}{scan}.{column}"),
            Made::Written(scan, column, place) => format!("{WRITTEN}{scan}.{column}.{place}"),
            Made::Bound(text) => format!("{BOUND}{text}"),
            Made::Literal(number) => format!("{LITERAL}{number}"),
        }
    }

    pub(crate) fn made(name: &str) -> Option<Made<'_>> {
        if let Some(text) = name.strip_prefix(BOUND) {
            return Some(Made::Bound(text));
        }
        if let Some(scan) = name.strip_prefix(CHECK) {
            return scan.parse().ok().map(Made::Check);
        }
        if let Some(number) = name.strip_prefix(LITERAL) {
            return number.parse().ok().map(Made::Literal);
        }
        if let Some(written) = name.strip_prefix(WRITTEN) {
            let (scan, rest) = written.split_once('.')?;
            let (column, place) = rest.split_once('.')?;
            return Some(Made::Written(scan.parse().ok()?, column.parse().ok()?, place));
        }
        let (scan, column) = name.strip_prefix(RETURNED)?.split_once('.')?;
        Some(Made::Returned(scan.parse().ok()?, column.parse().ok()?))
    }
}

/// The whole mask of text.
const FULL: &str = "'***'";
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
                self.scan(scan)
            }
        }
    }

    fn scan(&mut self, scan: &Scan) -> Result<(), Error> {
        if !scan.is_governed() {
            self.raw(scan);
            return Ok(());
        }
        self.put("(");
        self.governed_rows(scan, &scan.columns.iter().collect::<Vec<_>>())?;
        self.put(")");
        Ok(())
    }

    /// What the caller sees of a table.
    fn governed_rows(&mut self, scan: &Scan, columns: &[&ScanColumn]) -> Result<(), Error> {
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
        self.filters(" WHERE ", &scan.filters)
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
        self.tables.push(format!("{}.{}.{name}", names::KEPT_CATALOG, names::KEPT_SCHEMA));
        self.kept_name(&name);
    }

    fn kept_name(&mut self, name: &str) {
        for (part, dot) in [(names::KEPT_CATALOG, "."), (names::KEPT_SCHEMA, "."), (name, "")] {
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
        is_asked_for: &dyn Fn(&str) -> bool,
    ) -> Result<(), Error> {
        self.put("CREATE OR REPLACE TEMP TABLE ");
        self.kept_name(&ours::visible(number));
        self.put(" AS SELECT ");
        quote::name_into(&mut self.out, ROWS);
        self.put(".* FROM (SELECT system.main.max(1) AS n HAVING n < 0) POSITIONAL JOIN (");
        let mut columns: Vec<_> = scan.columns.iter().filter(|column| is_asked_for(&column.name)).collect();
        if columns.is_empty() {
            columns.extend(scan.columns.first());
        }
        self.governed_rows(scan, &columns)?;
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
        let catalog = if scan.table.temporary { names::KEPT_CATALOG } else { names::RAW_CATALOG };
        self.tables.push(format!("{catalog}.{}.{}", scan.table.shelf(), scan.table.name));
        quote::name_into(&mut self.out, catalog);
        self.put(".");
        quote::name_into(&mut self.out, scan.table.shelf());
        self.put(".");
        quote::name_into(&mut self.out, &scan.table.name);
    }

    fn scan_name(&mut self, scan: &Scan) {
        quote::name_into(&mut self.out, &scan.table.name);
    }

    /// All filters hold.
    pub(super) fn filters(&mut self, keyword: &str, filters: &[Expr]) -> Result<(), Error> {
        for (i, filter) in filters.iter().enumerate() {
            self.put(if i == 0 { keyword } else { " AND " });
            self.put("(");
            self.expr(filter)?;
            self.put(")");
        }
        Ok(())
    }

    fn scan_column(&mut self, scan: &Scan, column: &ScanColumn) {
        let mut value = String::new();
        quote::name_into(&mut value, &scan.table.name);
        value.push('.');
        quote::name_into(&mut value, &column.name);
        let Some(mask) = column.mask else {
            return self.put(&value);
        };
        self.put(&masked(mask, column, &value));
        self.put(" AS ");
        quote::name_into(&mut self.out, &column.name);
    }

    pub(super) fn made(&mut self, made: marker::Made<'_>) -> Result<(), Error> {
        match made {
            marker::Made::Bound(text) => {
                self.bind(text);
                Ok(())
            }
            marker::Made::Returned(scan, column) => {
                let column = self.scans.get(scan).and_then(|scan| scan.columns.get(column));
                let Some(column) = column else {
                    return Err(Error::unsupported("this column"));
                };
                let value = quote::name(&column.name);
                let printed = column.mask.map_or_else(|| value.clone(), |mask| masked(mask, column, &value));
                self.put(&printed);
                Ok(())
            }
            marker::Made::Written(scan, column, place) => self.written(scan, column, place),
            marker::Made::Check(scan) => self.check(scan),
            marker::Made::Literal(number) => {
                self.warehouse_only("a value nobody has bound")?;
                self.put(&format!("{{{number}}}"));
                Ok(())
            }
        }
    }

    /// As the column will hold it: the filter must not ask about a fraction that is rounded off, nor by a collation
    /// that the value brings along.
    fn written(&mut self, scan: usize, column: usize, place: &str) -> Result<(), Error> {
        let Some(column) = self.scans.get(scan).and_then(|scan| scan.columns.get(column)) else {
            return Err(Error::unsupported("this column"));
        };
        let value = format!("CAST({}.{} AS {})", quote::name(NEW), quote::name(place), column.type_name);
        let collation = if column.is_text { " COLLATE \"binary\"" } else { "" };
        self.put(&format!("({value}{collation})"));
        Ok(())
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
        self.put(&format!(" ELSE CAST(system.main.\"error\"({}) AS {type_name}) END", quote::text(CHECK_FAILED)));
        Ok(())
    }
}

/// The value as the caller sees it.
fn masked(mask: Mask, column: &ScanColumn, value: &str) -> String {
    let text = format!("CAST({value} AS VARCHAR)");
    match mask {
        Mask::Full if column.is_text => FULL.to_owned(),
        Mask::Full | Mask::Null | Mask::Denied => format!("CAST(NULL AS {})", column.type_name),
        Mask::Partial { visible_chars } => format!(
            "CASE WHEN system.main.\"length\"({text}) > {visible_chars} \
             THEN system.main.\"concat\"({FULL}, system.main.\"right\"({text}, {visible_chars})) ELSE {FULL} END"
        ),
        Mask::Hash => format!("system.main.sluice_mask_hash({text})"),
    }
}
