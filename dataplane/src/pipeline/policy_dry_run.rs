//! The decision of the gates on a statement, without running it: who may ask it, which policies, grants and origins
//! of tables are in the way, which columns. Nothing is judged a second way: it walks the stages 2, 3 and 6 themselves.

use std::collections::BTreeMap;

use chrono::{NaiveTime, Weekday};
use contract::caller::Credential;
use contract::policy::abac::{Origin, When};
use contract::{Caller, Role, report};

use super::explain::denies;
use super::stages::Gates;
use super::stages::policy::{Agent, Asker};
use super::stages::tables::MissingAttribute;
use super::{CallerContext, Pipeline, Result, startup_gate};
use crate::request::trail::Trail;
use crate::{Ask, Bounds, Error};

/// Who asks, from where and when, as far as that is not the caller, here and now.
#[derive(Debug, Clone, Default)]
pub struct AssumedRequest {
    /// Then they have no user, no attributes, no agent and no address.
    pub role: Option<Role>,
    pub framework: Option<String>,
    pub origin: Option<Origin>,
    pub time_of_day: Option<NaiveTime>,
    pub day_of_week: Option<Weekday>,
}

/// A verdict, and what it was made of.
#[derive(Debug)]
pub struct PolicyDryRun {
    pub denied: Option<Error>,
    /// Attribute policies of which a rule spoke.
    pub matched: Vec<report::Verdict>,
    /// `schema.table` of all that it reads and writes, in views too; by its own words where it was not bound.
    pub tables: Vec<String>,
    /// Why they would see no row of a table, where that does not follow from its rows.
    pub lacks: Vec<String>,
    pub evaluation_time_ms: f64,
}

impl Pipeline {
    /// The verdict on what is asked.
    pub async fn verdict(
        &self,
        standing: &CallerContext,
        mut ask: Ask,
        supposed: &AssumedRequest,
    ) -> Result<PolicyDryRun> {
        ask.origin = supposed.origin.unwrap_or(ask.origin);
        let (caller, agent) = match supposed.role {
            Some(role) if role != standing.caller.role => {
                (ask.peer, ask.bounds) = (None, Bounds::default());
                (somebody(role, &standing.caller), Agent { framework: supposed.framework.clone(), ..Agent::default() })
            }
            _ => {
                let framework = supposed.framework.clone().or_else(|| standing.agent.framework.clone());
                let framework_verified = standing.agent.framework_verified && supposed.framework.is_none();
                (standing.caller.clone(), Agent { framework, framework_verified, ..standing.agent.clone() })
            }
        };
        let (time_of_day, day_of_week) = (supposed.time_of_day, supposed.day_of_week);
        let when = When { now: self.clock.now(), time_of_day, day_of_week };
        let t = Trail::default();
        let (denied, lacks) = match Box::pin(self.gates(ask, Asker { caller, agent, when }, standing, &t)).await {
            Ok(lacks) => (None, lacks),
            Err(error) if denies(&error) => (Some(error), Vec::new()),
            // nothing keeps them from a table but that it is not there
            Err(Error::Sql(error)) if matches!(error.kind, sql::ast::error::ErrorKind::TableNotFound { .. }) => {
                (None, Vec::new())
            }
            Err(error) => return Err(error),
        };
        let facts = t.facts();
        Ok(PolicyDryRun {
            denied,
            // of masks and filters it is told elsewhere
            matched: facts
                .verdicts
                .iter()
                .filter(|verdict| !matches!(&*verdict.action, "mask" | "filter"))
                .cloned()
                .collect(),
            tables: facts.tables.clone(),
            lacks: lacks.iter().map(ToString::to_string).collect(),
            evaluation_time_ms: facts.abac.as_ref().map_or(0.0, |abac| abac.evaluation_time_ms),
        })
    }

    async fn gates(
        &self,
        ask: Ask,
        asker: Asker,
        standing: &CallerContext,
        t: &Trail,
    ) -> Result<Vec<MissingAttribute>> {
        let rules = &standing.rules;
        let query = startup_gate::enter(self, ask).await?;
        let gates = Gates { pipeline: self, query: &query, rules, t };
        Box::pin(gates.judge(&query.ask.sql, asker)).await
    }
}

/// Of this role, and known by nothing else.
fn somebody(role: Role, asks: &Caller) -> Caller {
    Caller {
        org_id: asks.org_id.clone(),
        user_id: None,
        email: None,
        role,
        attributes: BTreeMap::new(),
        credential: Credential::Session { session_id: "imagined".into() },
    }
}
