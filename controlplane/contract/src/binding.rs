//! Whether what the rules of policies name is there: asked by the control plane, told by a data plane, which has the
//! catalogue. No caller is behind it, and no row is read.

use serde::{Deserialize, Serialize};

/// Rules of one question, and the bytes of their texts.
pub const RULES_MAX: usize = 500;
pub const BYTES_MAX: usize = 1024 * 1024;
/// Names that are told in place of one that is missing.
pub const NAMES_MAX: usize = 5;

/// Body of `POST /v1/environments/{env_id}/policies/bind` of a data plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindBody {
    pub rules: Vec<Named>,
}

/// A table or column that one rule names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Named {
    Mask {
        table: String,
        column: String,
    },
    Filter {
        table: String,
        filter: String,
    },
    /// A value of `TableIs`, or of `StageIs` with the sign of a stage.
    Pattern {
        pattern: String,
    },
}

impl Named {
    /// What it takes of a question.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Mask { table, column } => table.len() + column.len(),
            Self::Filter { table, filter } => table.len() + filter.len(),
            Self::Pattern { pattern } => pattern.len(),
        }
    }
}

/// The answer: of each rule, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    pub rules: Vec<Binding>,
}

/// Whether a rule rules something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Binding {
    /// What it names is there.
    Bound,
    /// `name` is not there; `there` is what there is instead, nearest first.
    Missing { what: Missing, name: String, there: Vec<String> },
    /// The filter does not evaluate, not even where there is no row.
    Fails { message: String },
    /// The engine could not be asked.
    Unknown,
}

crate::named! {
    /// The part of a name that is missing.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Missing {
        Table = "table",
        Column = "column",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both planes may be of different versions: what is told keeps its form.
    #[test]
    fn questions_and_answers_keep_their_form() {
        let question = r#"{"rules":[{"kind":"mask","table":"t","column":"c"},{"kind":"filter","table":"t","filter":"a = 1"},{"kind":"pattern","pattern":"t*"}]}"#;
        let read: BindBody = serde_json::from_str(question).unwrap();
        assert_eq!(read.rules.iter().map(Named::bytes).collect::<Vec<_>>(), [2, 6, 2]);
        assert_eq!(serde_json::to_string(&read).unwrap(), question);
        let answer = r#"{"rules":[{"state":"bound"},{"state":"missing","what":"column","name":"main.t.c","there":["a"]},{"state":"fails","message":"m"},{"state":"unknown"}]}"#;
        let read: Bound = serde_json::from_str(answer).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), answer);
    }
}
