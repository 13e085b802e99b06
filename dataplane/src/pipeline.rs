//! The fifteen stages that every query passes in this order, by whatever protocol it came.
//! "1 semaphore, 2 table extraction, 3 policy check, 4 cost estimate, 5 quota check, 6 row filter, 7 vector embed, 8 transpile,
//! 9 snapshot pin, 10 execute, 11 dirty tracking and write-ahead log, 12 AI heal, 13 column mask, 14 meter, 15 audit."
//!
//! The types are the gate: a stage takes what only the stage before it can make, so "execute unfiltered SQL" does not
//! compile. One snapshot of the rules holds for a whole query. What could not be told is refused.

mod as_of;
mod attached;
mod authorization;
mod binding;
mod catalog_snapshot;
mod delivery;
mod explain;
mod fault;
mod journal;
mod listed_files;
mod load;
mod observer;
mod once;
mod own_stages;
mod past_load;
mod policy_dry_run;
mod postgres;
mod query_counter;
mod renamed_away;
mod result_cache;
mod runtime;
mod spans;
mod stage_store;
mod staged_files;
mod stages;
mod startup_gate;
mod storage;
mod swap;
mod template;
mod temporary_tables;
mod tool_action;
pub mod transaction;
mod unload;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use contract::{Entropy, Governance, GrantId, Redacted, SharedClock};
use futures::FutureExt;
use telemetry::{Kind, Tracer};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::governance::registry::Registry;
use crate::governance::sessions::Snapshots;
use crate::metrics::Metrics;
use crate::model::Healer;
use crate::request::answer::Description;
use crate::request::ask::StatementRequest;
use crate::request::detached::{GivenUp, to_its_end};
use crate::request::trail::{Stage, Trail};
use crate::storage::branches::OpenBranches;
use crate::storage::catalogue::Catalogue;
use crate::storage::runtime_tables::RuntimeTables;
use crate::storage::stage_files::{ReachableHosts, StageFiles};
use crate::{Answer, Error};

use once::KeyedRun;
use stages::{Gates, Mode, audit::Closing};
use transaction::ClientTransaction;

pub use authorization::authorization_state::AuthorizationState;
pub use authorization::time_rules::TimeRules;
pub(crate) use authorization::visible_catalog::row_estimate;
pub use delivery::{UNREAD_FOR, UnreadAnswers};
pub use load::OPEN_FILE;
pub use observer::{AgentStatement, StatementObserver};
pub use once::Once;
pub use policy_dry_run::{AssumedRequest, PolicyDryRun};
pub use query_counter::QueryCounter;
pub use staged_files::FileAction;
pub use stages::quota::CreditBudget;
pub use stages::semaphore::Gate;
pub use stages::snapshot::agrees;
pub use startup_gate::{OwnershipState, StartupGate, UsageLedger};
pub use storage::Storage;
pub use tool_action::{CallerContext, ToolAction};

type Result<T> = std::result::Result<T, Error>;

/// A statement that somebody asks to have run, in the transaction that its client holds open if there is one.
pub type Ask = StatementRequest<Arc<Mutex<ClientTransaction>>>;

/// The running engine; `None` while it starts.
pub type EngineSlot = watch::Receiver<Option<engine::Engine>>;

/// Everything a query needs on its way.
#[derive(Debug)]
pub struct Pipeline {
    pub snapshots: Snapshots,
    pub engine: EngineSlot,
    pub startup_gate: StartupGate,
    pub gate: Gate,
    pub remembered: PipelineCaches,
    /// PostgreSQL's, for each who asks.
    pub catalogue: Catalogue,
    /// The runtime's tables, for statements that read them.
    pub runtime: RuntimeTables,
    pub branches: OpenBranches,
    /// What internal stages hold.
    pub stage_files: StageFiles,
    pub storage_hosts: ReachableHosts,
    /// Told of what agents have asked.
    pub observer: Arc<dyn StatementObserver>,
    pub registry: Registry,
    /// The model that is asked where the rules heal nothing, and the environment permits it.
    pub healer: Option<Healer>,
    pub metrics: Metrics,
    pub tracer: Tracer,
    pub clock: SharedClock,
    pub entropy: Entropy,
    /// How long rows wait for whoever asked, and an open transaction for its next statement.
    pub unread_for: Duration,
    pub unread: UnreadAnswers,
    /// What goes on without whoever waited for it.
    pub tasks: TaskTracker,
    /// Nothing begins any more, and what runs is cancelled.
    pub closed: CancellationToken,
}

