//! The request that attribute policies judge, at one moment: of a statement, and of what they may know to be there.
//!
//! One rule for all who show names: the catalogue, PostgreSQL's catalogue, the model that heals, lists of branches.

use std::net::IpAddr;
use std::time::Instant;

use contract::policy::abac::{
    self, AbacPolicy, Condition, Context, Decision, Effect, Operation, Origin, StorageUse, When,
};
use contract::policy::{TableRef, filters_on, masks_on};
use contract::report::{AbacEvaluation, Verdict};
use contract::{Caller, Governance};

use super::capability::{AgentGrants, Confinement};
use super::provenance::{self, TableProvenance};
use super::stage_locations::ExternalStages;
use super::visible_catalog;
use crate::governance::table_path::table_ref;
use crate::pipeline::Result;
use crate::pipeline::authorization::agent::Agent;
use crate::request::trail::{Trail, millis};
use crate::{Ask, Error};

/// The protocol that something is asked at, and the address it is asked from.
#[derive(Debug, Clone, Copy)]
pub(in crate::pipeline) struct RequestOrigin {
    pub origin: Origin,
    pub peer: Option<IpAddr>,
}

impl From<&Ask> for RequestOrigin {
    fn from(ask: &Ask) -> Self {
        Self { origin: ask.origin, peer: ask.peer }
    }
}

/// Everything a policy may ask about, but for the tables and what is done to them.
pub(in crate::pipeline) struct PolicyRequest<'a> {
    pub rules: &'a Governance,
    pub caller: &'a Caller,
    pub agent: &'a Agent,
    pub request_origin: RequestOrigin,
    pub writes: bool,
    pub when: When,
    /// None where no stage can be asked for.
    pub stages: Option<&'a ExternalStages>,
}

