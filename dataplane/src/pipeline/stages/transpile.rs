//! Stage 8. "Transpilation: warehouse dialect to engine dialect."
//!
//! What the engine runs is generated here, from the governed tree; the caller's text is never passed
//! on. Values of policies and of the caller stay values: they are bound, not printed.

mod values;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use arrow::datatypes::{Schema, SchemaRef};
use tokio_util::sync::CancellationToken;

use super::embed::Embedded;
use super::policy::AllowedAgain;
use super::quota::{AffordedAgain, Reservation};
use super::row_filter::Filtered;
use super::tables::StatementInfo;
use super::{Gates, Mode, copy_report, semaphore};
use crate::pipeline::authorization::capability::Confinement;
use crate::pipeline::runtime::{self, RowSelection};
use crate::pipeline::{Pipeline, Query, Result};
use crate::request::answer::Description;
use crate::{Column, Error};

pub(in crate::pipeline) use values::bound;

/// SQL of the engine's own dialect, all rules in it. Nothing else is ever executed.
#[derive(Debug)]
pub(in crate::pipeline) struct Native {
    pub sql: sql::EngineSql,
    pub about: StatementInfo,
    pub(super) reservation: Reservation,
    pub care: sql::ExecutionMode,
    /// Whether its errors must not say by which expression it failed: rows are hidden, and chance decides it.
    pub fails_anyhow: bool,
    pub masked_columns: Vec<String>,
    /// Of who asks.
    pub role: contract::Role,
}

/// A statement that all gates have let through, with what is told of it where it is not run.
pub(in crate::pipeline) struct Passed {
    pub native: Native,
    /// The same without policies, as text: of a statement that is explained.
    pub plain: Option<String>,
    /// A policy changes the statement.
    pub changed: bool,
    /// That a value stands for those that a PIVOT reads when the statement runs.
    pub assumed: Option<String>,
    /// Set if the agent may do no more than it was granted.
    pub confinement: Option<Confinement>,
}

pub(super) fn to_engine(gates: &Gates<'_>, embedded: Embedded, mode: &Mode) -> Result<Passed> {
    let Embedded { filtered, assumed } = embedded;
    let Filtered { governed, ungoverned, mut about, reservation, role, confinement } = filtered;
    let care = governed.care();
    let fails_anyhow = care != sql::ExecutionMode::Direct && governed.fails_in_several_ways();
    let masked_columns = governed.masked_columns().to_vec();
    let changed = ungoverned.is_some();
    let sql = sql::transpile(governed)?;
    let types = &gates.query.ask.types;
    let sql = if types.is_empty() { sql } else { sql.typed(types)? };
    about.attached = sql.attached();
    let plain = match mode {
        Mode::Run => {
            let plain = without_policies(&sql, ungoverned)?;
            let mut facts = gates.t.facts();
            facts.transpiled = Some(plain);
            facts.with_rls = Some(text(&sql));
            drop(facts);
            bound(&sql.binds, &gates.query.ask.params)?; // a missing value is told before anything is opened
            None
        }
        Mode::Explain(_) => Some(without_policies(&sql, ungoverned)?),
        Mode::Describe | Mode::Recheck => None,
    };
    let native = Native { sql, about, reservation, care, fails_anyhow, masked_columns, role };
    Ok(Passed { native, plain, changed, assumed, confinement })
}

/// The SQL that was generated of a text before, and its audit facts.
pub(super) struct KeptSql {
    pub sql: sql::EngineSql,
    pub care: sql::ExecutionMode,
    pub fails_anyhow: bool,
    pub masked_columns: Vec<String>,
    pub changed: bool,
    pub transpiled: Option<String>,
    pub with_rls: Option<String>,
}

/// The statement that was generated before, for the values of now.
pub(super) fn bind_kept(gates: &Gates<'_>, afforded: AffordedAgain, generated: KeptSql) -> Result<Passed> {
    let AffordedAgain { allowed, reservation } = afforded;
    let AllowedAgain { about, role } = allowed;
    let KeptSql { sql, care, fails_anyhow, masked_columns, changed, transpiled, with_rls } = generated;
    let mut facts = gates.t.facts();
    (facts.transpiled, facts.with_rls) = (transpiled, with_rls);
    drop(facts);
    bound(&sql.binds, &gates.query.ask.params)?;
    let native = Native { sql, about, reservation, care, fails_anyhow, masked_columns, role };
    Ok(Passed { native, plain: None, changed, assumed: None, confinement: None })
}

