//! The bounds of an entry: every text, list and number of it is cut and cleaned here, by whoever writes it, so that
//! each line of the log can be read again and shipped, and by whoever stores it, because a database holds neither
//! every character nor every size.
//!
//! Each field is named where it is bounded: one that is new does not compile before somebody has bounded it too.

use serde_json::{Map, Number, Value};

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

impl Body {
    /// Within the bounds, each text without U+0000 and as `clean` leaves it, which may make it no longer.
    #[must_use]
    pub fn bounded(self, clean: &dyn Fn(&str) -> String) -> Self {
        let mut room = Room { clean, left: LISTS_BYTES_MAX };
        match self {
            Self::Started(start) => Self::Started(Box::new(room.started(*start))),
            Self::Finished(finish) => Self::Finished(Box::new(room.finished(*finish))),
            Self::BranchMerged(merged) => Self::BranchMerged(Box::new(room.merged(*merged))),
            Self::TriggerFired(fired) => Self::TriggerFired(Box::new(room.fired(*fired))),
            Self::TriggerError(failed) => Self::TriggerError(Box::new(room.failed(*failed))),
        }
    }
}

struct Room<'a> {
    clean: &'a dyn Fn(&str) -> String,
    /// Bytes that lists may still take.
    left: usize,
}

impl Room<'_> {
    fn started(&mut self, start: Started) -> Started {
        let Started {
            query_id,
            request_id,
            org_id,
            user_id,
            key_id,
            role,
            source_ip,
            origin,
            by_dashboard,
            agent,
            grant_id,
            sql,
            sql_original,
            sql_healed,
            sql_transpiled,
            sql_with_rls,
            operation,
            tables_accessed,
            columns_masked,
            policy_verdicts,
            abac_evaluation,
            governance_version,
            snapshot,
            estimated_micro_credits,
            at,
        } = start;
        Started {
            query_id: Self::id(query_id),
            request_id: Self::id(request_id),
            org_id: Self::id(org_id),
            user_id: user_id.map(Self::id),
            key_id: key_id.map(Self::id),
            role,
            source_ip,
            origin,
            by_dashboard,
            agent: agent.map(|Agent { agent_id, framework }| Agent {
                agent_id: agent_id.map(|id| self.name(&id)),
                framework: framework.map(|name| self.name(&name)),
            }),
            grant_id: grant_id.map(Self::id),
            sql: self.text(&sql),
            sql_original: self.text(&sql_original),
            sql_healed: sql_healed.map(|sql| self.text(&sql)),
            sql_transpiled: sql_transpiled.map(|sql| self.text(&sql)),
            sql_with_rls: sql_with_rls.map(|sql| self.text(&sql)),
            operation,
            tables_accessed: self.list(tables_accessed),
            columns_masked: self.list(columns_masked),
            policy_verdicts: self.verdicts(policy_verdicts),
            abac_evaluation: abac_evaluation.map(
                |AbacEvaluation { decision, policies_evaluated, evaluation_time_ms }| {
                    let decision = self.name(&decision);
                    AbacEvaluation { decision, policies_evaluated, evaluation_time_ms: finite(evaluation_time_ms) }
                },
            ),
            governance_version,
            snapshot: snapshot.map(|snapshot| self.name(&snapshot)),
            estimated_micro_credits,
            at,
        }
    }

    fn finished(&mut self, finish: Finished) -> Finished {
        let Finished {
            query_id,
            outcome,
            error_code,
            rows_returned,
            micro_credits,
            cache_hit,
            execution_time_ms,
            transpilation_time_ms,
            stages,
            at,
        } = finish;
        Finished {
            query_id: Self::id(query_id),
            outcome,
            error_code: error_code.map(|code| self.name(&code)),
            rows_returned,
            micro_credits,
            cache_hit,
            execution_time_ms: finite(execution_time_ms),
            transpilation_time_ms: finite(transpilation_time_ms),
            stages: self.taken(stages, |room, (name, ms)| (room.member(&name, NAME_BYTES_MAX), finite(ms))),
            at,
        }
    }

    fn merged(&mut self, merged: BranchMerged) -> BranchMerged {
        let BranchMerged {
            branch_id,
            branch_name,
            agent_id,
            strategy,
            tables_merged,
            rows_affected,
            actor_id,
            merged_at,
        } = merged;
        BranchMerged {
            branch_id: self.name(&branch_id),
            branch_name: self.name(&branch_name),
            agent_id: self.name(&agent_id),
            strategy: self.name(&strategy),
            tables_merged: self.list(tables_merged),
            rows_affected,
            actor_id: self.name(&actor_id),
            merged_at,
        }
    }

    fn fired(&mut self, fired: TriggerFired) -> TriggerFired {
        let TriggerFired {
            trigger_id,
            trigger_name,
            fired_at,
            similarity_score,
            threshold,
            content,
            content_id,
            agent_id,
            metadata,
        } = fired;
        TriggerFired {
            trigger_id: self.name(&trigger_id),
            trigger_name: self.name(&trigger_name),
            fired_at,
            similarity_score: finite(similarity_score),
            threshold: finite(threshold),
            content: self.text(&content),
            content_id: content_id.map(|id| self.name(&id)),
            agent_id: self.name(&agent_id),
            metadata: self.json(metadata, DEPTH_MAX),
        }
    }

    fn failed(&mut self, failed: TriggerError) -> TriggerError {
        let TriggerError { trigger_id, trigger_name, error, occurred_at } = failed;
        TriggerError {
            trigger_id: self.name(&trigger_id),
            trigger_name: self.name(&trigger_name),
            error: self.name(&error),
            occurred_at,
        }
    }

    fn verdicts(&mut self, verdicts: Vec<Verdict>) -> Vec<Verdict> {
        self.taken(verdicts, |room, Verdict { policy_id, policy_name, action, columns, function }| Verdict {
            policy_id: room.member(&String::from(policy_id), NAME_BYTES_MAX).into(),
            policy_name: room.member(&policy_name, NAME_BYTES_MAX),
            action: room.member(&action, NAME_BYTES_MAX),
            columns: room.list(columns),
            function: function.map(|function| room.member(&function, NAME_BYTES_MAX)),
        })
    }

    fn text(&self, text: &str) -> String {
        self.cut(text, TEXT_BYTES_MAX)
    }

    fn name(&self, text: &str) -> String {
        self.cut(text, NAME_BYTES_MAX)
    }

    /// No key is looked for in it: it is one of ours.
    fn id<T: From<String> + Into<String>>(id: T) -> T {
        cut(&id.into(), NAME_BYTES_MAX).into()
    }

    fn cut(&self, text: &str, bytes_max: usize) -> String {
        (self.clean)(&cut(text, bytes_max))
    }

    fn member(&mut self, text: &str, bytes_max: usize) -> String {
        let text = self.cut(text, bytes_max);
        self.left = self.left.saturating_sub(text.len().saturating_add(MEMBER_COST));
        text
    }

    fn list(&mut self, items: Vec<String>) -> Vec<String> {
        let whole = items.len();
        let mut kept = self.taken(items, |room, item| room.member(&item, MEMBER_BYTES_MAX));
        if kept.len() < whole {
            kept.push(CUT.to_owned());
        }
        kept
    }

    /// As many as there is room for.
    fn taken<T>(&mut self, items: Vec<T>, mut bound: impl FnMut(&mut Self, T) -> T) -> Vec<T> {
        let mut kept = Vec::new();
        for item in items {
            if self.left == 0 {
                break;
            }
            kept.push(bound(self, item));
        }
        kept
    }

    /// What is too deep or too much is left out, and a number that no database holds becomes a text.
    fn json(&mut self, value: Value, depth: usize) -> Value {
        if depth == 0 || self.left == 0 {
            return Value::String(CUT.to_owned());
        }
        self.left = self.left.saturating_sub(MEMBER_COST);
        match value {
            Value::String(text) => Value::String(self.member(&text, TEXT_BYTES_MAX)),
            Value::Number(number) if is_plain(&number) => Value::Number(number),
            Value::Number(number) => Value::String(self.member(&number.to_string(), NUMBER_BYTES_MAX)),
            Value::Array(items) => Value::Array(self.taken(items, |room, item| room.json(item, depth - 1))),
            Value::Object(members) => {
                let mut kept = Map::new();
                for (name, value) in members {
                    if self.left == 0 {
                        break;
                    }
                    let name = self.member(&name, NAME_BYTES_MAX);
                    kept.insert(name, self.json(value, depth - 1));
                }
                Value::Object(kept)
            }
            Value::Null | Value::Bool(_) => value,
        }
    }
}

/// No longer than this, with a mark where it ends too early; without the character that no text of a database holds.
fn cut(text: &str, bytes_max: usize) -> String {
    let text = text.replace('\0', "\u{FFFD}");
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned() + CUT
}

/// JSON has no other.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// Within what a double holds, and written in a few digits.
fn is_plain(number: &Number) -> bool {
    let written = number.to_string();
    let vanishes = |value: f64| value == 0.0 && written.contains(['e', 'E']);
    written.len() <= NUMBER_BYTES_MAX && number.as_f64().is_some_and(|value| value.is_finite() && !vanishes(value))
}

#[cfg(test)]
mod tests;
