//! Stage 3. "Policy evaluation: ABAC context check against the extracted tables."
//!
//! Who asks is looked up in the snapshot that the whole query lives by. Then, in this order: may
//! they run such a statement at all; do the policies let it through; is every name in it known.
//! Only what passes all of it becomes [`Allowed`].

use std::sync::Arc;
use std::time::Instant;

use contract::governance::EnvironmentStatus;
use contract::policy::abac::{self, AbacRule, Condition, Context, Decision, Effect, Operation};
use contract::policy::{Policy, Rules, TableRef, filters_on};
use contract::report::{self, AbacEvaluation, Verdict};
use contract::{Caller, Governance};

use super::capability::{Confinement, Own};
use super::tables::{self, About, Extracted};
use super::{Pipeline, Query, Result, origin, runtime, shown};
use crate::branches::Open;
use crate::own_tables::Place;
use crate::sessions::standing_in;
use crate::trail::{Trail, millis};
use crate::{Declared, Error};

/// A statement that this caller may run. Its rows and columns are not governed yet.
#[derive(Debug)]
pub(super) struct Allowed {
    pub resolved: sql::Resolved,
    pub about: About,
    pub caller: Caller,
    pub agent: Agent,
    /// The tables there are, as of now.
    pub known: Arc<sql::Catalog>,
    /// Set if the agent may do no more than it was granted.
    pub confinement: Option<Confinement>,
}

/// For whom a statement is checked, and at which moment.
#[derive(Debug)]
pub(super) struct Asker {
    pub caller: Caller,
    pub agent: Agent,
    pub now: contract::Timestamp,
}

/// The agent behind a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    pub id: Option<String>,
    pub framework: Option<String>,
    /// Not only declared: the key was made for it.
    pub verified: bool,
}

impl Agent {
    fn told(&self) -> Option<report::Agent> {
        let known = self.id.is_some() || self.framework.is_some();
        known.then(|| report::Agent { agent_id: self.id.clone(), framework: self.framework.clone() })
    }
}

pub(super) async fn check(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    extracted: Extracted,
    t: &Trail,
) -> Result<Allowed> {
    t.facts().governance_version = rules.version;
    let now = pipeline.clock.now();
    let caller = standing_in(rules, &query.ask.who, query.ask.peer, now)?;
    t.facts().caller = Some(caller.clone());
    let agent = agent(rules, &caller, &query.ask.agent)?;
    t.facts().agent = agent.told();
    check_as(pipeline, query, rules, extracted, Asker { caller, agent, now }, t).await
}

/// The same for whoever it is said to be: the caller, or somebody an administrator imagines.
pub(super) async fn check_as(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    extracted: Extracted,
    who: Asker,
    t: &Trail,
) -> Result<Allowed> {
    let Extracted { statement, mut about } = extracted;
    let Asker { caller, agent, now } = who;
    stands(rules)?;
    query.ask.bounds.permit(&caller, about.writes)?;
    caller.may_query(about.writes).map_err(Error::Caller)?;
    let asked = Asked { query, rules, caller: &caller, agent: &agent, about: &about, now };
    let operations: Vec<_> = statement.operations().iter().copied().map(tables::operation).collect();
    let own = Own { rules, agent: &agent, now };
    let meant = own.meant(query, &statement);
    // also where the session would find them: what is denied there is so whether or not there is such a table
    asked.permitted(&either(&about.tables, &meant), &operations, t)?;
    let mut confinement = own.confine(&meant, &operations)?;
    let judged_by = pipeline.remembered.tables.of(&pipeline.engine()?, query, rules).await?;
    let known = Arc::clone(&judged_by.known);
    let branch = branch(pipeline, query, &agent, &operations).await?;
    let there = match &branch {
        Some(branch) => Arc::new(known.with_tables(branch.tables())),
        None => Arc::clone(&known),
    };
    origin::permitted(rules, caller.role, &there, &meant)?;
    let mut names = names(query, rules);
    names.user = caller.email.clone().or_else(|| caller.user_id.as_ref().map(ToString::to_string));
    names.role = Some(caller.role.as_str().to_owned());
    // what there is, for who asks what there is: no more than they may read
    let seen = if statement.reads_catalogue() {
        names.masked = Arc::new(shown::masked(rules, &caller, &there));
        let may_see = |path: &str| {
            own.reaches(path)
                && asked.decide(&[path.to_owned()], &[Operation::Select]).effect < Effect::Deny
                && origin::admits(rules, caller.role, &there, path)
        };
        Arc::new(there.seen(may_see))
    } else {
        Arc::clone(&there)
    };
    let mut resolved =
        sql::resolve(statement, &seen, &names).map_err(|error| asked.shown(error, &operations, &own, &there))?;
    // The caller may write a name in several ways; what it turned out to mean is judged again.
    about.branch = branch;
    about.seen = Some(judged_by);
    about.written = tables::written(&resolved, &known);
    if query.ask.transaction.is_none() && about.written.iter().any(|(path, _)| tables::is_temporary(path)) {
        return Err(Error::Unsupported { what: "a temporary table outside a transaction".to_owned() });
    }
    let mut bound = resolved.tables();
    for (path, _) in &about.written {
        if !bound.contains(path) {
            bound.push(path.clone());
        }
    }
    let asked = Asked { query, rules, caller: &caller, agent: &agent, about: &about, now };
    if bound != about.tables {
        asked.permitted(&bound, &operations, t)?;
    }
    origin::permitted(rules, caller.role, &there, &bound)?;
    origin::write_down(rules, caller.role, &there, &mut resolved)?;
    runtime::permitted(rules, &bound, about.writes)?;
    if *resolved.kind() != sql::Kind::Comment {
        keeps_governed(rules, &caller, &about, &own)?;
    }
    if !bound.is_empty() {
        confinement = own.confine(&bound, &operations)?;
        about.tables = bound;
    }
    t.facts().tables.clone_from(&about.tables);
    Ok(Allowed { resolved, about, caller, agent, known, confinement })
}

