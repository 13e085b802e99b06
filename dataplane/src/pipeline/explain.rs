//! The explanation of a statement without running it: the stages that govern and rewrite it, and no other.
//!
//! "Policy tester: 'run as' (role, agent, framework, time) shows filters, masks, verdict and rewritten SQL, for
//! owners and admins." Who is imagined passes the same stages as who asks; nothing is judged a second way. The
//! engine is asked for its tables and runs nothing. Asking is a tool action: it is judged, billed and written down as one.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::caller::Credential;
use contract::explain::{ATTRIBUTES_MAX, Filtering, Masking, Matching, RunAs, Tested, Transpiled, Verdict};
use contract::policy::abac::{Operation, Origin};
use contract::policy::{filters_on, masks_on};
use contract::{Access, Caller, Governance, MissingPermission, Role};

use super::stages::policy::{Agent, Asker};
use super::stages::transpile::{self, Native, Passed};
use super::stages::{Gates, Mode};
use super::{CallerContext, Pipeline, Result, ToolAction, startup_gate};
use crate::governance::table_path::table_ref;
use crate::request::trail::Trail;
use crate::{Ask, Bounds, Error};

/// The longest name or value of somebody imagined.
const WORD_CHARS_MAX: usize = 1_000;

impl Pipeline {
    /// The statement as it would run for who asks. Policies are shown to owners and admins alone: for others, a
    /// statement that a policy changes has no text.
    pub async fn transpiled(self: &Arc<Self>, ask: Ask) -> Result<Transpiled> {
        let told = |standing: CallerContext, ask: Ask| async move {
            let asker = Asker { caller: standing.caller, agent: standing.agent, when: self.clock.now().into() };
            let sees_policies = Access::Admin.admits(asker.caller.role);
            let t = Trail::default();
            let made = Box::pin(self.explained(ask, asker, &standing.rules, &t)).await?;
            let hidden = made.changed && !sees_policies;
            let Transpiled { rewritten, governed, parameters, .. } = made.statement.clone();
            Ok(Transpiled {
                rewritten: rewritten.filter(|_| !hidden),
                governed: governed.filter(|_| sees_policies),
                parameters: if sees_policies { parameters } else { Vec::new() },
                ..made.statement
            })
        };
        self.told("CALL transpile", ask, told).await
    }

    /// What the policies do with the statement when it is asked by somebody imagined.
    pub async fn tested(self: &Arc<Self>, ask: Ask, run_as: RunAs) -> Result<Tested> {
        let told = |standing: CallerContext, mut ask: Ask| async move {
            if !Access::Admin.admits(standing.caller.role) {
                return Err(Error::Lacks(MissingPermission::Role { own: standing.caller.role, access: Access::Admin }));
            }
            ask.origin = run_as.query_origin.unwrap_or(Origin::Rest);
            ask.peer = None;
            ask.bounds = Bounds::default();
            let asker = imagined(run_as, &standing.caller, self.clock.now())?;
            let role = asker.caller.role;
            let original = ask.sql.clone();
            let t = Trail::default();
            match Box::pin(self.explained(ask, asker, &standing.rules, &t)).await {
                Ok(made) => Ok(tested(None, role, &standing.rules, &t, made.statement)),
                Err(error) if denies(&error) => {
                    let tables = t.facts().tables.clone();
                    let statement = Transpiled { original, tables, ..Transpiled::default() };
                    Ok(tested(Some(&error), role, &standing.rules, &t, statement))
                }
                Err(error) => Err(error),
            }
        };
        self.told("CALL policy_test", ask, told).await
    }

    async fn told<T, F>(
        self: &Arc<Self>,
        name: &'static str,
        ask: Ask,
        told: impl FnOnce(CallerContext, Ask) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let tool_action = Ask { sql: name.to_owned(), ..ask.clone() };
        let tool_action =
            ToolAction { ask: tool_action, tables: Vec::new(), operation: Operation::Select, reads: Vec::new() };
        self.act(tool_action, |standing| async move { Ok((told(standing, ask).await?, 0)) }).await
    }

