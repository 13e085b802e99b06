//! The one sequence of gates: the stages 2 to 8 of every statement, whether it is run, described, explained or judged.
//!
//! A stage takes what only the stage before it makes, and none of them is called from anywhere else. What differs
//! between those who ask is their mode. A tool's action has no text: of the same gates it walks 3 to 5.
//! A text that has come before walks all of them too, with its plan at hand.

use std::sync::Arc;

use contract::policy::abac::Operation;
use engine::Engine;

use super::plans::{KeptPlan, PlanFacts, PlanHit, PlanLookup};
use super::policy::Asker;
use super::quota::Reservation;
use super::row_filter::Filtered;
use super::tables::{MissingAttribute, StatementInfo};
use super::transpile::{KeptSql, Passed};
use super::{Gates, Mode, cost, embed, plans, policy, quota, row_filter, tables, transpile};
use crate::governance::table_path::table_ref;
use crate::pipeline::Result;
use crate::pipeline::authorization::provenance::TableProvenance;
use crate::pipeline::authorization::stage_locations::ExternalStages;
use crate::request::trail::Stage;

/// The permission of a tool's action that stages 3 to 5 have let through.
pub(in crate::pipeline) struct Granted {
    pub who: Asker,
    pub engine: Engine,
    /// Schema, table and column of what the agent's grants deny in its tables.
    pub denied_columns: Vec<(String, String, String)>,
    /// Rows that the agent's grant lets it read or change.
    pub rows_max: Option<u64>,
    pub reservation: Reservation,
}

impl Gates<'_> {
    /// Walks a statement through the stages 2 to 6, which say who may ask it, and of which rows and columns.
    async fn filtered(&self, text: &str, mode: &Mode) -> Result<Filtered> {
        let Self { query, t, .. } = *self;
        let extracted = t.now(Stage::TableExtraction, || tables::extract(text, &query.ask.names.variables, t))?; // 2
        let supposed = match mode {
            Mode::Explain(who) => Some(Asker::clone(who)),
            Mode::Run | Mode::Describe | Mode::Recheck => None,
        };
        let allowed = t.at(Stage::PolicyCheck, Box::pin(policy::check(self, extracted, supposed))).await?; // 3
        let costed = t.now(Stage::CostEstimate, || cost::estimate(allowed, t)); //                            4
        let afforded = match mode {
            Mode::Run => t.at(Stage::QuotaCheck, Box::pin(quota::check(self, costed))).await?, //             5
            Mode::Describe | Mode::Recheck | Mode::Explain(_) => quota::unbilled(costed),
        };
        t.now(Stage::RowFilter, || row_filter::apply(self, afforded, text)) //                                6
    }

    /// Walks a statement through the stages 2 to 8, so that it can run.
    pub async fn govern(&self, text: &str, mode: &Mode) -> Result<Passed> {
        let place = match Box::pin(plans::looked_up(self, text, mode)).await {
            PlanLookup::Kept(hit) => return Box::pin(self.again(*hit)).await,
            PlanLookup::Place(place) => Some(place),
            PlanLookup::Never => None,
        };
        let filtered = Box::pin(self.filtered(text, mode)).await?; //                                2 to 6
        let embedded = self.t.at(Stage::VectorEmbed, Box::pin(embed::vectors(self, filtered, mode))).await?; // 7
        let passed = self.t.now(Stage::Transpile, || transpile::to_engine(self, embedded, mode))?; //          8
        if let Some(place) = place {
            plans::keep(self, *place, &passed);
        }
        Ok(passed)
    }

    /// Walks a text that has come before through the stages 2 to 8: its plan is kept, and may not run at each moment.
    /// Comparisons by meaning are in the plan.
    async fn again(&self, hit: PlanHit) -> Result<Passed> {
        let Self { t, .. } = *self;
        let PlanHit { plan, who, seen } = hit;
        // one that was put together for this text is nobody else's, and is not copied
        let KeptPlan { about, told, sql, care, fails_anyhow, masked_columns, changed } = Arc::unwrap_or_clone(plan);
        let PlanFacts { redacted, transpiled, with_rls, columns_masked, verdicts } = told;
        let about = t.now(Stage::TableExtraction, || tables::extract_kept(about, redacted, seen, t)); //      2
        let allowed = t.now(Stage::PolicyCheck, || policy::check_kept(self, about, &who))?; //                3
        let costed = t.now(Stage::CostEstimate, || cost::estimate_kept(allowed, t)); //                       4
        let afforded = t.at(Stage::QuotaCheck, Box::pin(quota::check_kept(self, costed))).await?; //          5
        t.now(Stage::RowFilter, || row_filter::apply_kept(columns_masked, verdicts, t)); //                   6
        t.now(Stage::VectorEmbed, || ()); //                                                                  7
        let generated = KeptSql { sql, care, fails_anyhow, masked_columns, changed, transpiled, with_rls };
        t.now(Stage::Transpile, || transpile::bind_kept(self, afforded, generated)) //                        8
    }

    /// Walks a statement through the stages that a verdict is of, 2 to 6: says of which tables this caller sees no row.
    pub async fn judge(&self, text: &str, who: Asker) -> Result<Vec<MissingAttribute>> {
        let filtered = Box::pin(self.filtered(text, &Mode::Explain(Box::new(who)))).await?;
        Ok(filtered.about.lacks)
    }

    /// The external stages, where a stage is among these.
    async fn stages(&self, tables: &[String]) -> Result<Arc<ExternalStages>> {
        let Self { pipeline, query, rules, .. } = *self;
        if !tables.iter().any(|path| table_ref(path).stage().is_some()) {
            return Ok(Arc::default());
        }
        Ok(pipeline.remembered.tables.of(&pipeline.engine()?, query, rules).await?.stages)
    }

    /// Walks a tool's action through the stages 3 to 5.
    pub async fn admit(&self, about: &StatementInfo, operations: &[Operation]) -> Result<Granted> {
        let Self { pipeline, query, rules, t } = *self;
        let stages = self.stages(&about.tables).await?;
        let checked = || policy::check_action(self, about, operations, &stages);
        let (who, confinement) = t.now(Stage::PolicyCheck, checked)?; //                                      3
        let engine = pipeline.engine()?;
        if !about.tables.is_empty() {
            let seen = pipeline.remembered.tables.of(&engine, query, rules).await?;
            TableProvenance { rules, role: who.caller.role, known: &seen.known }.permitted(&about.tables)?;
        }
        let estimate = t.now(Stage::CostEstimate, || cost::estimate_action(about, t)); //                     4
        let mut granted = about.clone();
        quota::has_room(self, confinement.as_ref(), &mut granted)?;
        let reservation = t.at(Stage::QuotaCheck, quota::reserve(self, estimate)).await?; //                  5
        let denied_columns = confinement.map(|confinement| confinement.denied_columns).unwrap_or_default();
        Ok(Granted { who, engine, denied_columns, rows_max: granted.rows_max, reservation })
    }
}