/// What the engine would run if there were no policies, as text.
fn without_policies(sql: &sql::EngineSql, ungoverned: Option<sql::Resolved>) -> Result<String> {
    match ungoverned {
        Some(resolved) => Ok(text(&sql::transpile(sql::govern(resolved, &sql::Rules::default())?.embedded()?)?)),
        None => Ok(text(sql)),
    }
}

/// All that is run, step by step.
pub(in crate::pipeline) fn text(sql: &sql::EngineSql) -> String {
    let steps = sql.before.iter().map(|step| step.sql.as_str()).chain([sql.sql.as_str()]);
    steps.collect::<Vec<_>>().join(";\n")
}

/// Values that policies put into the last step; none where the caller's go.
pub(in crate::pipeline) fn own_values(sql: &sql::EngineSql) -> Vec<Option<String>> {
    let value = |bind: &sql::Bind| match bind {
        sql::Bind::Text(text) => Some(text.clone()),
        sql::Bind::Caller(_) | sql::Bind::Number(_) | sql::Bind::Moment(_) => None,
    };
    sql.binds.iter().map(value).collect()
}

/// What the engine says of the generated statement, without running it. The engine works for that: it has one of the
/// slots of stage 1 meanwhile, and ends by the query's deadline.
pub(in crate::pipeline) async fn describe(gates: &Gates<'_>, native: Native) -> Result<Description> {
    let Gates { pipeline, query, rules, .. } = *gates;
    let Native { sql, about, .. } = native;
    if let Some(described) = copy_report::described(&about) {
        return Ok(described);
    }
    if let Some(rows) = about.staged.iter().find(|rows| rows.load.is_some_and(|load| load.shows().is_some())) {
        return Box::pin(shown(gates, rows, &about)).await;
    }
    let said = &query.ask.types;
    if sql.before.iter().any(|step| !step.checks) {
        // what it names is made by its own first steps; it answers with a count
        let parameters = known(said, &sql.binds, &[]).into_iter().map(text_if_open).collect();
        return Ok(Description { parameters, columns: Vec::new(), schema: Some(nothing()), command: about.command });
    }
    let _slot = semaphore::enter(pipeline, query).await?;
    let engine = pipeline.engine()?;
    let mut own = runtime::session(pipeline, query, rules, &sql.tables, RowSelection::None).await?;
    let mut transaction = query.transaction().await?;
    let of_client = transaction.as_mut().and_then(|transaction| transaction.own_view());
    if own.is_none() && of_client.is_none() && about.takes_in() {
        own = Some(engine.session().await?);
    }
    let mut session = own.as_mut().or(of_client);
    if let Some(session) = session.as_deref_mut() {
        made_empty(query, session, &about).await?;
    }
    let mut place = DescribedAt { engine: &engine, session, query };
    let mut types = Vec::new();
    if sql.binds.iter().any(|bind| bind.caller().is_some()) {
        types = place.parameters(&sql.sql).await?;
        lists(&engine, query, &sql.sql, &mut types).await;
    }
    let mut parameters = known(said, &sql.binds, &types);
    if parameters.iter().any(Option::is_none) {
        let asking = sql.asking(&castable(&parameters))?;
        // It only asks for types: where the engine cannot tell, the parameter is text.
        if asking.sql != sql.sql
            && let Ok(types) = place.parameters(&asking.sql).await
        {
            parameters = known(&parameters, &asking.binds, &types);
        }
    }
    let sql = if parameters.is_empty() { sql } else { sql.typed(&castable(&parameters))? };
    let described = place.describe(&sql.sql).await?;
    let column = |(place, column): (usize, engine::Column)| {
        let (masked, is_jsonb) = (sql.masked_outputs.contains(&place), sql.jsonb_outputs.contains(&place));
        Column::shown(column.name, column.type_name, masked, is_jsonb)
    };
    let parameters = parameters.into_iter().map(text_if_open).collect();
    let engine::Described { columns: described, schema } = described;
    let answers = !about.writes || returns(&described, &sql.sql);
    let schema = if answers { schema } else { Some(nothing()) };
    let columns = described.into_iter().enumerate().filter(|_| answers).map(column).collect();
    Ok(Description { parameters, columns, schema, command: about.command })
}

