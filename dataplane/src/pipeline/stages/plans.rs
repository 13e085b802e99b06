//! Plans that are kept: what the stages 2 to 8 make of a text, for when it comes again.
//!
//! A dashboard and a driver send the same text over and over. A plan is kept by its text, its caller with their
//! attributes, the names of their session, the rules and the catalogue. Under other rules, or over another catalogue,
//! none is left. Whether it may run is asked each time, in the same stages: the caller and their key, the policies at
//! this hour and from this address, the credits and the storage. No plan is kept of a statement that an agent's grants
//! bound, or that reads the catalogue, defines something, or takes rows from elsewhere.
//!
//! A plan is no answer: it is run as any other, from stage 9 on.

mod shapes;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contract::caller::Attributes;
use contract::plan_bounds::PlanBounds;
use contract::report::Verdict;
use contract::{Governance, KeyId, OrgId, Role, UserId};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::policy::{Agent, Asker};
use super::tables::StatementInfo;
use super::transpile::Passed;
use super::{Gates, Mode, row_filter};
use crate::governance::table_path::table_ref;
use crate::pipeline::catalog_snapshot::CatalogSnapshot;
use crate::pipeline::{Pipeline, PipelineCaches, Query, runtime};
use crate::request::trail::{Facts, PlanUse};
use shapes::Sharing;

/// What a plan has besides its texts.
const PLAN_BYTES: usize = 8 << 10;
/// A generated text stands with its tree, which has about so many bytes for each of its own.
const TREE_FACTOR: usize = 32;
/// Of all bytes, the part for plans that texts share.
const SHAPES_PART: u64 = 4;
/// A longer text is made by a program, and seldom comes again.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The plans by the rules of now, over the catalogue of now. Who asks nothing holds nothing.
#[derive(Debug)]
pub(in crate::pipeline) struct PlanCache {
    bounds: PlanBounds,
    generation: Mutex<Generation>,
}

#[derive(Debug)]
struct Generation {
    /// None before the first plan is looked for.
    basis: Option<Basis>,
    plans: Cache<PlanKey, Arc<KeptPlan>>,
    /// Of texts that differ in literals alone, by what is left of them.
    shapes: Cache<PlanKey, Arc<Sharing>>,
}

/// The rules and the catalogue that plans are made by. Both are held, so that none other has their address.
#[derive(Debug, Clone)]
struct Basis {
    rules: Arc<Governance>,
    known: Arc<sql::Catalog>,
}

impl Basis {
    fn is_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rules, &other.rules) && Arc::ptr_eq(&self.known, &other.known)
    }
}

/// The key of a text's plan by the same rules over the same catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PlanKey {
    text: String,
    asked: Arc<PlanAsked>,
}

/// How a text is asked, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PlanAsked {
    types: Vec<Option<String>>,
    database: Option<String>,
    search_path: Vec<String>,
    tells_parts: bool,
    org_id: OrgId,
    user_id: Option<UserId>,
    email: Option<String>,
    role: Role,
    attributes: Attributes,
    key_id: Option<KeyId>,
    agent: Agent,
}

/// Where the plan of a text belongs that is on its way through the stages.
#[derive(Debug)]
pub(super) struct PlanPlace {
    key: PlanKey,
    basis: Basis,
}

/// The plan that the stages have made of a text, without anything of the moment.
#[derive(Debug, Clone)]
pub(super) struct KeptPlan {
    pub about: StatementInfo,
    pub sql: sql::EngineSql,
    pub care: sql::ExecutionMode,
    pub fails_anyhow: bool,
    pub masked_columns: Vec<String>,
    pub changed: bool,
    pub told: PlanFacts,
}

/// Facts of the plan for the audit entry.
#[derive(Debug, Clone)]
pub(super) struct PlanFacts {
    pub redacted: Option<String>,
    pub transpiled: Option<String>,
    pub with_rls: Option<String>,
    pub columns_masked: Vec<String>,
    /// Those of masks and filters.
    pub verdicts: Vec<Verdict>,
}

/// A plan that is at hand, for whom, and the tables that it is judged by.
#[derive(Debug)]
pub(super) struct PlanHit {
    pub plan: Arc<KeptPlan>,
    pub who: Asker,
    pub seen: CatalogSnapshot,
}

pub(super) enum PlanLookup {
    Kept(Box<PlanHit>),
    Place(Box<PlanPlace>),
    Never,
}

