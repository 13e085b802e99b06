//! Stage 3. "Policy evaluation: ABAC context check against the extracted tables."
//!
//! Who asks is looked up in the snapshot that the whole query lives by. Then, in this order: may
//! they run such a statement at all; do the policies let it through; is every name in it known.
//! Only what passes all of it becomes [`Allowed`].

mod governed_names;
mod kept;

use std::collections::HashSet;
use std::sync::Arc;

use contract::policy::abac::Operation;
use contract::{Caller, Governance, Role};

use governed_names::{keeps_governed, keeps_schema};

use super::tables::{self, Extracted, JudgedNames, StatementInfo};
use super::{Gates, row_filter};
use crate::Error;
use crate::governance::sessions::standing_in;
use crate::pipeline::authorization::agent::agent;
use crate::pipeline::authorization::authorization_state::is_open;
use crate::pipeline::authorization::capability::Confinement;
use crate::pipeline::authorization::policy_request::PolicyRequest;
use crate::pipeline::authorization::stage_locations::ExternalStages;
use crate::pipeline::authorization::{external_table, visible_catalog};
use crate::pipeline::listed_files::FileUse;
use crate::pipeline::swap::Renaming;
use crate::pipeline::{Pipeline, Query, Result, attached, listed_files, past_load, runtime};
use crate::request::trail::Trail;
use crate::storage::branches::OpenBranch;
use crate::storage::stage_files::user_stage;
use crate::storage::system_tables::ReadTarget;

pub(in crate::pipeline) use crate::pipeline::authorization::agent::Agent;
pub(in crate::pipeline) use crate::pipeline::authorization::asker::Asker;
pub(super) use kept::check_kept;

/// A statement that this caller may run. Its rows and columns are not governed yet.
#[derive(Debug)]
pub(super) struct Allowed {
    pub resolved: sql::Resolved,
    pub about: StatementInfo,
    pub who: Asker,
    /// The tables there are, as of now.
    pub known: Arc<sql::Catalog>,
    /// Set if the agent may do no more than it was granted.
    pub confinement: Option<Confinement>,
}

/// A statement whose plan is kept, which this caller may run once more.
#[derive(Debug)]
pub(super) struct AllowedAgain {
    pub about: StatementInfo,
    pub role: Role,
}

/// Checks a statement for whoever asks it, or for the caller that is supposed to.
pub(super) async fn check(gates: &Gates<'_>, extracted: Extracted, supposed: Option<Asker>) -> Result<Allowed> {
    let (who, is_explained) = match supposed {
        Some(who) => (who, true),
        None => (asker(gates)?, false),
    };
    Box::pin(check_as(gates, extracted, who, is_explained)).await
}

