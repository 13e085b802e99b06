//! Policies into the statement, before anything runs.
//!
//! Row filters and masks are put where a table is read, at every reference anywhere in the statement,
//! so aliases, expressions, aggregates, joins and errors only ever see governed values. The rules come
//! from the data plane, already chosen for the caller; this module puts them in and knows what they hid.

pub mod filter;
mod keys;
pub(super) mod leaks;
mod lineage;
pub(crate) mod narrowed;
mod output;
mod safe_filter;
mod scan;
mod target;
mod value_bounds;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlparser::ast;

use self::lineage::Lineage;
pub(crate) use self::lineage::join_constraint;
use self::narrowed::NarrowedScans;
use crate::ast::any_expression;
use crate::ast::call::called;
use crate::ast::error::{Error, ErrorKind};
use crate::bind::resolve::Resolved;
use crate::bind::sequence;
use crate::bind::types::Known;
use crate::catalog::comment::Comment;
use crate::catalog::table::Table;
pub use crate::govern::filter::Filter;
use crate::scan::{Mask, Scan, ScanColumn};
use crate::syntax::listing::Listing;
use crate::syntax::statement;

/// The rules of one table for one caller.
#[derive(Debug, Clone, Default)]
pub struct TableRules {
    filters: Vec<Filter>,
    masks: Vec<(String, Mask)>,
    /// Of the hidden rows nothing follows, not even an order.
    strict: bool,
}

/// The rules of every table for one caller. Case does not matter in names.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    tables: HashMap<(String, String), TableRules>,
    /// The answer is taken a part at a time.
    in_parts: bool,
}

impl Rules {
    /// A row must pass this filter and all others of its table.
    pub fn filter(&mut self, schema: &str, table: &str, filter: Filter) {
        self.table(schema, table).filters.push(filter);
    }

    /// Every statement that reads the table runs over its visible rows alone, from the start.
    pub fn strictly(&mut self, schema: &str, table: &str) {
        self.table(schema, table).strict = true;
    }

    /// The rows are taken a part at a time, so that which come first is told as a LIMIT tells it.
    pub fn in_parts(&mut self) {
        self.in_parts = true;
    }

    /// Masks a column; the stronger of two masks on one column stays.
    pub fn mask(&mut self, schema: &str, table: &str, column: &str, mask: impl Into<Mask>) {
        let mask = mask.into();
        let masks = &mut self.table(schema, table).masks;
        match masks.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(column)) {
            Some((_, known)) if known.shown() <= mask.shown() => {}
            Some((_, known)) => *known = mask,
            None => masks.push((column.to_owned(), mask)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether anything rules what this path names.
    pub fn names(&self, path: &str) -> bool {
        let (schema, name) = path.split_once('.').unwrap_or((crate::ast::names::MAIN_SCHEMA, path));
        self.tables.contains_key(&(schema.to_ascii_lowercase(), name.to_ascii_lowercase()))
    }

    fn table(&mut self, schema: &str, table: &str) -> &mut TableRules {
        self.tables.entry((schema.to_ascii_lowercase(), table.to_ascii_lowercase())).or_default()
    }

    fn of(&self, table: &Table) -> Option<&TableRules> {
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(table.schema.to_ascii_lowercase(), table.name.to_ascii_lowercase()))
    }
}

/// A statement with its rules in it. Made by [`govern`] alone.
#[derive(Debug, Clone)]
pub struct Governed {
    pub(crate) kind: statement::StatementKind,
    pub(crate) tree: Box<ast::Statement>,
    pub(crate) scans: Vec<Scan>,
    /// Tables that it writes beside its target.
    pub(crate) also: Vec<Arc<Table>>,
    /// The types of its columns by name, where its tree no longer tells them.
    pub(crate) known: Option<Known>,
    /// What the engine keeps of a definition's text.
    pub(crate) comment: Comment,
    pub(crate) sequences: sequence::Changed,
    pub(crate) narrowed: NarrowedScans,
    /// The question to visible rows before it runs where the rows are: a query that answers nothing, or fails.
    pub(crate) asked: Option<Box<ast::Query>>,
    masked_columns: Vec<String>,
    masked_conditions: Vec<String>,
    masked_outputs: Vec<usize>,
    filtered_tables: BTreeSet<String>,
    care: ExecutionMode,
    fails_in_several_ways: bool,
    warnings: Vec<String>,
}

/// The mode in which no error tells of rows that a filter hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionMode {
    /// No row is hidden.
    Direct,
    /// Rows are hidden, and no expression of the caller is known to raise an error about one. If one does before
    /// anything was sent, it counts over the visible rows alone.
    Leakproof,
    /// An expression could: rows wait until it is known that none did. When one did, it counts over the visible rows
    /// alone. So it is where visible rows are asked first whether their numbers are short.
    Speculative,
    /// From the start over the visible rows alone: whether an expression, or a filter, fails, or which rows are taken,
    /// follows the engine's plan, and that the number of all rows.
    Materialized,
}