/// The plan of a text that is to run, or its place. Neither where none is ever kept, nor where who asks or what there
/// is could not be told: the stages say so, each in its turn.
pub(super) async fn looked_up(gates: &Gates<'_>, text: &str, mode: &Mode) -> PlanLookup {
    let Gates { pipeline, query, rules, t } = *gates;
    if !matches!(mode, Mode::Run) {
        return PlanLookup::Never;
    }
    t.facts().plan = Some(PlanUse::NotKept);
    if !pipeline.remembered.plans.keeps_any() || !may_come_again(query, rules, text) {
        return PlanLookup::Never;
    }
    let Ok(who) = Asker::of(rules, &query.ask, pipeline.clock.now()) else { return PlanLookup::Never };
    let Ok(engine) = pipeline.engine() else { return PlanLookup::Never };
    let Ok(seen) = pipeline.remembered.tables.now(&engine, rules).await else { return PlanLookup::Never };
    let current = pipeline.rules().ok().filter(|current| std::ptr::eq(Arc::as_ptr(current), rules));
    let Some(current) = current else { return PlanLookup::Never }; // others have come since it began
    let basis = Basis { rules: current, known: Arc::clone(&seen.known) };
    let place = PlanPlace { key: PlanKey::of(query, &who, text), basis };
    let plans = &pipeline.remembered.plans;
    let Some(plan) = plans.get(&place).or_else(|| plans.shared(&place)) else {
        return PlanLookup::Place(Box::new(place));
    };
    t.facts().plan = Some(PlanUse::Kept);
    PlanLookup::Kept(Box::new(PlanHit { plan, who, seen }))
}

/// Keeps what the stages have made of a text, if it has a place and nothing of it is of this statement alone.
pub(super) fn keep(gates: &Gates<'_>, place: PlanPlace, passed: &Passed) {
    if !is_lasting(gates.rules, &place, passed) {
        return;
    }
    let mut facts = gates.t.facts();
    let plan = KeptPlan::of(passed, &facts);
    if gates.pipeline.remembered.plans.insert(place, plan) {
        facts.plan = Some(PlanUse::Made);
    }
}

/// Whether the plan of a text that is asked so could be that of another statement.
fn may_come_again(query: &Query, rules: &Governance, text: &str) -> bool {
    let ask = &query.ask;
    let is_alone = ask.transaction.is_none() && query.branch.is_none() && query.judged_by.is_none();
    let is_plain = ask.bounds.outlet.is_none() && *ask.names.variables == sql::Variables::default();
    let is_own = |schema: &String| !is_attached(rules, schema);
    text.len() <= TEXT_BYTES_MAX && is_alone && is_plain && ask.names.search_path().iter().all(is_own)
}

/// Whether all of a plan follows from what it is kept by.
fn is_lasting(rules: &Governance, place: &PlanPlace, passed: &Passed) -> bool {
    let Passed { native, assumed, confinement, .. } = passed;
    let about = &native.about;
    let Some(judged) = &about.judged else { return false };
    let is_of_place = about.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(&seen.known, &place.basis.known));
    let is_free = assumed.is_none() && confinement.is_none() && about.rows_max.is_none() && about.branch.is_none();
    let leaves_nothing = about.history.is_empty() && about.away.is_none() && about.removes.is_none();
    let changes_rows = !about.defines() && !about.drops_at_commit && leaves_nothing;
    let is_elsewhere = |path: &String| {
        let table = table_ref(path);
        table.stage().is_some() || runtime::is_named(rules, path) || is_attached(rules, table.schema)
    };
    let is_here = !about.takes_in() && !runtime::is_read(&native.sql.tables);
    let is_own = !judged.meant.iter().chain(&about.tables).any(is_elsewhere);
    native.role == place.key.asked.role && is_of_place && is_free && changes_rows && is_here && is_own
}

/// Whether the schema is that of an attached database, at which each statement looks.
fn is_attached(rules: &Governance, schema: &str) -> bool {
    rules.attached.iter().any(|integration| integration.enabled && integration.name.eq_ignore_ascii_case(schema))
}

impl KeptPlan {
    fn of(passed: &Passed, facts: &Facts) -> Self {
        let native = &passed.native;
        let verdicts = facts.verdicts.iter().filter(|verdict| row_filter::is_its(verdict)).cloned();
        Self {
            about: StatementInfo { seen: None, ..native.about.clone() },
            sql: native.sql.clone(),
            care: native.care,
            fails_anyhow: native.fails_anyhow,
            masked_columns: native.masked_columns.clone(),
            changed: passed.changed,
            told: PlanFacts {
                redacted: facts.redacted.clone(),
                transpiled: facts.transpiled.clone(),
                with_rls: facts.with_rls.clone(),
                columns_masked: facts.columns_masked.clone(),
                verdicts: verdicts.collect(),
            },
        }
    }

    /// About how many bytes it has.
    fn weight(&self) -> usize {
        let Self { about, sql, told, .. } = self;
        let texts = [&told.redacted, &told.transpiled, &told.with_rls];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let judged = about.judged.iter().flat_map(|judged| judged.named.iter().chain(&judged.meant));
        let columns = told.columns_masked.iter().chain(&self.masked_columns);
        let names: usize = about.tables.iter().chain(judged).chain(columns).map(|name| weighed(name)).sum();
        let steps = sql.before.iter().map(|step| step.sql.len()).chain([sql.sql.len()]);
        PLAN_BYTES + texts + names + TREE_FACTOR * steps.sum::<usize>()
    }
}

