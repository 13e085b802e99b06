//! The rules by which changes of a client's transaction were let through. Its contents were chosen by those rules,
//! temporary tables too: so it ends when other rules would make something else of one of its statements, and only then.
//!
//! Kept is each statement that changed something, once for all that the gates make the same of. When the rules are
//! others, or the hour, each walks the gates once more, over the tables that it was judged by then.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use contract::capability::Grant;
use contract::wire::Who;
use contract::{Governance, GrantId};
use futures::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::capability::Confinement;
use super::time_rules::lets_write;
use crate::governance::sessions::standing_in;
use crate::pipeline::catalog_snapshot::CatalogSnapshot;
use crate::pipeline::stages::tables::StatementInfo;
use crate::pipeline::stages::transpile::Native;
use crate::pipeline::stages::{Gates, Mode};
use crate::pipeline::{AuthorizationState, Pipeline, Query, Result, startup_gate};
use crate::request::trail::Trail;
use crate::{Ask, Error};

/// Agents that one transaction writes for.
const AGENTS_MAX: usize = 100;
/// Statements that are made anew, the bytes of their texts, and the states of the tables that they were judged by.
const STATEMENTS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 16 << 20;
const TABLES_MAX: usize = 32;

/// The rules and the caller of each agent and address, and what was let through by them.
#[derive(Debug, Clone, Default)]
pub(in crate::pipeline) struct TransactionRecheck {
    stances: Vec<(Option<IpAddr>, AuthorizationState)>,
    statements: HashMap<[u8; 32], Arc<RecheckedStatement>>,
    text_bytes: usize,
    /// There are more of them than are kept: then nobody can tell what other rules would make of all.
    has_more: bool,
}

/// A statement, to be judged once more.
#[derive(Debug)]
pub(in crate::pipeline) struct RecheckedStatement {
    /// Without values, and without its transaction.
    pub ask: Ask,
    pub branch: Option<String>,
    /// The tables that it was judged by.
    pub seen: CatalogSnapshot,
    /// The agent's grant that it counts for, and the rows that this allows.
    under: Option<(GrantId, Option<u64>)>,
}

impl TransactionRecheck {
    /// A statement that changes something, as the gates let it through.
    pub fn add(&mut self, rules: &Arc<Governance>, query: &Query, native: &Native, pipeline: &Pipeline) -> Result<()> {
        let (ask, now) = (&query.ask, pipeline.clock.now());
        let caller = standing_in(rules, &ask.who, ask.peer, now)?;
        let authorization = AuthorizationState::of(Arc::clone(rules), caller, ask.agent.clone(), now);
        let is_its =
            |(peer, then): &(Option<IpAddr>, AuthorizationState)| *peer == ask.peer && *then.agent() == ask.agent;
        let known = self.stances.iter().position(is_its);
        match known.and_then(|at| self.stances.get_mut(at)) {
            // where its rules are others by now, all is judged once more
            Some((_, then)) if !authorization.is_as(then) => *then = authorization,
            Some(_) => {}
            None => {
                if self.stances.len() >= AGENTS_MAX {
                    let what = format!("a transaction that writes for more than {AGENTS_MAX} agents");
                    return Err(Error::Unsupported { what });
                }
                self.stances.push((ask.peer, authorization));
            }
        }
        self.keep(query, native)
    }

    fn keep(&mut self, query: &Query, native: &Native) -> Result<()> {
        let digest = digest(&native.sql, &native.about, native.care, &query.ask);
        if self.has_more || self.statements.contains_key(&digest) {
            return Ok(());
        }
        let seen = native.about.judged_by()?.clone();
        let states: HashSet<usize> =
            self.statements.values().map(|other| other.seen.identity()).chain([seen.identity()]).collect();
        self.text_bytes = self.text_bytes.saturating_add(query.ask.sql.len());
        self.has_more =
            self.statements.len() >= STATEMENTS_MAX || self.text_bytes > TEXT_BYTES_MAX || states.len() > TABLES_MAX;
        if self.has_more {
            self.statements.clear(); // they would not be asked
            return Ok(());
        }
        let ask = Ask { params: Vec::new(), transaction: None, cancel: CancellationToken::new(), ..query.ask.clone() };
        let under = query.under.get().map(|grant_id| (grant_id.clone(), native.about.rows_max));
        let statement = RecheckedStatement { ask, branch: query.branch.clone(), seen, under };
        self.statements.insert(digest, Arc::new(statement));
        Ok(())
    }