impl Governed {
    /// Another query of the same tables under the same rules.
    pub(crate) fn reading(&self, query: Box<ast::Query>) -> Self {
        let tree = Box::new(ast::Statement::Query(query));
        let known = Some(self.known().into_owned());
        Self { tree, known, masked_outputs: Vec::new(), narrowed: NarrowedScans::new(), asked: None, ..self.clone() }
    }

    /// The types of its columns, by name.
    pub(crate) fn known(&self) -> Cow<'_, Known> {
        let told = || Cow::Owned(lineage::known(&self.tree, &self.scans));
        self.known.as_ref().map_or_else(told, Cow::Borrowed)
    }

    /// What is read, and what is governed there, instead of the answer: nothing of the rules' own text.
    fn explaining(scans: Vec<Scan>, filtered_tables: BTreeSet<String>) -> Result<Self, Error> {
        let mut listing = Listing::new("operation, object, rows, masked_columns");
        for scan in &scans {
            let rows = if scan.filters.is_empty() { "all" } else { "filtered" };
            // of a denied column not even the name is told
            let shown = |column: &ScanColumn<'_>| column.mask.is_some_and(|mask| mask != Mask::Denied);
            let masked: Vec<&str> = scan.columns().filter(shown).map(|column| column.name).collect();
            let cells = ["TableScan".to_owned(), scan.table.path(), rows.to_owned(), masked.join(", ")];
            listing.add(cells.into_iter().map(Some).collect());
        }
        if scans.is_empty() {
            // tools look for a row; it says that no table is read
            listing.add(["Result", "", "all", ""].map(|cell| Some(cell.to_owned())).to_vec());
        }
        let query = Box::new(listing.query()?);
        Ok(Self {
            kind: statement::StatementKind::Select,
            comment: Comment::default(),
            sequences: sequence::Changed::default(),
            narrowed: NarrowedScans::new(),
            asked: None,
            tree: Box::new(ast::Statement::Query(query)),
            scans,
            also: Vec::new(),
            known: Some(Known::default()),
            masked_columns: Vec::new(),
            masked_conditions: Vec::new(),
            masked_outputs: Vec::new(),
            filtered_tables,
            care: ExecutionMode::Direct,
            fails_in_several_ways: false,
            warnings: Vec::new(),
        })
    }

    /// `table.column` of the masked columns its answer is made of, in the order they are met.
    pub fn masked_columns(&self) -> &[String] {
        &self.masked_columns
    }

    /// The same of the masked columns that its conditions are made of: what they compare is what the caller sees.
    pub fn masked_conditions(&self) -> &[String] {
        &self.masked_conditions
    }

    /// Places of the answer's columns that are a masked column: they are text.
    pub fn masked_outputs(&self) -> &[usize] {
        &self.masked_outputs
    }

    /// `schema.table` of the tables whose rows a filter hides.
    pub fn filtered_tables(&self) -> &BTreeSet<String> {
        &self.filtered_tables
    }

    /// How it must be run.
    pub fn care(&self) -> ExecutionMode {
        self.care
    }

    /// Whether it has expressions whose errors are of several classes, so that chance decides which one it fails by.
    /// Nobody asks that where nothing is hidden.
    pub fn fails_in_several_ways(&self) -> bool {
        self.fails_in_several_ways
    }

    pub fn kind(&self) -> &statement::StatementKind {
        &self.kind
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The governed statement as text, for the log.
    pub fn text(&self) -> Result<String, Error> {
        crate::print::governed(&self.tree, &self.scans)
    }
}

/// Puts the rules in. What cannot be governed is refused.
pub fn govern(resolved: Resolved, rules: &Rules) -> Result<Governed, Error> {
    let Resolved { kind, mut tree, references, target, also, views, comment, sequences, explains, remark, .. } =
        resolved;
    let none = Rules::default();
    // what is defined is governed where it is read, for whoever reads it
    let rules = if matches!(kind, statement::StatementKind::CreateView) { &none } else { rules };
    written_elsewhere(&tree, target.as_ref(), &also, rules)?;
    if let Some(view) = views.iter().find(|view| rules.names(view)) {
        return Err(Error::ungovernable("a policy on a view", view));
    }
    kept_without_collation(&kind, &tree)?;
    let (mut scans, filtered_tables) = scanned(references.iter().chain(target.as_ref()), rules)?;
    if let Some(table) = &target {
        let filters = rules.of(table).map_or(&[][..], |ruling| &ruling.filters);
        target::govern(&mut tree, filters, &mut scans)?;
    }
    let in_parts = rules.in_parts;
    let mut found = followed(&tree, &scans, in_parts);
    if !filtered_tables.is_empty()
        && found.failing.follows_plan()
        && let Some(completed) =
            found.outputs.as_ref().and_then(|outputs| leaks::limit_ties::completed(&tree, outputs, in_parts))
    {
        let again = lineage::of(&completed, &scans, in_parts);
        if again.refused.is_none() && !again.failing.follows_plan() {
            (*tree, found) = (completed, again);
        }
    }
    if let Some(refused) = found.refused {
        return Err(refused);
    }
    if let Some((table, column)) = found.denied(&scans) {
        return Err(denied_error(table, column));
    }
    let is_strict =
        references.iter().chain(target.as_ref()).any(|table| rules.of(table).is_some_and(|ruling| ruling.strict));
    let filter_can_fail = scans.iter().any(|scan| scan.filter_can_fail);
    let care = match found.failing {
        _ if filtered_tables.is_empty() => ExecutionMode::Direct,
        _ if is_strict || filter_can_fail => ExecutionMode::Materialized,
        failing if failing.follows_plan() => ExecutionMode::Materialized,
        failing if !failing.can_throw => ExecutionMode::Leakproof,
        _ => ExecutionMode::Speculative,
    };
    // before masked columns become text, which is a cast
    let asked = if is_strict || in_parts { None } else { value_bounds::asked(care, &tree, &scans) };
    let masked_outputs = output::as_text(&mut tree, &scans, &found)?;
    let warnings = remark.map(str::to_owned).into_iter().chain(found.warnings()).collect();
    if explains {
        return Governed::explaining(scans, filtered_tables);
    }
    let narrowed = if is_strict { NarrowedScans::new() } else { narrowed::of(care, &tree, &scans) };
    let care = if asked.is_some() { ExecutionMode::Speculative } else { care };
    let fails_in_several_ways = found.failing.in_several_ways;
    Ok(Governed {
        kind,
        comment,
        sequences,
        narrowed,
        asked,
        masked_columns: found.masked_columns(&scans),
        masked_conditions: found.masked_conditions(&scans),
        known: None,
        tree,
        scans,
        also,
        masked_outputs,
        filtered_tables,
        care,
        fails_in_several_ways,
        warnings,
    })
}

