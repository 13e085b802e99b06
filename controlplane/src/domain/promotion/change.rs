//! A promotion from one environment to another, and what it changes there.

use contract::{EnvId, PolicyId};
use platform::events::Origin;
use platform::http::call::Call;
use schemars::JsonSchema;
use serde::Serialize;

/// From where, to where, and whether for real.
#[derive(Debug)]
pub struct Promotion {
    pub from: EnvId,
    pub to: EnvId,
    pub dry_run: bool,
}

impl Promotion {
    /// Whoever promotes does it in the target.
    pub fn origin(&self, cx: &Call) -> Origin {
        Origin::within(cx, &self.to)
    }
}

/// One policy or setting that is, or would be, made or changed in the target.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PromotedChange {
    /// `masking_rules`, `rls_filters`, `abac_policies` or `settings`.
    pub kind: &'static str,
    pub name: String,
    pub action: PromotedAction,
    /// Of the target's policy; null where it would be made, and of a setting.
    pub policy_id: Option<PolicyId>,
}

impl PromotedChange {
    /// Of a policy, where the target has the one that is `there`.
    pub fn of(kind: &'static str, name: &str, there: Option<&PolicyId>) -> Self {
        let action = if there.is_some() { PromotedAction::Update } else { PromotedAction::Create };
        Self { kind, name: name.to_owned(), action, policy_id: there.cloned() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromotedAction {
    Create,
    Update,
}