    /// Would all of it be let through now, and be the same? What only read has nothing here.
    pub async fn still_holds(&mut self, pipeline: &Pipeline, who: &Who) -> Result<()> {
        if self.stances.is_empty() {
            return Ok(());
        }
        let (rules, now) = (pipeline.rules()?, pipeline.clock.now());
        let gone = |_| Error::PolicyDenied { message: "the rules changed while the transaction was open".to_owned() };
        let (mut stances, mut are_the_same) = (Vec::with_capacity(self.stances.len()), true);
        for (peer, then) in &self.stances {
            let caller = standing_in(&rules, who, *peer, now).map_err(gone)?;
            caller.may_query(true).map_err(Error::Lacks).map_err(gone)?;
            let may_write = lets_write(&rules, &caller, then.agent(), now);
            let authorization = AuthorizationState::of(Arc::clone(&rules), caller, then.agent().clone(), now);
            are_the_same &= may_write && authorization.is_as(then);
            stances.push((*peer, authorization));
        }
        if are_the_same {
            return Ok(());
        }
        if self.has_more {
            return Err(Error::Rejudged);
        }
        for (digest, statement) in &self.statements {
            match statement.anew(pipeline, &rules).await {
                Ok(Some(anew)) if anew == *digest => {}
                _ => return Err(Error::Rejudged),
            }
        }
        self.stances = stances;
        Ok(())
    }
}

impl RecheckedStatement {
    /// What the gates make of it under these rules; nothing where that depends on the rows there are. The type is
    /// erased, because the gates ask a transaction which tables it sees, and so whether it still holds.
    fn anew<'a>(&'a self, pipeline: &'a Pipeline, rules: &'a Governance) -> BoxFuture<'a, Result<Option<[u8; 32]>>> {
        Box::pin(async move {
            let (query, t) = (startup_gate::again(pipeline, self)?, Trail::default());
            let gates = Gates { pipeline, query: &query, rules, t: &t };
            let passed = Box::pin(gates.govern(&query.ask.sql, &Mode::Recheck)).await?;
            if passed.assumed.is_some() || !self.is_granted(passed.confinement.as_ref()) {
                return Ok(None);
            }
            let Native { sql, about, care, .. } = passed.native;
            Ok(Some(digest(&sql, &about, care, &query.ask)))
        })
    }

    /// Does the grant that it counted for still allow all of it?
    fn is_granted(&self, confinement: Option<&Confinement>) -> bool {
        let Some(confinement) = confinement else { return true };
        let Some((grant_id, rows_max)) = &self.under else { return false };
        let is_it = |grant: &Grant| grant.grant_id == *grant_id && grant.capabilities.max_rows_per_query == *rows_max;
        confinement.grants.iter().any(is_it)
    }
}

/// All that the gates make of a statement: what runs, with the values that policies put into it, how its errors are
/// told, and what is written down with its tables; for one agent at one protocol.
fn digest(sql: &sql::EngineSql, about: &StatementInfo, care: sql::ExecutionMode, ask: &Ask) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    for (text, binds) in sql.before.iter().map(|step| (&step.sql, &step.binds)).chain([(&sql.sql, &sql.binds)]) {
        add(text);
        add(&format!("{binds:?}"));
    }
    for mark in &about.marks {
        add(&mark.sql);
    }
    add(&format!("{care:?} {:?} {:?} {:?}", ask.peer, ask.agent, ask.origin));
    digest.finalize().into()
}
