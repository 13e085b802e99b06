//! The governed statement in the engine's dialect, as text with bound values.

#[cfg(test)]
mod forms_tests;
mod literal;
#[cfg(test)]
mod lookup_tests;
mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlparser::ast::{Query, Statement};

use crate::ast::error::Error;
use crate::bind::scope::StatementTables;
use crate::catalog::attached_read::AttachedRead;
use crate::compile::steps::{self, CountedStep, Step};
use crate::compile::visible;
use crate::dialect::{self, RewriteNotes};
use crate::govern::Governed;
use crate::print::{self, Bind, MemberRead, ParameterTypes, Printed, RECORD, Reading};
use crate::scan::Scan;

pub use literal::{LiteralForm, first_token};
use shared::SharedReading;
pub use shared::{SharedSql, SharedText};

/// The SQL that the engine runs. Made by [`transpile`], and like what that made by [`SharedSql`].
#[derive(Debug, Clone)]
pub struct EngineSql {
    /// Run first, in the same transaction, in this order.
    pub before: Vec<Before>,
    pub sql: String,
    /// Values of `$1`, `$2` … in this order.
    pub binds: Vec<Bind>,
    /// `catalog.schema.table` of every table in the text, each once, sorted.
    pub tables: Vec<String>,
    pub warnings: Vec<String>,
    /// Places of the columns that are a masked column: text in the answer.
    pub masked_outputs: Vec<usize>,
    /// Places of the columns that are declared as JSONB: JSON to the engine.
    pub jsonb_outputs: Vec<usize>,
    /// The engine's names of the types of the caller's parameters, as far as they are known.
    types: Vec<Option<String>>,
    /// The text of another statement, of which this one differs in literals of the same forms alone.
    alike: Option<Arc<str>>,
    source: Arc<GovernedSteps>,
    /// The same over visible rows, where its text was not printed of `source`.
    visible: Option<SharedReading>,
}

/// A statement that prepares the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    pub sql: String,
    pub binds: Vec<Bind>,
    /// `catalog.schema.table` of every table in the text.
    pub tables: Vec<String>,
    /// The rows it changes are rows of the caller's statement.
    pub counts: bool,
    /// It only keeps rows for the steps behind: the database is as before.
    pub keeps: bool,
    /// It fails or does nothing: the last statement reads nothing of it.
    pub checks: bool,
}

#[derive(Debug, Default)]
struct GovernedSteps {
    steps: Vec<CountedStep>,
    scans: Vec<Scan>,
    /// Queries of the rows that are kept of some scans, by their numbers: of the others all visible ones are.
    narrowed: BTreeMap<usize, Statement>,
    /// The question to visible rows before the statement runs where the rows are.
    asked: Option<Statement>,
}

impl GovernedSteps {
    /// The steps as text, and the last of them.
    fn printed(&self, reading: Reading, parameters: ParameterTypes<'_>) -> Result<(Vec<Before>, Printed), Error> {
        let mut steps = Vec::with_capacity(self.steps.len());
        let mut visible = BTreeSet::new();
        for CountedStep { step, counts } in &self.steps {
            let printed = match step {
                Step::Tree(tree) => print::engine(tree, &self.scans, reading, parameters)?,
                Step::Check(query) => self.check(&Statement::Query(query.clone()), reading, parameters)?,
                Step::Text(sql) => Printed { sql: sql.clone(), ..Printed::default() },
                Step::Keep(query) => {
                    let query = Statement::Query(query.clone());
                    let made = print::engine(&query, &self.scans, reading, parameters)?;
                    Printed { sql: format!("{}{}", steps::keeping(), made.sql), ..made }
                }
            };
            visible.extend(&printed.visible);
            steps.push((printed, *counts, matches!(step, Step::Check(_))));
        }
        let (last, ..) = steps.pop().ok_or_else(|| Error::unsupported("a statement of no steps"))?;
        let step = |Printed { sql, binds, tables, .. }, counts, keeps, checks| Before {
            sql,
            binds,
            tables,
            counts,
            keeps,
            checks,
        };
        let kept = visible::keeping(&visible, &self.scans, &self.narrowed, &self.steps)?;
        let mut before: Vec<_> = kept.into_iter().map(|printed| step(printed, false, true, false)).collect();
        if let Some(asked) = self.asked.as_ref().filter(|_| reading == Reading::InPlace) {
            before.push(step(self.check(asked, reading, parameters)?, false, true, true));
        }
        before.extend(steps.into_iter().map(|(printed, counts, checks)| step(printed, counts, checks, checks)));
        Ok((before, last))
    }

    /// A query that is run for nothing but its error.
    fn check(&self, query: &Statement, reading: Reading, parameters: ParameterTypes<'_>) -> Result<Printed, Error> {
        let made = print::engine(query, &self.scans, reading, parameters)?;
        Ok(Printed { sql: format!("{}{}", steps::checking(), made.sql), ..made })
    }
}

