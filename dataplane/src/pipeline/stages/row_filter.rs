//! Stage 6. "Row filters: row-level-security WHERE clause injection."
//!
//! Rows and columns are governed at the same place: every table reference, anywhere in the
//! statement, becomes a subquery that holds only what the caller may see, so no alias, expression,
//! join or error ever meets a raw value. Placeholders become bound values, never text; one that the
//! caller has no value for makes its filter false.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::policy::abac::Operation;
use contract::policy::{self, MaskFunction, TableRef, filters_for, filters_on, masks_on, placeholder_values};
use contract::report::Verdict;
use contract::{Governance, Role};
use moka::sync::Cache;
use sql::govern::filter::FilterTemplate;

use super::Gates;
use super::policy::Allowed;
use super::quota::{Afforded, Reservation};
use super::tables::{MissingAttribute, StatementInfo};
use crate::Error;
use crate::governance::table_path::table_ref;
use crate::pipeline::Result;
use crate::pipeline::authorization::capability::Confinement;
use crate::request::trail::Trail;

/// A statement in which every table is governed.
#[derive(Debug)]
pub(super) struct Filtered {
    pub governed: sql::Governed,
    /// The same statement as the caller wrote it, where governing changed it: for the audit entry.
    pub ungoverned: Option<sql::Resolved>,
    pub about: StatementInfo,
    pub reservation: Reservation,
    pub role: Role,
    /// Set if the agent may do no more than it was granted.
    pub confinement: Option<Confinement>,
}

impl Filtered {
    /// The statement with its calls that compare by meaning made those of the engine's function.
    pub fn embedded(self) -> Result<Self> {
        Ok(Self { governed: self.governed.embedded()?, ..self })
    }

    /// The statement with these values of its PIVOT written out.
    pub fn pivoted(self, values: &[String]) -> Result<Self> {
        let governed = self.governed.pivoted(values)?;
        let ungoverned = self.ungoverned.map(|resolved| resolved.pivoted(values)).transpose()?;
        Ok(Self { governed, ungoverned, ..self })
    }
}

/// Filters that were read before, by their text.
#[derive(Debug)]
pub(in crate::pipeline) struct Templates(Cache<Arc<str>, FilterTemplate>);

const TEMPLATES_MAX: u64 = 10_000;

impl Default for Templates {
    fn default() -> Self {
        Self(Cache::new(TEMPLATES_MAX))
    }
}

impl Templates {
    pub fn of(&self, text: &str) -> Result<FilterTemplate> {
        if let Some(template) = self.0.get(text) {
            return Ok(template);
        }
        let template = FilterTemplate::parse(text)?;
        self.0.insert(text.into(), template.clone());
        Ok(template)
    }
}

/// `text` is what the caller wrote.
pub(super) fn apply(gates: &Gates<'_>, afforded: Afforded, text: &str) -> Result<Filtered> {
    let Gates { pipeline, query, rules, t } = *gates;
    let Afforded { allowed, reservation } = afforded;
    let Chosen { rules: mut chosen, verdicts, lacks } = choose(&pipeline.remembered.filters, rules, &allowed)?;
    if query.ask.bounds.tells_parts() {
        chosen.in_parts();
    }
    if allowed.about.branch.is_some() {
        fills_no_masked(rules, &allowed)?;
    }
    chooses_no_masked_files(rules, &allowed)?;
    let Allowed { resolved, mut about, who, confinement, .. } = allowed;
    about.lacks = lacks;
    let is_ruled = |rows: &sql::StagedRows| chosen.names(&rows.path());
    if let Some(rows) = about.staged.iter().find(|rows| rows.tells_facts() && is_ruled(rows)) {
        return Err(tells_no_facts(rows));
    }
    about.ruled_stages = about.staged.iter().filter(|rows| is_ruled(rows)).map(sql::StagedRows::path).collect();
    // what a filter or mask reads of a record, the statement does not name
    for rows in about.staged.iter_mut().filter(|rows| is_ruled(rows)) {
        rows.members = None;
    }
    let ungoverned = (!chosen.is_empty()).then(|| resolved.clone());
    let governed = sql::govern(resolved, &chosen).map_err(|error| unless_written(error, text))?;
    let masked: Vec<_> = governed.masked_columns().iter().chain(governed.masked_conditions()).cloned().collect();
    let reached: BTreeSet<String> = masked.iter().map(|path| path.to_ascii_lowercase()).collect();
    let mut facts = t.facts();
    facts.columns_masked = masked;
    facts.verdicts.extend(verdicts.into_iter().filter(|verdict| concerns(verdict, &reached)));
    drop(facts);
    Ok(Filtered { governed, ungoverned, about, reservation, role: who.caller.role, confinement })
}

