//! Column masking: `full` replaces with `***`, `partial` shows the last N characters, `hash` a
//! keyed digest as hex, `null` NULL.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MaskFunction, Policy, Rules, TableRef, is_exempt};
use crate::{PolicyId, Role};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaskingRule {
    pub table: String,
    pub column: String,
    pub function: MaskFunction,
    /// Characters that `partial` shows, from the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_chars: Option<u32>,
    #[serde(default)]
    pub exempt_roles: Vec<Role>,
}

/// A mask that holds for one caller on one column, and the policy it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    pub column: String,
    pub function: MaskFunction,
    pub visible_chars: u32,
    pub policy_id: PolicyId,
    pub policy_name: String,
}

impl Mask {
    /// What tells less wins where two masks meet on one column.
    fn shown(&self) -> (u8, u32) {
        self.function.shown(self.visible_chars)
    }
}

/// The masks on a table for a role, by lower-case column name: the strictest where several meet.
pub fn masks_on(policies: &[Policy], table: TableRef<'_>, role: Role) -> BTreeMap<String, Mask> {
    let mut masks: BTreeMap<String, Mask> = BTreeMap::new();
    for policy in policies.iter().filter(|policy| policy.enabled) {
        let Rules::ColumnMasking(rules) = &policy.rules else {
            continue;
        };
        for rule in rules.iter().filter(|rule| table.is_named_by(&rule.table) && !is_exempt(&rule.exempt_roles, role)) {
            let mask = Mask {
                column: rule.column.clone(),
                function: rule.function,
                visible_chars: rule.visible_chars.unwrap_or(0),
                policy_id: policy.policy_id.clone(),
                policy_name: policy.name.clone(),
            };
            masks
                .entry(rule.column.to_ascii_lowercase())
                .and_modify(|held| {
                    if mask.shown() < held.shown() {
                        *held = mask.clone();
                    }
                })
                .or_insert(mask);
        }
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, rule: MaskingRule) -> Policy {
        Policy {
            policy_id: name.into(),
            name: name.to_owned(),
            enabled: true,
            rules: Rules::ColumnMasking(vec![rule]),
            created_at: chrono::DateTime::UNIX_EPOCH,
            updated_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn rule(function: MaskFunction, exempt_roles: Vec<Role>) -> MaskingRule {
        MaskingRule {
            table: "main.Customer".into(),
            column: "SSN".into(),
            function,
            visible_chars: Some(4),
            exempt_roles,
        }
    }

    const CUSTOMER: TableRef<'_> = TableRef { schema: "main", name: "customer" };

    #[test]
    fn the_strictest_mask_wins_whatever_the_order() {
        let partial = policy("a", rule(MaskFunction::Partial, vec![]));
        let null = policy("b", rule(MaskFunction::Null, vec![]));
        for policies in [[partial.clone(), null.clone()], [null, partial]] {
            assert_eq!(masks_on(&policies, CUSTOMER, Role::Analyst)["ssn"].function, MaskFunction::Null);
        }
    }

    #[test]
    fn an_exempt_role_and_a_disabled_policy_see_through() {
        let mut full = policy("a", rule(MaskFunction::Full, vec![Role::Owner]));
        assert!(masks_on(&[full.clone()], CUSTOMER, Role::Owner).is_empty());
        assert_eq!(masks_on(&[full.clone()], CUSTOMER, Role::Admin).len(), 1);
        full.enabled = false;
        assert!(masks_on(&[full], CUSTOMER, Role::Admin).is_empty());
    }

    #[test]
    fn another_schema_is_another_table() {
        let full = policy("a", rule(MaskFunction::Full, vec![]));
        assert!(masks_on(&[full], TableRef { schema: "sales", name: "customer" }, Role::Analyst).is_empty());
    }
}