async fn check_as(gates: &Gates<'_>, extracted: Extracted, who: Asker, is_explained: bool) -> Result<Allowed> {
    let Gates { pipeline, query, rules, t } = *gates;
    let Extracted { statement, mut about } = extracted;
    let caller = &who.caller;
    lets_in(gates, caller, about.writes)?;
    caller.may_query(about.writes).map_err(Error::Lacks)?;
    let asked = who.asks(rules, (&query.ask).into(), about.writes);
    let operations: Vec<_> = statement.operations().iter().copied().collect();
    let own = asked.own();
    let looked = attached::looked_for(pipeline, query, rules, &statement).await;
    let judged_by = pipeline.remembered.tables.of(&pipeline.engine()?, query, rules).await?;
    if let Some(mut transaction) = query.transaction().await? {
        transaction.refuse_gone(&statement)?;
    }
    let known = Arc::clone(&judged_by.known);
    let meant = sql::with_tables_of_stages(own.meant(query, &statement, &known));
    let stages = judged_by.stages.with_made(sql::stage_location(&statement)?.as_ref(), &meant);
    let asked = asked.over(&stages);
    // also where the session would find them: what is denied there is so whether or not there is such a table
    let mut confinement = asked.judge((&either(&about.tables, &meant), &meant), &operations, t)?;
    let away = looked?;
    let branch = branch(pipeline, query, &who.agent, &operations).await?;
    let there = branch.as_ref().map_or_else(|| Arc::clone(&known), |it| Arc::new(known.with_tables(it.tables())));
    asked.provenance(&there).permitted(&meant)?;
    let mut names = past_load::found((pipeline, query), caller, &statement, names_of(query, rules, caller)).await?;
    let seen = if statement.reads_catalogue() {
        let estimated = branch.is_none().then(|| judged_by.read());
        seen_by(&asked, &there, &mut names, estimated)
    } else {
        Arc::clone(&there)
    };
    about.outdated = attached::outdated(&away, &judged_by, &seen);
    let in_transaction = query.ask.transaction.is_some() || query.judged_by.is_some();
    let file_use = FileUse::of(is_explained, branch.is_none() && !in_transaction);
    let permits = |stage: &str, done: Operation| asked.permits_files(stage, done);
    let looked_for = listed_files::found((pipeline, rules), (&statement, &permits), &seen, &mut names, file_use);
    about.removes = query.in_time(Box::pin(looked_for)).await?;
    let mainline = branch.as_ref().map(|_| &*known);
    let mut resolved = sql::resolve(statement, &seen, &names)
        .map_err(|error| unresolved(&asked, query, error, (&meant, &operations), (&there, mainline), t))?;
    // The caller may write a name in several ways; what it turned out to mean is judged again.
    about.branch = branch;
    about.seen = Some(judged_by);
    about.written = tables::written(&resolved, &known);
    external_table::read_by(&asked, &resolved, &mut about);
    about.history = tables::history(&about, &resolved)?;
    about.drops_at_commit = resolved.drops_at_commit();
    about.leaves_attached(resolved.renamed_to().as_deref())?;
    keeps_temporary(&about, in_transaction)?;
    let bound = sql::with_tables_of_stages(either(&resolved.tables(), about.written.iter().map(|(path, _)| path)));
    permits_bound(&asked, &resolved, &about, (&bound, &operations), &there, t)?;
    let provenance = asked.provenance(&there);
    provenance.permitted(&bound)?;
    leaves_whole(&asked, query, (&about, &resolved), (&bound, &there))?;
    provenance.write_down(&mut resolved)?;
    about.marks = provenance.marks(&resolved)?;
    closes_none_on_branch(&about)?;
    runtime::permitted(rules, &bound, about.writes)?;
    let templates = &pipeline.remembered.filters;
    let renaming = Renaming { query, rules, caller, own: &own, templates, resolved: &resolved };
    keeps_governed(&renaming, &about)?;
    renaming.note(&mut about, &there)?;
    keeps_filtered(gates, caller, &about, &resolved)?;
    if !bound.is_empty() || resolved.stands_alone() {
        confinement = own.confine(&bound, &operations)?;
        let is_plain = confinement.is_none() && Arc::ptr_eq(&seen, &there);
        let judged = JudgedNames::of(&resolved, &about.tables, either(&about.tables, &meant), &operations);
        (about.judged, about.tables) = (judged.filter(|_| is_plain), bound);
    }
    t.facts().tables.clone_from(&about.tables);
    Ok(Allowed { resolved, about, who, known, confinement })
}

/// On a branch nothing is written down with a table, so no rows come there that would close one.
fn closes_none_on_branch(about: &StatementInfo) -> Result<()> {
    match about.marks.first().filter(|_| about.branch.is_some()) {
        Some(mark) => Err(Error::OpenedOnBranch { table: mark.table.clone() }),
        None => Ok(()),
    }
}

/// What there is for whoever asks what there is: no more than they may read.
fn seen_by(
    asked: &PolicyRequest<'_>,
    there: &sql::Catalog,
    names: &mut sql::SessionNames,
    estimated: Option<&engine::Catalog>,
) -> Arc<sql::Catalog> {
    visible_catalog::narrow(names, asked, there);
    if let Some(read) = estimated {
        names.rows = Arc::new(visible_catalog::row_estimates(asked.rules, asked.caller.role, read));
    }
    Arc::new(visible_catalog::seen(asked, there))
}

