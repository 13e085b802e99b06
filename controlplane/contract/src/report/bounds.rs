//! The bounds of an entry: every text, list and number of it is cut and cleaned here, by whoever writes it, so that
//! each line of the log can be read again and shipped, and by whoever stores it, because a database holds neither
//! every character nor every size.
//!
//! Each field is named where it is bounded: one that is new does not compile before somebody has bounded it too.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{AbacEvaluation, Agent, Body, BranchMerged, Finished, Started, TriggerError, TriggerFired, Verdict};

/// No entry is larger as JSON, even if each of its characters has to be escaped.
pub const ENTRY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A statement, or the beginning of what an agent left.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// An id or the name of an agent: keys of the control plane's tables.
pub const NAME_BYTES_MAX: usize = 1024;
/// A member of a list: the path of a table, three names long.
const MEMBER_BYTES_MAX: usize = 4 * 1024;
/// All lists and members of JSON together.
const LISTS_BYTES_MAX: usize = 256 * 1024;
/// What a member costs besides its text.
const MEMBER_COST: usize = 16;
const DEPTH_MAX: usize = 32;
const NUMBER_BYTES_MAX: usize = 64;

/// Stands where something was left out.
const CUT: &str = "…";

/// Cleans a text: the cleaned one, which is no longer than it was, or none where nothing was to be cleaned.
type Clean<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Body {
    /// Within the bounds, each text without U+0000 and as `clean` leaves it.
    #[must_use]
    pub fn bounded(self, clean: Clean<'_>) -> Self {
        self.within(Some(clean))
    }

    /// The same, each text as it is but for that: one that is within its bounds is not written anew.
    #[must_use]
    pub fn cut(self) -> Self {
        self.within(None)
    }

    fn within(mut self, clean: Option<Clean<'_>>) -> Self {
        let mut budget = ListBudget { clean, left: LISTS_BYTES_MAX };
        match &mut self {
            Self::Started(start) => budget.started(start),
            Self::Finished(finish) => budget.finished(finish),
            Self::BranchMerged(merged) => budget.merged(merged),
            Self::TriggerFired(fired) => budget.fired(fired),
            Self::TriggerError(failed) => budget.failed(failed),
        }
        self
    }
}

/// The bytes that lists of one entry may still take, and the cleaning of its texts.
struct ListBudget<'a> {
    clean: Option<Clean<'a>>,
    /// Bytes that lists may still take.
    left: usize,
}

