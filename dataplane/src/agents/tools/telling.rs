//! A tool's result on its way out: as JSON for programs, as texts for models.

use serde::Serialize;
use serde_json::Value;

use super::budget::{NEXT, Rest, ResultBudget, behind};
use crate::Error;

/// A result on its way out: for programs, and for models that read text.
#[derive(Debug)]
pub struct ToolResult {
    pub structured: Value,
    /// The same as JSON, or the list in it alone.
    pub text: String,
    /// Behind the text, of its own: what makes it true, as how much of it is shown, and what is masked in it.
    pub note: Option<String>,
}

/// A tool's result.
pub(super) trait Telling: Serialize + Sized {
    /// The member that may be long: a list.
    const LIST: Option<&'static str> = None;
    /// Its text is the list alone: clients read no more.
    const BARE: bool = false;
    /// What must be known of it besides, a line each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// How the same call goes on behind so many items of the list.
    fn rest(&self, _shown: usize) -> Option<Rest> {
        None
    }

    fn told(self, budget: ResultBudget) -> Result<ToolResult, Error> {
        let mut notes = self.notes();
        let mut structured = serde_json::to_value(&self).map_err(|error| unwritable(&error))?;
        notes.extend(budget.fit(&mut structured, Self::LIST, &|shown| self.rest(shown)));
        if let Some(next) = structured.get(NEXT).filter(|next| next.is_string()) {
            let rest = behind("cursor", next);
            if !notes.contains(&rest) {
                notes.push(rest);
            }
        }
        let list = Self::LIST.filter(|_| Self::BARE).and_then(|name| structured.get(name));
        let text = list.unwrap_or(&structured).to_string();
        Ok(ToolResult { structured, text, note: (!notes.is_empty()).then(|| notes.join("\n")) })
    }
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::Unverified { why: format!("a result cannot be written: {error}") }
}