/// Tells of the rules that a kept plan has in it already: they are those of now.
pub(super) fn apply_kept(columns_masked: Vec<String>, verdicts: Vec<Verdict>, t: &Trail) {
    let mut facts = t.facts();
    facts.columns_masked = columns_masked;
    facts.verdicts.extend(verdicts);
}

/// A denied column is told of by name to who has named it: `*` tells of none.
fn unless_written(error: sql::Error, text: &str) -> Error {
    match error.kind {
        sql::ast::error::ErrorKind::DeniedColumn { table, column }
            if !text.to_ascii_lowercase().contains(&column.to_ascii_lowercase()) =>
        {
            let message =
                format!("columns of table {table} are denied to the agent: name those that the catalogue lists");
            Error::PolicyDenied { message }
        }
        _ => error.into(),
    }
}

/// Who changes a table that a row filter reads which holds for them changes what they may see.
pub(super) fn keeps_what_filters_read<'p>(
    templates: &Templates,
    rules: &Governance,
    role: Role,
    written: impl Iterator<Item = &'p str>,
) -> Result<()> {
    let written: BTreeSet<String> = written.map(str::to_ascii_lowercase).collect();
    if written.is_empty() {
        return Ok(());
    }
    for filter in filters_for(&rules.policies, role) {
        let template = templates.of(filter)?;
        if let Some(read) = template.facts().tables.iter().find(|read| written.contains(&read.to_ascii_lowercase())) {
            let message = format!("a row filter that holds for you reads table {read}: you cannot change it");
            return Err(Error::PolicyDenied { message });
        }
    }
    Ok(())
}

/// On a branch what is written is compared with what was there: who may not read a column could guess its values.
fn fills_no_masked(rules: &Governance, allowed: &Allowed) -> Result<()> {
    let is_masked = |path: &str| {
        let denied = allowed.confinement.iter().flat_map(|confinement| &confinement.denied_columns);
        let is_its =
            |(schema, name, _): &(String, String, String)| path.eq_ignore_ascii_case(&format!("{schema}.{name}"));
        !masks_on(&rules.policies, table_ref(path), allowed.who.caller.role).is_empty()
            || denied.into_iter().any(is_its)
    };
    let fills = |operation: &Operation| matches!(operation, Operation::Insert | Operation::Merge);
    match allowed.about.written.iter().find(|(path, operation)| fills(operation) && is_masked(path)) {
        Some((path, _)) => Err(Error::FilledOnBranch { table: path.clone() }),
        None => Ok(()),
    }
}

/// A path or pattern compares the names of files as they are: who may not read them could guess them.
fn chooses_no_masked_files(rules: &Governance, allowed: &Allowed) -> Result<()> {
    let is_name = |column: &str| column.eq_ignore_ascii_case(sql::FILE_NAME);
    let is_masked = |path: &str| {
        let mut denied = allowed.confinement.iter().flat_map(|confinement| &confinement.denied_columns);
        masks_on(&rules.policies, table_ref(path), allowed.who.caller.role).keys().any(|column| is_name(column))
            || denied
                .any(|(schema, name, column)| is_name(column) && path.eq_ignore_ascii_case(&format!("{schema}.{name}")))
    };
    let chooses = |rows: &sql::StagedRows| {
        let sql::FileChoice { prefix, names, pattern } = &rows.chosen;
        rows.external.is_none() && !(prefix.is_empty() && names.is_empty() && pattern.is_none())
    };
    match allowed.about.staged.iter().find(|rows| chooses(rows) && is_masked(&rows.path())) {
        Some(rows) => {
            let message =
                format!("names of files of {} are masked for you: read it without path or pattern", rows.path());
            Err(Error::PolicyDenied { message })
        }
        None => Ok(()),
    }
}

/// A sum over a file's content, or a time of it, tells of records that a rule hides.
fn tells_no_facts(rows: &sql::StagedRows) -> Error {
    let names = "METADATA$FILENAME and METADATA$FILE_ROW_NUMBER";
    let message = format!("a rule holds for you on {}: of its metadata, name {names} alone", rows.path());
    Error::PolicyDenied { message }
}

/// A mask that neither the answer nor a condition reaches is no verdict on the statement.
fn concerns(verdict: &Verdict, reached: &BTreeSet<String>) -> bool {
    let is_reached = |column: &String| {
        let column = column.to_ascii_lowercase();
        reached.iter().any(|path| *path == column || path.ends_with(&format!(".{column}")))
    };
    verdict.columns.is_empty() || verdict.columns.iter().any(is_reached)
}

/// The rules that hold for this caller on the tables of this statement, and what they say for the log.
struct Chosen {
    rules: sql::Rules,
    verdicts: Vec<Verdict>,
    lacks: Vec<MissingAttribute>,
}

