//! Texts that differ in literals alone, and share a plan: most programs send a new key in each text.
//!
//! A plan is shared when two texts of a shape were planned whole, and what the stages made of them, with all that is told
//! of it, differs in these literals alone. Literals that were the same in both stay as they are, until a text comes in
//! which more differ. Where a filter hides rows, the text over the visible rows is compared as well, and put together when
//! that is run.
//!
//! A text that has a shape and comes once is kept by its shape alone, so that one that never comes again is kept once.

mod text_shape;

use std::sync::Arc;

use sql::{SharedSql, SharedText};

use super::{KeptPlan, PlanCache, PlanFacts, PlanPlace};
use text_shape::TextShape;

impl PlanCache {
    /// The plan of a text that is kept by its shape: its own, or one that follows from those of two others.
    pub(super) fn shared(&self, place: &PlanPlace) -> Option<Arc<KeptPlan>> {
        let TextShape { text, literals } = TextShape::of(&place.key.text)?;
        let generation = self.generation();
        let sharing = generation.shapes.get(&place.key.with(text)).filter(|_| generation.has(place))?;
        if let Some(plan) = sharing.own(&literals) {
            generation.plans.insert(place.key.clone(), Arc::clone(plan)); // it comes again, and may go on to
            return Some(Arc::clone(plan));
        }
        drop(generation);
        sharing.plan(&literals).map(Arc::new)
    }

    /// Takes note of the plan of a text by its shape: says whether the text has it there from now on.
    ///
    /// Each statement waits for the lock, so plans are compared without it.
    pub(super) fn learn(&self, place: &PlanPlace, plan: &Arc<KeptPlan>) -> bool {
        let Some(TextShape { text, literals }) = TextShape::of(&place.key.text) else { return false };
        let generation = self.generation();
        let Some(shapes) = generation.has(place).then(|| generation.shapes.clone()) else { return false };
        drop(generation);
        let key = place.key.with(text);
        let known = shapes.get(&key);
        let next = Sharing::next(known.as_deref(), &literals, plan);
        let is_there = next.as_ref().or(known.as_deref()).is_some_and(|sharing| sharing.has(&literals));
        if let Some(next) = next {
            shapes.insert(key, Arc::new(next));
        }
        is_there
    }
}

/// Whether the texts of a shape share a plan.
#[derive(Debug)]
pub(super) enum Sharing {
    /// One has come, with these literals.
    Once {
        literals: Vec<String>,
        plan: Arc<KeptPlan>,
    },
    Shared(Box<SharedPlan>),
    /// Two have come, and more than their literals differs.
    Never,
}

impl Sharing {
    /// What is known once this text has come; nothing where that is no more than before.
    fn next(known: Option<&Self>, literals: &[String], plan: &Arc<KeptPlan>) -> Option<Self> {
        match known {
            None => Some(Self::Once { literals: literals.to_vec(), plan: Arc::clone(plan) }),
            // the same text, whose own plan was let go of
            Some(Self::Once { literals: before, .. }) if before.as_slice() == literals => None,
            Some(Self::Once { literals: before, plan: first }) => {
                let shared = SharedPlan::of((first, before), (plan, literals));
                Some(shared.map_or(Self::Never, |shared| Self::Shared(Box::new(shared))))
            }
            Some(Self::Shared(shared)) => Some(Self::Shared(Box::new(shared.freed((plan, literals))?))),
            Some(Self::Never) => None,
        }
    }

    /// About how many bytes it has.
    pub fn weight(&self) -> usize {
        match self {
            Self::Once { plan, .. } => plan.weight(),
            Self::Shared(shared) => shared.like.weight().saturating_mul(3),
            Self::Never => size_of::<Self>(),
        }
    }

    /// The plan of the one text that has come, where it is the one with these literals.
    fn own(&self, literals: &[String]) -> Option<&Arc<KeptPlan>> {
        match self {
            Self::Once { literals: own, plan } if own.as_slice() == literals => Some(plan),
            Self::Once { .. } | Self::Shared(_) | Self::Never => None,
        }
    }

    /// Whether a text with these literals has its plan here.
    fn has(&self, literals: &[String]) -> bool {
        match self {
            Self::Once { literals: own, .. } => own.as_slice() == literals,
            Self::Shared(shared) => shared.with(literals).is_some(),
            Self::Never => false,
        }
    }