/// What the engine says of the rows that COPY INTO shows in place of loading them.
async fn shown(gates: &Gates<'_>, rows: &sql::StagedRows, about: &StatementInfo) -> Result<Description> {
    let Gates { pipeline, query, .. } = *gates;
    let _slot = semaphore::enter(pipeline, query).await?;
    let mut session = pipeline.engine()?.session().await.map_err(|error| query.fault(error))?;
    made_empty(query, &mut session, about).await?;
    let described = session.describe(&rows.shown(), query.deadline, &query.ask.cancel).await;
    let engine::Described { columns, schema } = described.map_err(|error| query.fault(error))?;
    let columns = columns.into_iter().map(|column| Column::shown(column.name, column.type_name, false, false));
    Ok(Description { parameters: Vec::new(), columns: columns.collect(), schema, command: about.command })
}

/// Makes the tables of the statement's stages and attached databases, without rows.
async fn made_empty(query: &Query, session: &mut engine::Session, about: &StatementInfo) -> Result<()> {
    let staged =
        |rows: &sql::StagedRows| rows.external.as_ref().map_or_else(|| rows.made(), sql::ExternalRows::created);
    let made = about.staged.iter().map(staged).chain(about.attached.iter().map(sql::AttachedRead::made));
    for sql in made {
        let statement = engine::Statement { sql, params: Vec::new(), writes: true };
        let made = session.keep(statement, query.deadline, &query.ask.cancel).await;
        made.map_err(|error| query.fault(error))?;
    }
    Ok(())
}

/// The columns of an answer that has none.
fn nothing() -> SchemaRef {
    SchemaRef::new(Schema::empty())
}

/// Nothing in it is a caller's.
const TAKEN: Duration = Duration::from_secs(30);

/// The parameters of a statement, in Arrow.
pub(in crate::pipeline) async fn taken(pipeline: &Pipeline, description: &Description) -> Result<SchemaRef> {
    if description.parameters.is_empty() {
        return Ok(nothing());
    }
    // The engine's own names of types. A plain cast of NULL would be folded, and its type forgotten.
    let typed = |(place, kind): (usize, &String)| format!("(select cast(null as {kind})) as \"${}\"", place + 1);
    let typed: Vec<_> = description.parameters.iter().enumerate().map(typed).collect();
    let sql = format!("select {}", typed.join(", "));
    let described = pipeline.engine()?.describe(&sql, Instant::now() + TAKEN, &CancellationToken::new()).await?;
    described.schema.ok_or_else(|| Error::Unverified { why: "a parameter has no type of Arrow's".to_owned() })
}

/// The engine leaves the list of `x = ANY($1)` open; of `x = ($1)` it tells the item.
async fn lists(engine: &engine::Engine, query: &Query, sql: &str, types: &mut [Option<String>]) {
    let is_open = |number: usize| number.checked_sub(1).and_then(|place| types.get(place)).is_some_and(Option::is_none);
    let (items, open) = items(sql, is_open);
    if open.is_empty() {
        return;
    }
    // It only asks for types: where the engine cannot tell, the parameter is text as before.
    let Ok(told) = engine.parameters(&items, query.deadline, &query.ask.cancel).await else { return };
    for place in open {
        if let (Some(kind), Some(Some(item))) = (types.get_mut(place), told.get(place)) {
            *kind = Some(format!("{item}[]"));
        }
    }
}

/// The text with `($1)` for `ANY($1)` and `ALL($1)` of such parameters, and their places.
fn items(sql: &str, is_open: impl Fn(usize) -> bool) -> (String, BTreeSet<usize>) {
    let (mut items, mut places, mut rest) = (String::with_capacity(sql.len()), BTreeSet::new(), sql);
    while let Some((before, behind)) = rest.split_once("($") {
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, end) = behind.split_at_checked(digits).unwrap_or_default();
        let number = number.parse().ok().filter(|number| end.starts_with(')') && is_open(*number));
        let head = before.strip_suffix("ANY").or_else(|| before.strip_suffix("ALL"));
        match (head, number) {
            (Some(head), Some(number)) => {
                items.push_str(head);
                places.insert(number - 1);
            }
            _ => items.push_str(before),
        }
        items.push_str("($");
        rest = behind;
    }
    items.push_str(rest);
    (items, places)
}

/// Does a write answer with rows? One without RETURNING is described by the count it would give, or by its success.
fn returns(described: &[engine::Column], sql: &str) -> bool {
    match described {
        [one] => !matches!(one.name.as_str(), "Count" | "Success") || sql.contains(" RETURNING "),
        columns => !columns.is_empty(),
    }
}

/// Where a statement is described: in the session that knows its tables, or by the engine.
struct DescribedAt<'a> {
    engine: &'a engine::Engine,
    session: Option<&'a mut engine::Session>,
    query: &'a Query,
}