impl EngineSql {
    /// The same statement over rows that are kept before: no expression of the caller meets a row that a filter
    /// hides, and nothing that the engine knows of such rows decides how it goes about.
    pub fn over_visible(&self) -> Result<Self, Error> {
        if let Some(visible) = &self.visible {
            return visible.statement().ok_or_else(|| Error::unsupported("another way to run this statement"));
        }
        self.printed_as(Reading::Visible, ParameterTypes { types: &self.types, asks: false })
    }

    /// A text that names the same tables and functions: that of the statement of which it differs in literals alone, or its
    /// own.
    pub fn named_alike(&self) -> &str {
        self.alike.as_deref().unwrap_or(&self.sql)
    }

    /// The same with these types of the caller's parameters, as the engine names them: values of a type come as such.
    pub fn typed(self, types: &[Option<String>]) -> Result<Self, Error> {
        let printed = self.printed_as(Reading::InPlace, ParameterTypes { types, asks: false })?;
        Ok(Self { types: types.to_vec(), ..printed })
    }

    /// The tables of attached databases in its text, each once, with the columns of them that it may ask for.
    pub fn attached(&self) -> Vec<AttachedRead> {
        let named: BTreeSet<&String> = self.before.iter().flat_map(|step| &step.tables).chain(&self.tables).collect();
        visible::attached(&named, &self.source.scans, &self.source.steps)
    }

    /// The same with members of the records of a stage, whose rows are kept by this name, as columns of their own, and these
    /// members. None where rules hold for the stage, or a column may be another's.
    pub fn by_member(&self, kept_as: &str) -> Result<Option<(Self, Vec<MemberRead>)>, Error> {
        let [CountedStep { step: Step::Tree(tree), .. }] = self.source.steps.as_slice() else { return Ok(None) };
        let scans = &self.source.scans;
        let has_record = |scan: &&Scan| scan.columns().any(|column| column.name == RECORD);
        let mut of_records = scans.iter().filter(has_record);
        let (Some(scan), None) = (of_records.next(), of_records.next()) else { return Ok(None) };
        if scan.table.stored_name() != kept_as || scan.is_governed() {
            return Ok(None);
        }
        let (Printed { sql, binds, tables, .. }, reads) = print::by_member(tree, scans)?;
        let printed = Self { sql, binds, tables: once(tables), alike: None, ..self.clone() };
        Ok((!reads.is_empty()).then_some((printed, reads)))
    }

    /// A text that is never run: it asks the engine for the types of parameters that have none among these.
    pub fn asking(&self, types: &[Option<String>]) -> Result<Self, Error> {
        self.printed_as(Reading::InPlace, ParameterTypes { types, asks: true })
    }

    fn printed_as(&self, reading: Reading, parameters: ParameterTypes<'_>) -> Result<Self, Error> {
        let (before, printed) = self.source.printed(reading, parameters)?;
        let Printed { sql, binds, tables, .. } = printed;
        Ok(Self { before, sql, binds, tables: once(tables), alike: None, ..self.clone() })
    }
}

/// From the warehouse's dialect to the engine's. What a policy put in stays as it is.
pub fn transpile(governed: Governed) -> Result<EngineSql, Error> {
    let masked_outputs = governed.masked_outputs().to_vec();
    let mut warnings = governed.warnings().to_vec();
    let Governed { mut tree, scans, also, comment, sequences, narrowed, asked, .. } = governed;
    let tables = StatementTables { scans: &scans, also: &also };
    let RewriteNotes { warnings: said, jsonb_outputs } = dialect::to_engine(&mut tree, &tables)?;
    warnings.extend(said);
    let to_engine = |(number, query): (usize, Box<Query>)| -> Result<(usize, Statement), Error> {
        let mut statement = Statement::Query(query);
        dialect::to_engine(&mut statement, &tables)?;
        Ok((number, statement))
    };
    let narrowed = narrowed.into_iter().map(to_engine).collect::<Result<_, _>>()?;
    let steps = steps::of(tree, &comment, sequences)?;
    let source = GovernedSteps { steps, scans, narrowed, asked: asked.map(Statement::Query) };
    let (before, printed) = source.printed(Reading::InPlace, ParameterTypes::default())?;
    Ok(EngineSql {
        before,
        sql: printed.sql,
        binds: printed.binds,
        tables: once(printed.tables),
        warnings,
        masked_outputs,
        jsonb_outputs,
        types: Vec::new(),
        alike: None,
        source: Arc::new(source),
        visible: None,
    })
}

/// Each name once, sorted.
fn once(mut tables: Vec<String>) -> Vec<String> {
    tables.sort();
    tables.dedup();
    tables
}