/// What is loaded or unloaded without a query's care for each row: no rule may be in force that it would pass by.
fn leaves_whole(
    asked: &PolicyRequest<'_>,
    query: &Query,
    (about, resolved): (&StatementInfo, &sql::Resolved),
    (bound, there): (&[String], &sql::Catalog),
) -> Result<()> {
    asked.opens_tables_whole(bound)?;
    external_table::permitted(asked, there, resolved)?;
    for rows in about.staged.iter().filter(|rows| !rows.selects()) {
        asked.opens_whole(&rows.path())?;
    }
    // the answer of a load names each file that it has read, and PURGE removes them
    for rows in about.staged.iter().filter(|rows| rows.load.is_some()) {
        asked.tells_files(&rows.path())?;
    }
    if query.ask.bounds.outlet.is_some() {
        asked.provenance(there).unloaded(resolved.tables())?;
    }
    Ok(())
}

/// Nothing is written, and nothing renamed, that a row filter reads.
fn keeps_filtered(gates: &Gates<'_>, caller: &Caller, about: &StatementInfo, resolved: &sql::Resolved) -> Result<()> {
    let renamed_to = resolved.renamed_to();
    let written = about.written.iter().map(|(path, _)| path.as_str()).chain(renamed_to.as_deref());
    row_filter::keeps_what_filters_read(&gates.pipeline.remembered.filters, gates.rules, caller.role, written)
}

/// A temporary table needs a transaction that it outlives its statement in.
fn keeps_temporary(about: &StatementInfo, in_transaction: bool) -> Result<()> {
    if !in_transaction && about.written.iter().any(|(path, _)| tables::is_temporary(path)) {
        return Err(Error::Unsupported { what: "a temporary table outside a transaction".to_owned() });
    }
    Ok(())
}

/// The names of a caller's session, and who they are.
fn names_of(query: &Query, rules: &Governance, caller: &Caller) -> sql::SessionNames {
    let mut names = names(query, rules);
    names.user = caller.email.clone().or_else(|| caller.user_id.as_ref().map(ToString::to_string));
    names.role = Some(caller.role.as_str().to_owned());
    names.user_stage = user_stage(caller);
    names
}

/// What its names turned out to mean, and the one that it gives to something.
fn permits_bound(
    asked: &PolicyRequest<'_>,
    resolved: &sql::Resolved,
    about: &StatementInfo,
    (bound, operations): (&[String], &[Operation]),
    there: &sql::Catalog,
    t: &Trail,
) -> Result<()> {
    if *resolved.kind() == sql::StatementKind::DropSchema {
        let schemas: Vec<String> = resolved.written().iter().map(|(path, _)| path.clone()).collect();
        asked.permitted(&schemas, operations, t)?;
        keeps_schema(asked, about, there)?;
    }
    if bound != about.tables {
        asked.permitted(bound, operations, t)?;
    }
    asked.permits_each_stage(bound, operations)?;
    match resolved.renamed_to() {
        Some(new) => asked.permitted(&[new], operations, t),
        None => Ok(()),
    }
}

/// Why names mean nothing. What a view names is denied like what its reader names, there or not.
fn unresolved(
    asked: &PolicyRequest<'_>,
    query: &Query,
    error: sql::Error,
    (meant, operations): (&[String], &[Operation]),
    (there, mainline): (&sql::Catalog, Option<&sql::Catalog>),
    t: &Trail,
) -> Error {
    let missing = asked.own().missing(query, &error);
    if !missing.is_empty() {
        let wanted = either(&missing, meant);
        if let Err(denied) = asked.judge((&wanted, &wanted), operations, t) {
            return denied;
        }
    }
    let left_behind = mainline.and_then(|mainline| asked.left_behind(&missing, there, mainline));
    left_behind.unwrap_or_else(|| asked.shown(error, there))
}

/// The tables of both, each once, in this order: a statement may name thousands.
fn either<'a>(some: &'a [String], others: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut met = HashSet::new();
    some.iter().chain(others).filter(|path| met.insert(path.as_str())).cloned().collect()
}