    /// What the gates make of the statement for this caller.
    async fn explained(&self, ask: Ask, asker: Asker, rules: &Governance, t: &Trail) -> Result<Explained> {
        let original = ask.sql.clone();
        let query = startup_gate::enter(self, ask).await?;
        let gates = Gates { pipeline: self, query: &query, rules, t };
        let passed = Box::pin(gates.govern(&original, &Mode::Explain(Box::new(asker)))).await?;
        let Passed { native, plain, changed, assumed, .. } = passed;
        let Native { sql, about, .. } = native;
        let mut warnings = query.ask.bounds.told(sql.warnings.clone());
        warnings.extend(assumed);
        warnings.extend(about.lacks.iter().map(ToString::to_string));
        warnings.extend(about.outdated);
        if lists_files(&original, &query.ask) {
            warnings.push("the platform answers this statement itself: no file of the stage is looked for".to_owned());
        }
        let mut tables_hidden: Vec<_> = about.lacks.into_iter().map(|lack| lack.table).collect();
        tables_hidden.dedup();
        Ok(Explained {
            changed,
            statement: Transpiled {
                original,
                rewritten: plain,
                governed: Some(transpile::text(&sql)),
                parameters: transpile::own_values(&sql),
                tables: about.tables,
                tables_hidden,
                warnings,
            },
        })
    }
}

/// Whether the statement is about files of a stage, which it is answered of.
fn lists_files(text: &str, ask: &Ask) -> bool {
    let parsed = sql::parse_with(text, &ask.names.variables);
    parsed.is_ok_and(|one| matches!(one.kind(), sql::StatementKind::Files { .. }))
}

struct Explained {
    /// A policy changes the statement.
    changed: bool,
    statement: Transpiled,
}

/// The one who is imagined: of this organization, without an account, a key or an address.
fn imagined(run_as: RunAs, asks: &Caller, now: contract::Timestamp) -> Result<Asker> {
    let invalid = |field, message: String| Error::InvalidParams { field, message };
    let RunAs { role, attributes, agent_id, framework, query_origin: _, at } = run_as;
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(invalid("as.attributes", format!("`as.attributes` are at most {ATTRIBUTES_MAX}")));
    }
    let words = attributes.iter().flat_map(|(name, value)| [name, value]).chain(&agent_id).chain(&framework);
    let longest = words.map(|word| word.chars().count()).max();
    if longest > Some(WORD_CHARS_MAX) {
        return Err(invalid("as", format!("a name or value in `as` has at most {WORD_CHARS_MAX} characters")));
    }
    let caller = Caller {
        org_id: asks.org_id.clone(),
        user_id: None,
        email: None,
        role: role.unwrap_or(asks.role),
        attributes,
        credential: Credential::Session { session_id: "imagined".into() },
    };
    let agent = Agent {
        verified: agent_id.is_some(),
        framework_verified: agent_id.is_some() && framework.is_some(),
        id: agent_id,
        framework,
    };
    Ok(Asker { caller, agent, when: at.unwrap_or(now).into() })
}

/// Whether it is policies, or the role, that the statement fails of, and not its text.
pub(super) fn denies(error: &Error) -> bool {
    use sql::ast::error::ErrorKind;
    match error {
        Error::Sql(error) => matches!(
            error.kind,
            ErrorKind::DeniedFunction { .. }
                | ErrorKind::MaskedColumn { .. }
                | ErrorKind::DeniedColumn { .. }
                | ErrorKind::Ungovernable { .. }
        ),
        Error::PolicyDenied { .. }
        | Error::TableDenied { .. }
        | Error::Governed { .. }
        | Error::Undroppable { .. }
        | Error::Lacks(_) => true,
        _ => false,
    }
}

fn tested(denied: Option<&Error>, role: Role, rules: &Governance, t: &Trail, statement: Transpiled) -> Tested {
    let facts = t.facts();
    let matching = facts.verdicts.iter().map(|verdict| Matching {
        policy_id: verdict.policy_id.clone(),
        name: verdict.policy_name.clone(),
        action: verdict.action.clone(),
    });
    let mut filters = Vec::new();
    let mut masks = Vec::new();
    for path in &statement.tables {
        let (table, path) = (table_ref(path), || path.clone());
        filters.extend(filters_on(&rules.policies, table, role).into_iter().map(|filter| Filtering {
            table: path(),
            filter: filter.filter,
            policy_id: filter.policy_id,
            name: filter.policy_name,
        }));
        let found: BTreeMap<_, _> = masks_on(&rules.policies, table, role);
        masks.extend(found.into_values().map(|mask| Masking {
            table: path(),
            column: mask.column,
            function: mask.function,
            visible_chars: mask.visible_chars,
            policy_id: mask.policy_id,
            name: mask.policy_name,
        }));
    }
    Tested {
        verdict: if denied.is_some() { Verdict::Deny } else { Verdict::Allow },
        code: denied.map(|error| error.code().stable().to_owned()),
        reason: denied.map(ToString::to_string),
        matching_policies: matching.collect(),
        filters,
        masks,
        columns_masked: facts.columns_masked.clone(),
        statement,
    }
}
