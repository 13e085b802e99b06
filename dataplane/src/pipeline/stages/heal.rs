//! Stage 12. "AI healing: on failure, attempts an automatic SQL correction."
//!
//! By rule (`safe`), where that cannot change which data is read; where the environment permits more, a model is asked,
//! if one is set up (`asking`). Once a query, only while nothing has been sent, never for a statement that writes, and
//! never after a refusal. The healed text passes all gates again, and every form of the answer says what was changed.
//! What no rule may correct is suggested at most (`suggesting`).

mod asking;
mod intent;
mod likeness;
mod safe;
mod suggesting;
mod visible_relations;
mod written;

use contract::{Governance, Heal};

use crate::Error;
use crate::pipeline::{Pipeline, Query};
use crate::request::answer::Healed;

pub(in crate::pipeline) use suggesting::suggested;
pub(in crate::pipeline) use written::CorrectionCache;

/// How far this statement may be healed.
pub(super) fn level(query: &Query, rules: &Governance) -> Heal {
    rules.environment.settings.heal.asked(query.ask.bounds.heal)
}

/// Can anything be done about it?
pub(in crate::pipeline) fn concerns(pipeline: &Pipeline, query: &Query, rules: &Governance, error: &Error) -> bool {
    let asks = || pipeline.healer.is_some() && asking::concerns(error);
    // In a client's transaction the engine has given up what it failed at.
    let may_go_on = query.ask.transaction.is_none() || matches!(error, Error::Sql(_));
    may_go_on
        && match level(query, rules) {
            Heal::Off => false,
            Heal::Safe => safe::concerns(error),
            Heal::Auto => safe::concerns(error) || asks(),
        }
}

/// Another text in place of one that failed; nothing where no rule has one and no model is to be asked, or has none.
pub(in crate::pipeline) async fn rewrite(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    error: &Error,
) -> Option<Healed> {
    if let Some(healed) = safe::corrected(pipeline, query, rules, error).await {
        return Some(healed);
    }
    let healer = pipeline.healer.as_ref().filter(|_| level(query, rules) == Heal::Auto && asking::concerns(error))?;
    if let Some(healed) = pipeline.remembered.written.of(query, rules) {
        return Some(healed);
    }
    asking::corrected(pipeline, healer, query, rules, error).await
}

/// Whether it says nothing of the text that was tried: then it is told, and not the error before.
pub(in crate::pipeline) fn ends_it(error: &Error) -> bool {
    matches!(error, Error::Cancelled | Error::ShuttingDown | Error::Timeout(_))
}