/// How often a statement is judged whose tables are made anew meanwhile.
const JUDGED_MAX: usize = 4;

/// Caches of the pipeline. Only plans and the texts of a model depend on who asks.
#[derive(Debug, Default)]
pub struct PipelineCaches {
    checked: stages::snapshot::Checked,
    tables: catalog_snapshot::LatestCatalog,
    filters: stages::row_filter::Templates,
    answers: result_cache::Answers,
    claims: once::Claims,
    plans: stages::plans::PlanCache,
    written: stages::heal::CorrectionCache,
    binding: Mutex<()>,
    sealing: OnceLock<Redacted<[u8; 32]>>,
}

/// One ask on its way, with the moment by which it must have ended.
#[derive(Debug)]
struct Query {
    ask: Ask,
    /// The key that it was sent with, if it changes something.
    once: Option<Once>,
    /// The id of the branch that it is asked on.
    branch: Option<String>,
    /// Set where it was judged before, by these tables, and is judged once more.
    judged_by: Option<catalog_snapshot::CatalogSnapshot>,
    timeout: Duration,
    deadline: Instant,
    ledger: Arc<UsageLedger>,
    /// It has waited before stage 1, and is not sent away there.
    waited: bool,
    closed: CancellationToken,
    /// Its `started` entry is in the log.
    started: AtomicBool,
    /// Its changes are made: what is left is to commit them, and to say so.
    committing: AtomicBool,
    /// The agent's grant that it counts for: once, however often it is healed.
    under: OnceLock<GrantId>,
}

impl Pipeline {
    /// Runs one statement. The answer's rows stream; metering and audit follow when they end.
    pub async fn run(self: &Arc<Self>, ask: Ask) -> Result<Answer> {
        self.run_with(ask, None).await
    }

    async fn run_with(self: &Arc<Self>, ask: Ask, once: Option<Once>) -> Result<Answer> {
        match (template::asked(&ask), unload::asked(&ask)) {
            (Some(template), _) => Box::pin(template::run(self, ask, template, once)).await,
            (None, Some(unload)) => Box::pin(unload::run(self, ask, unload, once.as_ref())).await,
            (None, None) => Box::pin(self.run_plain(ask, once)).await,
        }
    }

    async fn run_plain(self: &Arc<Self>, ask: Ask, once: Option<Once>) -> Result<Answer> {
        let query = Query { once, ..startup_gate::enter(self, ask).await? };
        if let Some(question) = postgres::question(self, &query) {
            return Box::pin(postgres::answer(self, &query, &question)).await;
        }
        let closing = Closing::open(self, query); // 14 and 15, which cannot be forgotten
        let given_up = GivenUp::default();
        to_its_end(&self.tasks, given_up.clone(), Arc::clone(self).walk(closing, given_up)).await
    }

    /// Until its end, or until whoever asked has gone; what is being committed then still comes to its end.
    async fn walk(self: Arc<Self>, closing: Closing, given_up: GivenUp) -> Result<Answer> {
        let query = closing.query();
        let left = poll_fn(|_| {
            let is_over = given_up.is_so() && !query.committing.load(Ordering::Acquire);
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        });
        let governed = async {
            match Box::pin(self.governed(query, closing.trail())).await {
                Err(error) => Err(stages::heal::suggested(&self, query, error).await), // its slot is free again
                done => done,
            }
        };
        let governed = tokio::select! {
            biased;
            done = Box::pin(governed) => done,
            () = left => Err(Error::Cancelled),
        };
        match governed {
            Ok(masked) => closing.deliver(masked), // when the stream ends, fails or is dropped
            Err(error) => Err(closing.refused(error)), // at once
        }
    }