/// About how many bytes a text has that stands among others.
fn weighed(text: &str) -> usize {
    size_of::<String>() + text.len()
}

impl PlanKey {
    /// About how many bytes it has: a text of few bytes may have many types beside it, and a long path.
    fn weight(&self) -> usize {
        let Self { text, asked } = self;
        let PlanAsked { types, database, search_path, email, attributes, .. } = &**asked;
        let types: usize = types.iter().map(|kind| size_of::<String>() + kind.as_ref().map_or(0, String::len)).sum();
        let names: usize = search_path.iter().chain(database).chain(email).map(|name| weighed(name)).sum();
        let attributes: usize = attributes.iter().map(|(name, value)| weighed(name) + weighed(value)).sum();
        text.len() + types + names + attributes
    }

    /// The same of another text.
    fn with(&self, text: String) -> Self {
        Self { text, asked: Arc::clone(&self.asked) }
    }

    fn of(query: &Query, who: &Asker, text: &str) -> Self {
        let (ask, caller) = (&query.ask, &who.caller);
        let asked = PlanAsked {
            types: ask.types.clone(),
            database: ask.names.database.clone(),
            search_path: ask.names.search_path(),
            tells_parts: ask.bounds.tells_parts(),
            org_id: caller.org_id.clone(),
            user_id: caller.user_id.clone(),
            email: caller.email.clone(),
            role: caller.role,
            attributes: caller.attributes.clone(),
            key_id: caller.key_id().cloned(),
            agent: who.agent.clone(),
        };
        Self { text: text.to_owned(), asked: Arc::new(asked) }
    }
}

impl PipelineCaches {
    /// None of them has anything yet.
    pub fn of(bounds: PlanBounds) -> Self {
        Self { plans: PlanCache::of(bounds), ..Self::default() }
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::of(PlanBounds::DEFAULT)
    }
}

impl PlanCache {
    fn of(bounds: PlanBounds) -> Self {
        Self { bounds, generation: Mutex::new(Generation::new(None, bounds)) }
    }

    fn keeps_any(&self) -> bool {
        self.bounds.bytes > 0
    }

    /// The plan that is kept there. All are let go of where other rules or another catalogue have come.
    fn get(&self, place: &PlanPlace) -> Option<Arc<KeptPlan>> {
        let mut generation = self.generation();
        if generation.has(place) {
            return generation.plans.get(&place.key);
        }
        *generation = Generation::new(Some(place.basis.clone()), self.bounds);
        None
    }

    /// Keeps a plan, unless other rules or another catalogue have come meanwhile: says whether it did.
    fn insert(&self, place: PlanPlace, plan: KeptPlan) -> bool {
        let plan = Arc::new(plan);
        let has_shape = self.learn(&place, &plan);
        let generation = self.generation();
        let is_its = generation.has(&place);
        if is_its && !has_shape {
            generation.plans.insert(place.key, plan);
        }
        is_its
    }

    /// Lets go of those that were idle for too long: while nobody asks for any, the cache does not do so by itself.
    fn sweep(&self) {
        let (plans, shapes) = {
            let generation = self.generation();
            (generation.plans.clone(), generation.shapes.clone())
        };
        let mut before = u64::MAX;
        loop {
            plans.run_pending_tasks(); // each lets go of some
            shapes.run_pending_tasks();
            let left = plans.entry_count() + shapes.entry_count();
            if left == 0 || left >= before {
                return;
            }
            before = left;
        }
    }

    fn generation(&self) -> MutexGuard<'_, Generation> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipeline {
    /// Lets go of the plans that nobody has asked for in a while.
    pub(crate) fn sweep_plans(&self) {
        self.remembered.plans.sweep();
    }
}

impl Generation {
    fn new(basis: Option<Basis>, bounds: PlanBounds) -> Self {
        let weight = |key: &PlanKey, plan: &Arc<KeptPlan>| {
            u32::try_from(key.weight().saturating_add(plan.weight())).unwrap_or(u32::MAX)
        };
        let idle = Duration::from_secs(bounds.idle_secs);
        let of_shapes = bounds.bytes / SHAPES_PART;
        let plans = Cache::builder().max_capacity(bounds.bytes - of_shapes).weigher(weight);
        let weight = |key: &PlanKey, sharing: &Arc<Sharing>| {
            u32::try_from(key.weight().saturating_add(sharing.weight())).unwrap_or(u32::MAX)
        };
        let shapes = Cache::builder().max_capacity(of_shapes).weigher(weight);
        Self {
            basis,
            plans: plans.eviction_policy(EvictionPolicy::lru()).time_to_idle(idle).build(),
            shapes: shapes.eviction_policy(EvictionPolicy::lru()).time_to_idle(idle).build(),
        }
    }

    fn has(&self, place: &PlanPlace) -> bool {
        self.basis.as_ref().is_some_and(|basis| basis.is_the_same(&place.basis))
    }
}