/// What is found in a statement. Where nothing is hidden that is nothing, unless it is too much to be followed.
fn followed(tree: &ast::Statement, scans: &[Scan], in_parts: bool) -> Lineage {
    let hides = |scan: &Scan| !scan.filters.is_empty() || scan.is_masked();
    if !scans.iter().any(hides) && lineage::is_small(tree, scans) {
        return Lineage::default();
    }
    lineage::of(tree, scans, in_parts)
}

/// Each table as it is read, and the paths of those that have a row filter.
fn scanned<'a>(
    tables: impl Iterator<Item = &'a Arc<Table>>,
    rules: &Rules,
) -> Result<(Vec<Scan>, BTreeSet<String>), Error> {
    let (mut scans, mut filtered) = (Vec::new(), BTreeSet::new());
    for table in tables {
        let scan = scan::ruled(table, rules.of(table))?;
        if !scan.filters.is_empty() {
            filtered.insert(table.path());
        }
        scans.push(scan);
    }
    Ok((scans, filtered))
}

/// A column does not say that it compares texts by rules of their own: of what it takes for equal either may stand for
/// both, and nothing would look for that.
fn kept_without_collation(kind: &statement::StatementKind, tree: &ast::Statement) -> Result<(), Error> {
    let collates = |expr: &ast::Expr| match expr {
        ast::Expr::Collate { .. } => true,
        ast::Expr::Function(function) => called(function).as_deref() == Some("collate"),
        _ => false,
    };
    if matches!(kind, statement::StatementKind::CreateTableAs) && any_expression(tree, collates) {
        return Err(Error::unsupported("COLLATE in CREATE TABLE AS, where the column would keep it"));
    }
    Ok(())
}

/// Rows that are replaced without being looked at, and rows that go to several tables, pass no filter, and nobody
/// looks which columns they fill: none of them may be denied, or be masked and of a key.
fn written_elsewhere(
    tree: &ast::Statement,
    target: Option<&Arc<Table>>,
    also: &[Arc<Table>],
    rules: &Rules,
) -> Result<(), Error> {
    let overwrites = matches!(tree, ast::Statement::Insert(insert) if insert.overwrite);
    let replaced = target.filter(|_| overwrites);
    let is_filtered = |table: &&Arc<Table>| rules.of(table).is_some_and(|ruling| !ruling.filters.is_empty());
    let is_denied = |table: &&Arc<Table>| {
        let is_one = |(column, mask): &(String, Mask)| *mask == Mask::Denied || keys::has(table, column);
        rules.of(table).is_some_and(|ruling| ruling.masks.iter().any(is_one))
    };
    let refused = also.iter().chain(replaced).find(is_filtered).or_else(|| also.iter().find(is_denied));
    match refused {
        Some(table) if overwrites => Err(Error::ungovernable("INSERT OVERWRITE", &table.path())),
        Some(table) => Err(Error::ungovernable("INSERT into several tables", &table.path())),
        None => Ok(()),
    }
}

pub(crate) fn masked_error(table: &Table, column: &str, what: &str) -> Error {
    let kind = ErrorKind::MaskedColumn { table: table.path(), column: column.to_owned() };
    Error::new(kind, format!("column {column} of {} is masked for you: {what}", table.path()))
}

pub(crate) fn denied_error(table: &Table, column: &str) -> Error {
    let kind = ErrorKind::DeniedColumn { table: table.path(), column: column.to_owned() };
    Error::new(kind, format!("column {column} of {} is denied to you", table.path()))
}

#[cfg(test)]
mod tests;