impl DescribedAt<'_> {
    async fn parameters(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        let (deadline, cancel) = (self.query.deadline, &self.query.ask.cancel);
        let told = match &mut self.session {
            Some(session) => session.parameters(sql, deadline, cancel).await,
            None => self.engine.parameters(sql, deadline, cancel).await,
        };
        told.map_err(|error| self.query.fault(error))
    }

    async fn describe(&mut self, sql: &str) -> Result<engine::Described> {
        let (deadline, cancel) = (self.query.deadline, &self.query.ask.cancel);
        let told = match &mut self.session {
            Some(session) => session.describe(sql, deadline, cancel).await,
            None => self.engine.describe(sql, deadline, cancel).await,
        };
        told.map_err(|error| self.query.fault(error))
    }
}

/// A number without a precision, where a type must be told before there is a value.
const NUMERIC: &str = "DECIMAL(38,10)";

/// A moment with a zone, of which the engine may tell nothing beside a parameter whose type is open.
const MOMENT: &str = "TIMESTAMP WITH TIME ZONE";

/// The type of each of the caller's parameters: what was said, else that of its first place that tells one.
fn known(said: &[Option<String>], binds: &[sql::Bind], types: &[Option<String>]) -> Vec<Option<String>> {
    let mut known = said.to_vec();
    for (place, bind) in binds.iter().enumerate() {
        let Some(at) = bind.caller().and_then(|number| number.checked_sub(1)) else { continue };
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        let of_engine = || types.get(place).cloned().flatten().map(of_literal);
        let told = match bind {
            sql::Bind::Number(_) => Some(NUMERIC.to_owned()),
            sql::Bind::Moment(_) => of_engine().or_else(|| Some(MOMENT.to_owned())),
            _ => of_engine(),
        };
        if let Some(slot @ None) = known.get_mut(at) {
            *slot = told;
        }
    }
    known
}

/// The engine has types of its own for literals.
fn of_literal(kind: String) -> String {
    match kind.as_str() {
        "INTEGER_LITERAL" => "INTEGER".to_owned(),
        "STRING_LITERAL" => "VARCHAR".to_owned(),
        _ => kind,
    }
}

/// Text where nothing tells, as PostgreSQL says.
fn text_if_open(kind: Option<String>) -> String {
    kind.unwrap_or_else(|| "VARCHAR".to_owned())
}

/// Those that are written around their parameters: whole types that a value is bound as. Text stays what it is read as.
fn castable(types: &[Option<String>]) -> Vec<Option<String>> {
    let is_plain = |kind: &str| {
        let item = kind.strip_suffix("[]").unwrap_or(kind);
        let names = [
            "BOOLEAN",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DATE",
            "TIME",
            "TIMESTAMP",
            "INTERVAL",
            "UUID",
            "BLOB",
            "JSON",
            "TIMESTAMP WITH TIME ZONE",
        ];
        let digits = item.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')'));
        let is_decimal = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b','));
        is_decimal || names.contains(&item)
    };
    types.iter().map(|kind| kind.clone().filter(|kind| is_plain(kind))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_open_is_asked_by_its_items() {
        let (asked, places) = items("a = ANY($1) AND b = ANY($12) AND c <> ALL($3) OR f($2)", |number| number != 3);
        assert_eq!(asked, "a = ($1) AND b = ($12) AND c <> ALL($3) OR f($2)");
        assert_eq!(places.into_iter().collect::<Vec<_>>(), [0, 11]);
    }

    #[test]
    fn a_parameter_has_the_type_of_its_first_known_place_or_is_text() {
        let binds = [sql::Bind::Caller(2), sql::Bind::Text("x".to_owned()), sql::Bind::Caller(1), sql::Bind::Caller(2)];
        let types = [None, Some("VARCHAR".to_owned()), Some("BIGINT".to_owned()), Some("DATE".to_owned())];
        let told = |said: &[Option<String>], types| -> Vec<String> {
            known(said, &binds, types).into_iter().map(text_if_open).collect()
        };
        assert_eq!(told(&[], &types), ["BIGINT", "DATE"]);
        assert_eq!(told(&[], &[]), ["VARCHAR", "VARCHAR"]);
        assert_eq!(told(&[None, Some("INTEGER".to_owned())], &types), ["BIGINT", "INTEGER"]);
        assert_eq!(known(&[], &[sql::Bind::Moment(1)], &[None]), [Some(MOMENT.to_owned())]);
    }
}