/// The tables of both, each once.
fn either(some: &[String], others: &[String]) -> Vec<String> {
    let mut all = some.to_vec();
    all.extend(others.iter().filter(|path| !some.contains(path)).cloned());
    all
}

/// The branch that it is asked on, if this caller may know of it. Tables are not defined there.
pub(super) async fn branch(
    pipeline: &Pipeline,
    query: &Query,
    agent: &Agent,
    operations: &[Operation],
) -> Result<Option<Arc<Open>>> {
    let Some(id) = &query.branch else { return Ok(None) };
    let place = Place { engine: &pipeline.engine()?, deadline: query.deadline };
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
pub(super) fn caller(pipeline: &Pipeline, query: &Query, rules: &Governance) -> Result<(Caller, Agent)> {
    let caller = standing_in(rules, &query.ask.who, query.ask.peer, pipeline.clock.now())?;
    let agent = agent(rules, &caller, &query.ask.agent)?;
    stands(rules)?;
    Ok((caller, agent))
}

pub(super) fn names(query: &Query, rules: &Governance) -> sql::Names {
    let asked = &query.ask.names;
    let mut names = sql::Names::new(asked.database.clone().unwrap_or_else(|| rules.environment.slug.clone()));
    names.search_path = vec![asked.schema.clone()];
    names
}

/// What is no statement passes the same check: who asks, what their key may, what the policies say.
pub(super) fn check_deed(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    about: &About,
    t: &Trail,
) -> Result<(Caller, Agent, Option<Confinement>)> {
    t.facts().governance_version = rules.version;
    let now = pipeline.clock.now();
    let caller = standing_in(rules, &query.ask.who, query.ask.peer, now)?;
    t.facts().caller = Some(caller.clone());
    let agent = agent(rules, &caller, &query.ask.agent)?;
    t.facts().agent = agent.told();
    stands(rules)?;
    query.ask.bounds.permit(&caller, about.writes)?;
    let asked = Asked { query, rules, caller: &caller, agent: &agent, about, now };
    let operations = match about.operation {
        // It may be each of them.
        Operation::Merge => vec![Operation::Merge, Operation::Insert, Operation::Update, Operation::Delete],
        other => vec![other],
    };
    asked.permitted(&about.tables, &operations, t)?;
    let own = Own { rules, agent: &agent, now };
    let confinement = own.confine(&about.tables, &operations)?;
    Ok((caller, agent, confinement))
}

/// Is this environment open at all?
fn stands(rules: &Governance) -> Result<()> {
    if rules.organization.status != "active" {
        return Err(Error::Suspended { what: "organization" });
    }
    match rules.environment.status {
        EnvironmentStatus::Active | EnvironmentStatus::Provisioning => Ok(()),
        EnvironmentStatus::Suspended | EnvironmentStatus::Decommissioning => {
            Err(Error::Suspended { what: "environment" })
        }
    }
}

/// A key made for one agent refuses another declaration; anything else is only declared.
fn agent(rules: &Governance, caller: &Caller, declared: &Declared) -> Result<Agent> {
    let key = caller.key_id().and_then(|key_id| rules.key(key_id));
    let Some(bound) = key.and_then(|key| key.agent_id.as_ref().map(|id| (id, key.agent_framework.as_ref()))) else {
        let Declared { agent_id, framework } = declared.clone();
        return Ok(Agent { id: agent_id, framework, verified: false });
    };
    let (agent_id, framework) = bound;
    let differs = |declared: &Option<String>, bound: Option<&String>| {
        declared.as_ref().is_some_and(|declared| bound.is_some_and(|bound| bound != declared))
    };
    if differs(&declared.agent_id, Some(agent_id)) || differs(&declared.framework, framework) {
        return Err(Error::PolicyDenied { message: "the key is bound to another agent".to_owned() });
    }
    let framework = framework.cloned().or_else(|| declared.framework.clone());
    Ok(Agent { id: Some(agent_id.clone()), framework, verified: true })
}

/// Names that an enabled policy uses keep their meaning, so such a table cannot be altered; and who
/// does not see all its rows cannot drop or replace it.
fn keeps_governed(rules: &Governance, caller: &Caller, about: &About, own: &Own<'_>) -> Result<()> {
    for (path, operation) in &about.written {
        let table = table_ref(path);
        let named = |policy: &Policy| match &policy.rules {
            Rules::ColumnMasking(rules) => rules.iter().any(|rule| table.is_named_by(&rule.table)),
            Rules::RowLevelSecurity(rules) => rules.iter().any(|rule| table.is_named_by(&rule.table)),
        };
        // a pattern goes on holding for what it matches; a name holds for nothing else
        let asked_for = |rule: &AbacRule| {
            rule.condition == Condition::TableIs && rule.values.iter().any(|name| table.is_named_by(name))
        };
        let is_named = || {
            rules.policies.iter().any(|policy| policy.enabled && named(policy))
                || rules.abac_policies.iter().any(|policy| policy.enabled && policy.rules.iter().any(asked_for))
        };
        let path = || path.clone();
        match operation {
            Operation::Alter if is_named() => {
                return Err(Error::Governed { table: path() });
            }
            // under another name a column would be denied to nobody
            Operation::Alter if !own.denied_columns(&path()).is_empty() => {
                let message = format!("columns of table {} are denied to the agent: it cannot alter it", path());
                return Err(Error::PolicyDenied { message });
            }
            Operation::Drop if !filters_on(&rules.policies, table, caller.role).is_empty() => {
                return Err(Error::Undroppable { table: path() });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Everything a policy may ask about.
pub(super) struct Asked<'a> {
    pub query: &'a Query,
    pub rules: &'a Governance,
    pub caller: &'a Caller,
    pub agent: &'a Agent,
    pub about: &'a About,
    pub now: contract::Timestamp,
}

impl Asked<'_> {
    pub fn permitted(&self, tables: &[String], operations: &[Operation], t: &Trail) -> Result<()> {
        let began = Instant::now();
        let decision = self.decide(tables, operations);
        let took = millis(began.elapsed());
        let verdict = self.verdict(&decision, tables);
        let mut facts = t.facts();
        facts.verdicts = decision
            .matched
            .into_iter()
            .map(|(policy_id, policy_name, action)| Verdict {
                policy_id,
                policy_name,
                action: action.as_str().to_owned(),
                columns: Vec::new(),
                function: None,
            })
            .collect();
        facts.abac = Some(AbacEvaluation {
            decision: if verdict.is_ok() { "allow" } else { "deny" }.to_owned(),
            policies_evaluated: decision.policies_evaluated,
            evaluation_time_ms: took,
        });
        drop(facts);
        verdict
    }

    pub fn decide(&self, tables: &[String], operations: &[Operation]) -> Decision {
        let context = Context {
            role: self.caller.role,
            user_id: self.caller.user_id.as_ref().map(contract::UserId::as_str),
            attributes: &self.caller.attributes,
            agent_id: self.agent.id.as_deref(),
            agent_framework: self.agent.framework.as_deref(),
            origin: self.query.ask.origin,
            source_ip: self.query.ask.peer.map(|ip| ip.to_canonical()),
            tables: tables.iter().map(|path| table_ref(path)).collect(),
            operations: operations.to_vec(),
            when: self.now.into(),
        };
        abac::evaluate(&self.rules.abac_policies, &context)
    }

    fn verdict(&self, decision: &Decision, tables: &[String]) -> Result<()> {
        let said = |otherwise: &str| decision.message.clone().unwrap_or_else(|| otherwise.to_owned());
        match decision.effect {
            Effect::Allow => Ok(()),
            Effect::ReadOnly if !self.about.writes => Ok(()),
            Effect::ReadOnly => Err(Error::PolicyDenied { message: said("policy lets you only read here") }),
            Effect::Deny => Err(Error::PolicyDenied { message: said("denied by policy") }),
            Effect::DenyTable => {
                let denied = |path: &&String| self.decide(std::slice::from_ref(*path), &[]).effect == Effect::DenyTable;
                let table = tables.iter().find(denied).cloned().unwrap_or_default();
                Err(Error::TableDenied { table })
            }
        }
    }

    /// A suggestion may name only what the caller may see.
    fn shown(&self, mut error: sql::Error, operations: &[Operation], own: &Own<'_>, known: &sql::Catalog) -> Error {
        if let sql::error::Kind::TableNotFound { schema, name, did_you_mean: Some(near) } = &error.kind
            && (!own.reaches(near)
                || self.decide(std::slice::from_ref(near), operations).effect >= Effect::Deny
                || !origin::admits(self.rules, self.caller.role, known, near))
        {
            let path = schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
            let kind =
                sql::error::Kind::TableNotFound { schema: schema.clone(), name: name.clone(), did_you_mean: None };
            let (position, snippet) = (error.position, error.snippet.take());
            error = sql::Error::new(kind, format!("table {path} does not exist"));
            (error.position, error.snippet) = (position, snippet);
        }
        error.into()
    }
}

pub(super) fn table_ref(path: &str) -> TableRef<'_> {
    let (schema, name) = path.split_once('.').unwrap_or(("main", path));
    TableRef { schema, name }
}