impl ListBudget<'_> {
    fn started(&mut self, start: &mut Started) {
        let Started {
            query_id,
            request_id,
            org_id,
            user_id,
            key_id,
            role: _,
            source_ip: _,
            origin: _,
            by_dashboard: _,
            agent,
            grant_id,
            sql,
            sql_original,
            sql_healed,
            sql_transpiled,
            sql_with_rls,
            operation: _,
            tables_accessed,
            columns_masked,
            policy_verdicts,
            abac_evaluation,
            governance_version: _,
            snapshot,
            estimated_micro_credits: _,
            at: _,
        } = start;
        bound_id(query_id);
        bound_id(request_id);
        bound_id(org_id);
        user_id.iter_mut().for_each(bound_id);
        key_id.iter_mut().for_each(bound_id);
        grant_id.iter_mut().for_each(bound_id);
        if let Some(Agent { agent_id, framework }) = agent {
            agent_id.iter_mut().chain(framework).for_each(|name| self.name(name));
        }
        self.text(sql);
        self.text(sql_original);
        sql_healed.iter_mut().chain(sql_transpiled).chain(sql_with_rls).for_each(|sql| self.text(sql));
        self.list(tables_accessed);
        self.list(columns_masked);
        self.verdicts(policy_verdicts);
        if let Some(AbacEvaluation { decision, policies_evaluated: _, evaluation_time_ms }) = abac_evaluation {
            self.name(decision);
            make_finite(evaluation_time_ms);
        }
        for snapshot in snapshot.iter_mut() {
            self.name(snapshot);
        }
    }

    fn finished(&mut self, finish: &mut Finished) {
        let Finished {
            query_id,
            outcome: _,
            error_code,
            rows_returned: _,
            micro_credits: _,
            cache_hit: _,
            execution_time_ms,
            transpilation_time_ms,
            stages,
            at: _,
        } = finish;
        bound_id(query_id);
        for code in error_code.iter_mut() {
            self.name(code);
        }
        make_finite(execution_time_ms);
        make_finite(transpilation_time_ms);
        self.taken(stages, |budget, (name, ms)| {
            budget.member(name, NAME_BYTES_MAX);
            make_finite(ms);
        });
    }

    fn merged(&mut self, merged: &mut BranchMerged) {
        let BranchMerged {
            branch_id,
            branch_name,
            agent_id,
            strategy,
            tables_merged,
            rows_affected: _,
            actor_id,
            merged_at: _,
        } = merged;
        for name in [branch_id, branch_name, agent_id, strategy, actor_id] {
            self.name(name);
        }
        self.list(tables_merged);
    }

    fn fired(&mut self, fired: &mut TriggerFired) {
        let TriggerFired {
            trigger_id,
            trigger_name,
            fired_at: _,
            similarity_score,
            threshold,
            content,
            content_id,
            agent_id,
            metadata,
        } = fired;
        for name in [trigger_id, trigger_name, agent_id].into_iter().chain(content_id) {
            self.name(name);
        }
        make_finite(similarity_score);
        make_finite(threshold);
        self.text(content);
        self.json(metadata, DEPTH_MAX);
    }

    fn failed(&mut self, failed: &mut TriggerError) {
        let TriggerError { trigger_id, trigger_name, error, occurred_at: _ } = failed;
        for name in [trigger_id, trigger_name, error] {
            self.name(name);
        }
    }

    fn verdicts(&mut self, verdicts: &mut Vec<Verdict>) {
        self.taken(verdicts, |budget, Verdict { policy_id, policy_name, action, columns, function }| {
            let mut id = String::from(policy_id.clone());
            budget.member(&mut id, NAME_BYTES_MAX);
            *policy_id = id.into();
            budget.member(policy_name, NAME_BYTES_MAX);
            budget.member(action, NAME_BYTES_MAX);
            budget.list(columns);
            for function in function.iter_mut() {
                budget.member(function, NAME_BYTES_MAX);
            }
        });
    }

    fn text(&self, text: &mut String) {
        self.bound(text, TEXT_BYTES_MAX);
    }

    fn name(&self, text: &mut String) {
        self.bound(text, NAME_BYTES_MAX);
    }

    fn bound(&self, text: &mut String, bytes_max: usize) {
        let within = cut(text, bytes_max);
        let cleaned = self.clean.and_then(|clean| clean(&within));
        let changed = match (cleaned, within) {
            (Some(cleaned), _) => Some(cleaned),
            (None, Cow::Owned(within)) => Some(within),
            (None, Cow::Borrowed(_)) => None,
        };
        if let Some(changed) = changed {
            *text = changed;
        }
    }

    fn member(&mut self, text: &mut String, bytes_max: usize) {
        self.bound(text, bytes_max);
        self.left = self.left.saturating_sub(text.len().saturating_add(MEMBER_COST));
    }

    fn list(&mut self, items: &mut Vec<String>) {
        let whole = items.len();
        self.taken(items, |budget, item| budget.member(item, MEMBER_BYTES_MAX));
        if items.len() < whole {
            items.push(CUT.to_owned());
        }
    }

    /// Keeps as many as there is room for.
    fn taken<T>(&mut self, items: &mut Vec<T>, mut bound: impl FnMut(&mut Self, &mut T)) {
        let mut kept = 0;
        for item in items.iter_mut() {
            if self.left == 0 {
                break;
            }
            bound(self, item);
            kept += 1;
        }
        items.truncate(kept);
    }

    /// What is too deep or too much is left out, and a number that no database holds becomes a text.
    fn json(&mut self, value: &mut Value, depth: usize) {
        if depth == 0 || self.left == 0 {
            *value = Value::String(CUT.to_owned());
            return;
        }
        self.left = self.left.saturating_sub(MEMBER_COST);
        match value {
            Value::String(text) => self.member(text, TEXT_BYTES_MAX),
            Value::Number(number) if !is_plain(number) => {
                let mut text = number.to_string();
                self.member(&mut text, NUMBER_BYTES_MAX);
                *value = Value::String(text);
            }
            Value::Array(items) => self.taken(items, |budget, item| budget.json(item, depth - 1)),
            Value::Object(members) => {
                for (mut name, mut value) in std::mem::take(members) {
                    if self.left == 0 {
                        break;
                    }
                    self.member(&mut name, NAME_BYTES_MAX);
                    self.json(&mut value, depth - 1);
                    members.insert(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// No key is looked for in it: it is one of ours.
fn bound_id<T: Clone + From<String> + Into<String>>(id: &mut T) {
    let text: String = id.clone().into();
    if let Cow::Owned(bounded) = cut(&text, NAME_BYTES_MAX) {
        *id = bounded.into();
    }
}

/// No longer than this, with a mark where it ends too early; without the character that no text of a database holds.
fn cut(text: &str, bytes_max: usize) -> Cow<'_, str> {
    let has_zero = text.contains('\0');
    let text = if has_zero { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) };
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(text.get(..end).unwrap_or_default().to_owned() + CUT)
}

/// JSON has no other.
fn make_finite(number: &mut f64) {
    if !number.is_finite() {
        *number = 0.0;
    }
}

/// Within what a double holds, and written in a few digits.
fn is_plain(number: &Number) -> bool {
    let written = number.to_string();
    let vanishes = |value: f64| value == 0.0 && written.contains(['e', 'E']);
    written.len() <= NUMBER_BYTES_MAX && number.as_f64().is_some_and(|value| value.is_finite() && !vanishes(value))
}

#[cfg(test)]
mod tests;