    async fn governed(&self, query: &Query, t: &Trail) -> Result<stages::mask::Masked> {
        let slot = t.at(Stage::Semaphore, stages::semaphore::enter(self, query)).await?; //                1
        // After the wait: one snapshot for the whole query; the caller is looked up in it again.
        let rules = self.rules()?;
        let _claimed = match Box::pin(once::turn(self, query, &rules, t)).await? {
            KeyedRun::Told(rows) => return t.now(Stage::ColumnMask, || stages::mask::columns(&rules, *rows, slot, t)),
            KeyedRun::Run(claimed) => claimed,
        };
        let rows = match Box::pin(self.once(query, &query.ask.sql, &rules, t)).await {
            Ok(rows) => rows,
            Err(error) if !stages::heal::concerns(self, query, &rules, &error) => return Err(error),
            Err(error) => Box::pin(self.healed(query, &rules, error, t)).await?, //                12
        };
        t.now(Stage::ColumnMask, || stages::mask::columns(&rules, rows, slot, t)) //                              13
    }

    /// Another text in place of one that failed, once. Of its own errors none is told: the first one stands.
    async fn healed(
        &self,
        query: &Query,
        rules: &Arc<Governance>,
        error: Error,
        t: &Trail,
    ) -> Result<stages::execute::UnmaskedRows> {
        let Some(healed) = t.at(Stage::AiHeal, Box::pin(stages::heal::rewrite(self, query, rules, &error))).await
        else {
            return Err(error);
        };
        let asked = t.facts().clone();
        t.facts().healed = Some(healed.clone());
        match Box::pin(self.once(query, &healed.sql, rules, t)).await {
            Ok(rows) => Ok(rows.warned(healed.how)),
            Err(again) if stages::heal::ends_it(&again) => Err(again),
            Err(_) => {
                *t.facts() = asked;
                Err(error)
            }
        }
    }

    /// Healed SQL passes all of it again, and so does what was judged by tables that were made anew since.
    async fn once(
        &self,
        query: &Query,
        text: &str,
        rules: &Arc<Governance>,
        t: &Trail,
    ) -> Result<stages::execute::UnmaskedRows> {
        for _ in 1..JUDGED_MAX {
            match Box::pin(self.judged(query, text, rules, t)).await {
                Err(Error::Redefined) => {}
                done => return done,
            }
        }
        Box::pin(self.judged(query, text, rules, t)).await
    }

    /// The gates, the statement, its trace.
    async fn judged(
        &self,
        query: &Query,
        text: &str,
        rules: &Arc<Governance>,
        t: &Trail,
    ) -> Result<stages::execute::UnmaskedRows> {
        let gates = Gates { pipeline: self, query, rules, t };
        let native = Box::pin(gates.govern(text, &Mode::Run)).await?.native; //                             2 to 8
        let (answers, definitions) = (&self.remembered.answers, self.engine()?.schema_version());
        if query.ask.bounds.rows.is_some() {
            let as_of = answers.as_of(rules, query, &native, definitions);
            t.facts().as_of = as_of;
        }
        let place = match answers.of(rules, query, &native, definitions) {
            result_cache::CacheLookup::Kept(kept) => return Ok(stages::execute::kept(native, &kept, t)), //          in place of 9 to 11
            result_cache::CacheLookup::Place(place) => Some(place),
            result_cache::CacheLookup::Never => None,
        };
        let mut pinned = t.at(Stage::SnapshotPin, stages::snapshot::pin(self, query, rules, native, t)).await?; // 9
        // of a type of its own, or whoever waits for it is one that the compiler finds too deep
        let taken = t.further(Stage::SnapshotPin, stages::staged::take_in(self, query, &mut pinned, t).boxed()).await?;
        let ran = t.at(Stage::Execute, stages::execute::run(self, query, pinned, t)).await; //             10
        let ran = if taken.are_several() { taken.named(self, query, ran).boxed().await } else { ran };
        let (ran, report) = stages::staged::holds(taken, ran)?;
        let rows = t.at(Stage::DirtyTracking, stages::dirty::track(self, query, ran)).await?; //           11
        let rows = if let Some(report) = report { stages::staged::told(rows, report)? } else { rows };
        if let Some(removal) = &rows.about.removes {
            Box::pin(removal.done(self)).await?;
        }
        if query.ask.transaction.is_none() && staged_files::drops_a_stage(&rows.about.written) {
            self.forget_dropped_stages().await;
        }
        let rows = match binding::unbinds(rules, &rows.about) {
            Some(notice) => rows.warned(notice),
            None => rows,
        };
        Ok(rows.kept_at(place))
    }