impl<'a> PolicyRequest<'a> {
    /// The grants of the agent behind it.
    pub fn own(&self) -> AgentGrants<'a> {
        AgentGrants { rules: self.rules, agent: self.agent, now: self.when.now }
    }

    /// The same, of stages whose files are where these say.
    pub fn over(self, stages: &'a ExternalStages) -> Self {
        Self { stages: Some(stages), ..self }
    }

    /// Has the policies judge these names, and the agent's grants those tables.
    pub fn judge(
        &self,
        (names, tables): (&[String], &[String]),
        operations: &[Operation],
        t: &Trail,
    ) -> Result<Option<Confinement>> {
        self.permitted(names, operations, t)?;
        self.own().confine(tables, operations)
    }

    pub fn permitted(&self, tables: &[String], operations: &[Operation], t: &Trail) -> Result<()> {
        let began = Instant::now();
        let decision = self.decide(tables, operations);
        let took = millis(began.elapsed());
        let verdict = self.verdict(&decision, tables).and_then(|()| self.keeps_rules_of_files(tables));
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

    fn decide(&self, tables: &[String], operations: &[Operation]) -> Decision {
        abac::evaluate(&self.rules.abac_policies, &self.context(tables, operations))
    }

    pub fn context<'c>(&'c self, tables: &'c [String], operations: &[Operation]) -> Context<'c> {
        Context {
            role: self.caller.role,
            user_id: self.caller.user_id.as_ref().map(contract::UserId::as_str),
            attributes: &self.caller.attributes,
            agent_id: self.agent.id.as_deref(),
            agent_framework: self.agent.framework.as_deref(),
            origin: self.request_origin.origin,
            source_ip: self.request_origin.peer.map(|ip| ip.to_canonical()),
            tables: tables.iter().map(|path| table_ref(path)).collect(),
            storage: self.storage(tables),
            operations: operations.to_vec(),
            when: self.when,
        }
    }

    /// How it reaches what is outside of the environment.
    fn storage<'c>(&'c self, tables: &[String]) -> StorageUse<'c> {
        let mut used = self.stages.map(|stages| stages.used(tables)).unwrap_or_default();
        // the schema of an attached database has the name of its integration
        let attached = tables.iter().filter_map(|path| self.rules.attached_database(table_ref(path).schema));
        used.integrations.extend(attached.map(|integration| integration.name.as_str()));
        used
    }

    fn verdict(&self, decision: &Decision, tables: &[String]) -> Result<()> {
        let said = |otherwise: &str| decision.message.clone().unwrap_or_else(|| otherwise.to_owned());
        match decision.effect {
            Effect::Allow => Ok(()),
            Effect::ReadOnly if !self.writes => Ok(()),
            Effect::ReadOnly => Err(Error::PolicyDenied { message: said("policy lets you only read here") }),
            Effect::Deny => Err(Error::PolicyDenied { message: said("denied by policy") }),
            Effect::DenyTable => {
                let denied = |path: &&String| self.decide(std::slice::from_ref(*path), &[]).effect == Effect::DenyTable;
                let table = tables.iter().find(denied).cloned().unwrap_or_default();
                Err(Error::TableDenied { table })
            }
        }
    }

    /// May they use each of these stages? A rule that allows one of them allows it alone.
    pub fn permits_each_stage(&self, tables: &[String], operations: &[Operation]) -> Result<()> {
        let stages: Vec<&String> = tables.iter().filter(|path| table_ref(path).stage().is_some()).collect();
        if stages.len() < 2 {
            return Ok(());
        }
        let by_stage = asking(&self.rules.abac_policies, |condition| *condition == Condition::StageIs);
        let is_denied = |path: &&String| {
            let context = self.context(std::slice::from_ref(*path), operations);
            abac::evaluate(&by_stage, &context).effect > Effect::ReadOnly
        };
        match stages.into_iter().find(is_denied) {
            Some(path) => Err(Error::TableDenied { table: path.clone() }),
            None => Ok(()),
        }
    }

    /// May they have a file of a stage as it is? Not where a rule hides or bounds what a query of the stage shows them.
    pub fn opens_whole(&self, stage: &str) -> Result<()> {
        if self.is_ruled(stage) || self.own().bounds(stage) {
            return Err(Error::TableDenied { table: stage.to_owned() });
        }
        Ok(())
    }

    /// The same of the tables whose own stages are among these: the files there are rows of the tables without their rules.
    pub fn opens_tables_whole(&self, paths: &[String]) -> Result<()> {
        paths.iter().filter_map(|path| sql::table_of_stage(path)).try_for_each(|table| self.opens_whole(&table))
    }

    /// May they know the names, sizes and sums of a stage's files? These tell of records that a filter hides, and let
    /// guesses at masked values be confirmed.
    pub fn tells_files(&self, stage: &str) -> Result<()> {
        if self.is_ruled(stage) || !self.own().denied_columns(stage).is_empty() {
            return Err(Error::TableDenied { table: stage.to_owned() });
        }
        Ok(())
    }

    /// May they list or remove files of a stage? What a table's own stage has is judged as the table is.
    pub fn permits_files(&self, stage: &str, operation: Operation) -> Result<()> {
        let paths = sql::with_tables_of_stages(vec![stage.to_owned()]);
        self.judge((&paths, &paths), &[operation], &Trail::default())?;
        self.tells_files(stage)?;
        self.opens_tables_whole(&paths)
    }

    /// What they were exempt from in the tables of a catalogue.
    pub fn provenance<'k>(&'k self, known: &'k sql::Catalog) -> TableProvenance<'k> {
        TableProvenance { rules: self.rules, role: self.caller.role, known }
    }

    /// May they know that the table is there?
    pub fn may_see(&self, known: &sql::Catalog, path: &str) -> bool {
        self.reaches(path) && self.provenance(known).admits(path)
    }

    /// The same of a copy of a table that was of this origin.
    pub fn may_see_copy(&self, path: &str, origin: Option<&str>) -> bool {
        self.reaches(path) && provenance::admits_copy(self.rules, self.caller.role, path, origin)
    }

    /// By its name alone: the policies, and what the agent was granted.
    fn reaches(&self, path: &str) -> bool {
        let lets_in = || self.decide(&[path.to_owned()], &[Operation::Select]).effect < Effect::Deny;
        self.own().reaches(path) && lets_in() && !self.passes_by_rules(path)
    }

    /// Does a filter or mask hide something of it from them?
    fn is_ruled(&self, path: &str) -> bool {
        let (policies, role) = (&self.rules.policies, self.caller.role);
        !filters_on(policies, table_ref(path), role).is_empty() || !masks_on(policies, table_ref(path), role).is_empty()
    }

    /// Who is bound by filters, masks or denied columns of a stage uses no other stage of the same files, where these
    /// would not hold.
    fn keeps_rules_of_files(&self, tables: &[String]) -> Result<()> {
        match tables.iter().find(|path| self.passes_by_rules(path)) {
            Some(path) => Err(Error::TableDenied { table: path.clone() }),
            None => Ok(()),
        }
    }

    /// Would they read files by this name that have rules by another?
    fn passes_by_rules(&self, path: &str) -> bool {
        let Some(stages) = self.stages else { return false };
        let has_rules = |other: &str| self.is_ruled(other) || !self.own().denied_columns(other).is_empty();
        stages.sharing(&[path.to_owned()]).any(has_rules)
    }

    /// A suggestion is the nearest of what the caller may see.
    pub fn shown(&self, mut error: sql::Error, known: &sql::Catalog) -> Error {
        if let sql::ast::error::ErrorKind::TableNotFound { schema, name, did_you_mean: Some(near) } = &error.kind
            && !self.may_see(known, near)
        {
            let (position, snippet) = (error.position, error.snippet.clone());
            error = visible_catalog::seen(self, known).not_found(schema.as_deref(), name);
            (error.position, error.snippet) = (position, snippet);
        }
        error.into()
    }

    /// Why one of these tables is not on a branch that has others: the caller may see it on the mainline.
    pub fn left_behind(&self, missing: &[String], there: &sql::Catalog, mainline: &sql::Catalog) -> Option<Error> {
        const NAMED_MAX: usize = 5;
        let is_seen = |path: &&String| {
            let TableRef { schema, name } = table_ref(path);
            mainline.get(schema, name).is_some() && self.may_see(mainline, path)
        };
        let table = missing.iter().find(is_seen)?.clone();
        let mut has: Vec<_> = there.tables().map(|table| format!("{}.{}", table.schema, table.name)).collect();
        has.sort();
        let has = has.into_iter().filter(|path| self.may_see(there, path)).take(NAMED_MAX).collect();
        Some(Error::NotOnBranch { table, has })
    }
}

/// The enabled policies that ask for such a thing, with those of their rules that do.
pub(super) fn asking(policies: &[AbacPolicy], asks: impl Fn(&Condition) -> bool) -> Vec<AbacPolicy> {
    let is_one = |policy: &&AbacPolicy| policy.enabled && policy.rules.iter().any(|rule| asks(&rule.condition));
    let mut asking: Vec<AbacPolicy> = policies.iter().filter(is_one).cloned().collect();
    for policy in &mut asking {
        policy.rules.retain(|rule| asks(&rule.condition));
    }
    asking
}