    /// The plan of a text with these literals, where texts share it.
    fn plan(&self, literals: &[String]) -> Option<KeptPlan> {
        match self {
            Self::Shared(shared) => shared.with(literals),
            Self::Once { .. } | Self::Never => None,
        }
    }
}

/// A plan, and the literals of the text that it was made of.
type LiteralPlan<'a> = (&'a Arc<KeptPlan>, &'a [String]);

/// The plan of all texts of a shape, or of those in which some literals are the same.
#[derive(Debug)]
pub(super) struct SharedPlan {
    like: Arc<KeptPlan>,
    /// Those of the text of that plan.
    literals: Vec<String>,
    /// The places of those that may be others.
    free: Vec<usize>,
    sql: SharedSql,
    transpiled: SharedText,
    with_rls: SharedText,
}

impl SharedPlan {
    fn of((one, of_one): LiteralPlan<'_>, (other, of_other): LiteralPlan<'_>) -> Option<Self> {
        if of_one.len() != of_other.len() || !are_alike(one, other) {
            return None;
        }
        let free: Vec<usize> = (0..of_one.len()).filter(|place| of_one.get(*place) != of_other.get(*place)).collect();
        let (first, second) = (chosen(of_one, &free)?, chosen(of_other, &free)?);
        let text = |one: &Option<String>, other: &Option<String>| {
            SharedText::of((one.as_deref()?, &first), (other.as_deref()?, &second))
        };
        Some(Self {
            like: Arc::clone(one),
            literals: of_one.to_vec(),
            sql: SharedSql::of(one.care, (&one.sql, &first), (&other.sql, &second))?,
            transpiled: text(&one.told.transpiled, &other.told.transpiled)?,
            with_rls: text(&one.told.with_rls, &other.told.with_rls)?,
            free,
        })
    }

    /// The same with more literals that may be others, as this text shows.
    fn freed(&self, other: LiteralPlan<'_>) -> Option<Self> {
        let differ = self.literals.iter().zip(other.1).filter(|(known, literal)| known != literal).count();
        if differ > self.free.len() { Self::of((&self.like, &self.literals), other) } else { None }
    }

    /// Whether it is the plan of a text with these literals: those that were the same are so.
    fn holds(&self, literals: &[String]) -> bool {
        let stays = |(place, known): (usize, &String)| self.free.contains(&place) || literals.get(place) == Some(known);
        literals.len() == self.literals.len() && self.literals.iter().enumerate().all(stays)
    }

    fn with(&self, literals: &[String]) -> Option<KeptPlan> {
        if !self.holds(literals) {
            return None;
        }
        let chosen = chosen(literals, &self.free)?;
        let KeptPlan { about, care, fails_anyhow, masked_columns, changed, told, .. } = &*self.like;
        Some(KeptPlan {
            about: about.clone(),
            sql: self.sql.with(&chosen)?,
            care: *care,
            fails_anyhow: *fails_anyhow,
            masked_columns: masked_columns.clone(),
            changed: *changed,
            told: PlanFacts {
                redacted: told.redacted.clone(),
                transpiled: Some(self.transpiled.with(&chosen)?),
                with_rls: Some(self.with_rls.with(&chosen)?),
                columns_masked: told.columns_masked.clone(),
                verdicts: told.verdicts.clone(),
            },
        })
    }
}

/// The literals at these places.
fn chosen(literals: &[String], places: &[usize]) -> Option<Vec<String>> {
    places.iter().map(|place| literals.get(*place).cloned()).collect()
}

/// Whether nothing but their texts differs in two plans.
fn are_alike(one: &KeptPlan, other: &KeptPlan) -> bool {
    let about = format!("{:?}", one.about) == format!("{:?}", other.about); // all of it is in that
    let told = (&one.told.redacted, &one.told.columns_masked, &one.told.verdicts)
        == (&other.told.redacted, &other.told.columns_masked, &other.told.verdicts);
    let ways = (one.care, one.fails_anyhow, one.changed) == (other.care, other.fails_anyhow, other.changed);
    about && told && ways && one.masked_columns == other.masked_columns
}