    /// What the statement takes and gives, without running it: the gates, then the engine's own
    /// description of the generated SQL. Neither billed nor audited.
    pub async fn describe(self: &Arc<Self>, ask: &Ask) -> Result<Description> {
        let shown = unload::shown(ask);
        let ask = shown.as_ref().unwrap_or(ask);
        if let Some(described) = unload::described(ask).or_else(|| template::described(ask)) {
            return Ok(described);
        }
        let query = startup_gate::enter(self, ask.clone()).await?;
        let (mut span, t) = (self.tracer.begin("describe", Kind::Server, &ask.asked_at()), Trail::default());
        let described = Box::pin(self.described(&query, &t)).await;
        spans::described(&mut span, &query, &t, described.as_ref().err());
        described
    }

    async fn described(&self, query: &Query, t: &Trail) -> Result<Description> {
        if let Some(question) = postgres::question(self, query) {
            return t.at(Stage::Execute, Box::pin(postgres::describe(self, query, &question))).await;
        }
        let rules = self.rules()?;
        let described = match Box::pin(self.described_as(query, &query.ask.sql, &rules, t)).await {
            Err(error) if stages::heal::concerns(self, query, &rules, &error) => {
                Box::pin(self.healed_description(query, &rules, error, t)).await
            }
            described => described,
        };
        match described {
            Err(error) => Err(stages::heal::suggested(self, query, error).await),
            described => described,
        }
    }

    /// What the text would answer that will run in place of one that fails.
    async fn healed_description(
        &self,
        query: &Query,
        rules: &Arc<Governance>,
        error: Error,
        t: &Trail,
    ) -> Result<Description> {
        let Some(healed) = t.at(Stage::AiHeal, Box::pin(stages::heal::rewrite(self, query, rules, &error))).await
        else {
            return Err(error);
        };
        match Box::pin(self.described_as(query, &healed.sql, rules, t)).await {
            Ok(description) => {
                self.remembered.written.described(query, rules, healed);
                Ok(description)
            }
            Err(again) if stages::heal::ends_it(&again) => Err(again),
            Err(_) => Err(error),
        }
    }

    async fn described_as(&self, query: &Query, text: &str, rules: &Governance, t: &Trail) -> Result<Description> {
        let gates = Gates { pipeline: self, query, rules, t };
        let native = Box::pin(gates.govern(text, &Mode::Describe)).await?.native;
        t.further(Stage::Transpile, Box::pin(stages::transpile::describe(&gates, native))).await
    }

    /// The parameters of a statement that was described, in Arrow.
    pub async fn taken(&self, description: &Description) -> Result<SchemaRef> {
        stages::transpile::taken(self, description).await
    }

    /// The current snapshot; without any, everything is refused.
    pub fn rules(&self) -> Result<Arc<Governance>> {
        self.snapshots.borrow().clone().ok_or(Error::NoGovernance)
    }

    /// Says that a tool has written to these tables: answers that were kept from them are stale.
    pub(crate) fn wrote(&self, tables: &[String]) {
        self.remembered.answers.wrote(tables);
    }

    /// The tables there are: not for a caller, who may see less.
    pub(crate) async fn catalog(&self) -> Result<Arc<engine::Catalog>> {
        Ok(self.engine()?.catalog().await?)
    }

    pub(crate) fn engine(&self) -> Result<engine::Engine> {
        self.engine.borrow().clone().ok_or(Error::NotReady)
    }
}