fn choose(templates: &Templates, rules: &Governance, allowed: &Allowed) -> Result<Chosen> {
    let mut chosen = sql::Rules::default();
    let (mut verdicts, mut lacks) = (Vec::new(), Vec::new());
    let used: BTreeSet<_> = allowed.about.tables.iter().map(|path| path.to_ascii_lowercase()).collect();
    let values =
        placeholder_values(&allowed.who.caller, &rules.environment.env_id, allowed.who.agent.as_filters_know());
    for (schema, name) in governed_tables(rules) {
        if !used.contains(&format!("{schema}.{name}")) {
            continue;
        }
        let table = TableRef { schema: &schema, name: &name };
        let masks = masks_on(&rules.policies, table, allowed.who.caller.role);
        if masks.keys().any(|column| shows_in_record(&allowed.known, (&schema, &name), column)) {
            chosen.mask(&schema, &name, sql::RECORD_COLUMN, MaskFunction::Null);
        }
        for (column, mask) in masks {
            let put = sql::Mask::Function { function: mask.function, visible_chars: mask.visible_chars };
            chosen.mask(&schema, &name, &column, put);
            verdicts.push(mask_verdict(mask, &name));
        }
        let filters = filters_on(&rules.policies, table, allowed.who.caller.role);
        if !filters.is_empty() {
            for column in counting(&allowed.known, table) {
                chosen.mask(&schema, &name, &column, MaskFunction::Null);
            }
        }
        for row_filter in filters {
            let template = templates.of(&row_filter.filter)?;
            for attribute in template.facts().placeholders.iter().filter(|asked| !values.contains_key(*asked)) {
                let lack = MissingAttribute { table: format!("{schema}.{name}"), attribute: attribute.clone() };
                if !lacks.contains(&lack) {
                    lacks.push(lack);
                }
            }
            let filter = template.bind(&|name| values.get(name).cloned(), &allowed.known)?;
            chosen.filter(&schema, &name, filter);
            if row_filter.strict {
                chosen.strictly(&schema, &name);
            }
            verdicts.push(filter_verdict(row_filter));
        }
    }
    for (schema, name, column) in allowed.confinement.iter().flat_map(|confinement| &confinement.denied_columns) {
        chosen.mask(schema, name, column, sql::Mask::Denied);
        if shows_in_record(&allowed.known, (schema, name), column) {
            chosen.mask(schema, name, sql::RECORD_COLUMN, sql::Mask::Denied);
        }
    }
    Ok(Chosen { rules: chosen, verdicts, lacks })
}

/// The columns that count the records of a file before their own, hidden ones too.
fn counting(known: &sql::Catalog, table: TableRef<'_>) -> Vec<String> {
    if table.stage().is_some() {
        return vec![sql::ROW_NUMBER.to_owned()];
    }
    known.get(table.schema, table.name).map_or_else(Vec::new, |table| sql::numbered_columns(table))
}

/// Whether a column is one of an external table beside the whole record, in which its values stand too.
fn shows_in_record(known: &sql::Catalog, (schema, name): (&str, &str), column: &str) -> bool {
    let is_external = known.get(schema, name).is_some_and(|table| table.is_external());
    is_external && !column.eq_ignore_ascii_case(sql::RECORD_COLUMN)
}

/// Schema and name, in lower case, of each table that an enabled policy names.
fn governed_tables(rules: &Governance) -> BTreeSet<(String, String)> {
    let mut tables = BTreeSet::new();
    let mut add = |rule: &str| {
        let (schema, name) = rule.rsplit_once('.').unwrap_or(("main", rule));
        tables.insert((schema.to_ascii_lowercase(), name.to_ascii_lowercase()));
    };
    for policy in rules.policies.iter().filter(|policy| policy.enabled) {
        match &policy.rules {
            policy::Rules::ColumnMasking(rules) => rules.iter().for_each(|rule| add(&rule.table)),
            policy::Rules::RowLevelSecurity(rules) => rules.iter().for_each(|rule| add(&rule.table)),
        }
    }
    tables
}

const MASK: &str = "mask";
const FILTER: &str = "filter";

/// Whether a verdict is one of masks and filters.
pub(super) fn is_its(verdict: &Verdict) -> bool {
    [MASK, FILTER].contains(&verdict.action.as_str())
}

fn mask_verdict(mask: policy::Mask, table: &str) -> Verdict {
    Verdict {
        policy_id: mask.policy_id,
        policy_name: mask.policy_name,
        action: MASK.to_owned(),
        columns: vec![format!("{table}.{}", mask.column)],
        function: Some(mask.function.to_string()),
    }
}

fn filter_verdict(filter: policy::RowFilter) -> Verdict {
    Verdict {
        policy_id: filter.policy_id,
        policy_name: filter.policy_name,
        action: FILTER.to_owned(),
        columns: Vec::new(),
        function: None,
    }
}