/// The branch that it is asked on, if this caller may know of it. Tables are not defined there.
pub(super) async fn branch(
    pipeline: &Pipeline,
    query: &Query,
    agent: &Agent,
    operations: &[Operation],
) -> Result<Option<Arc<OpenBranch>>> {
    let Some(id) = &query.branch else { return Ok(None) };
    let place = ReadTarget { engine: &pipeline.engine()?, deadline: query.deadline };
    let open = pipeline.branches.open(place, id, pipeline.clock.now()).await?;
    if agent.verified && agent.id.as_deref() != Some(open.branch.agent_id.as_str()) {
        return Err(Error::BranchNotFound);
    }
    let defines = |done: &&Operation| matches!(done, Operation::Create | Operation::Alter | Operation::Drop);
    if let Some(what) = operations.iter().find(defines) {
        return Err(Error::DefinedOnBranch { what: what.as_str() });
    }
    Ok(Some(open))
}

/// Who asks, in an environment that is open.
pub(in crate::pipeline) fn caller(pipeline: &Pipeline, query: &Query, rules: &Governance) -> Result<Asker> {
    let who = Asker::of(rules, &query.ask, pipeline.clock.now())?;
    stands(rules)?;
    Ok(who)
}

pub(in crate::pipeline) fn names(query: &Query, rules: &Governance) -> sql::SessionNames {
    let asked = &query.ask.names;
    let mut names = sql::SessionNames::new(asked.database.clone().unwrap_or_else(|| rules.environment.slug.clone()));
    names.search_path = asked.search_path();
    names.statement_id = query.ask.query_id.to_string();
    names
}

/// A tool's action passes the same check: who asks, what their key may, what the policies say.
pub(super) fn check_action(
    gates: &Gates<'_>,
    about: &StatementInfo,
    operations: &[Operation],
    stages: &ExternalStages,
) -> Result<(Asker, Option<Confinement>)> {
    let Gates { pipeline, query, rules, t } = *gates;
    let who = asker(gates)?;
    lets_in(gates, &who.caller, about.writes)?;
    let asked = who.asks(rules, (&query.ask).into(), about.writes).over(stages);
    asked.permitted(&about.tables, operations, t)?;
    // of all that is no statement, only the merge of a branch changes tables that are there
    let merged = about.tables.iter().filter(|_| operations.contains(&Operation::Merge)).map(String::as_str);
    row_filter::keeps_what_filters_read(&pipeline.remembered.filters, rules, who.caller.role, merged)?;
    let confinement = asked.own().confine(&about.tables, operations)?;
    Ok((who, confinement))
}

/// Who asks, by the rules of now. The audit entry names them from here on, where they are refused too.
fn asker(gates: &Gates<'_>) -> Result<Asker> {
    let Gates { pipeline, query, rules, t } = *gates;
    t.facts().governance_version = rules.version;
    let now = pipeline.clock.now();
    let caller = standing_in(rules, &query.ask.who, query.ask.peer, now)?;
    t.facts().caller = Some(caller.clone());
    let agent = agent(rules, &caller, &query.ask.agent)?;
    t.facts().agent = agent.told();
    Ok(Asker { caller, agent, when: now.into() })
}

/// Whether the environment is open, and the caller may ask this within its bounds.
fn lets_in(gates: &Gates<'_>, caller: &Caller, writes: bool) -> Result<()> {
    stands(gates.rules)?;
    gates.query.ask.bounds.permit(caller, writes)
}

/// Is this environment open at all?
fn stands(rules: &Governance) -> Result<()> {
    if rules.organization.status != "active" {
        return Err(Error::Suspended { what: "organization" });
    }
    if !is_open(rules.environment.status) {
        return Err(Error::Suspended { what: "environment" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_both_come_once_and_in_their_order() {
        let paths = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let cases: [(&[&str], &[&str], &[&str]); 5] = [
            (&[], &[], &[]),
            (&["b", "a"], &[], &["b", "a"]),
            (&["b", "a"], &["a", "c", "b", "d"], &["b", "a", "c", "d"]),
            (&[], &["c", "c", "a"], &["c", "a"]),
            (&["main.T"], &["main.t"], &["main.T", "main.t"]),
        ];
        for (some, others, expected) in cases {
            assert_eq!(either(&paths(some), &paths(others)), paths(expected), "{some:?} {others:?}");
        }
    }
}
