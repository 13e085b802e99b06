//! Policies: records, and their pure evaluation. The same functions enforce and simulate.

pub mod abac;
mod exemption;
mod mask_function;
mod masking;
mod row_filter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use abac::AbacPolicy;
pub use exemption::Policies;
pub use mask_function::MaskFunction;
pub use masking::{Mask, MaskingRule, masks_on};
pub use row_filter::{
    BUILT_IN, FILTER_BYTES_MAX, RowFilter, RowFilterRule, filters_for, filters_on, placeholder_values,
};

use crate::{PolicyId, Role, Timestamp};

/// A standard policy. "`type`: `column_masking` or `row_level_security`."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    pub policy_id: PolicyId,
    pub name: String,
    pub enabled: bool,
    #[serde(flatten)]
    pub rules: Rules,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The rules of a standard policy, of one type each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "rules", rename_all = "snake_case")]
pub enum Rules {
    ColumnMasking(Vec<MaskingRule>),
    RowLevelSecurity(Vec<RowFilterRule>),
}

impl Rules {
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::ColumnMasking(_) => "column_masking",
            Self::RowLevelSecurity(_) => "row_level_security",
        }
    }
}

/// Before the name of a stage where it stands among tables: `schema.@stage`. No table is called so.
pub const STAGE_SIGN: &str = "@";

/// A table as rules name it and as the engine knows it: ASCII case does not matter, and a rule
/// without a schema means `main`.
#[derive(Debug, Clone, Copy)]
pub struct TableRef<'a> {
    pub schema: &'a str,
    pub name: &'a str,
}

impl TableRef<'_> {
    /// The stage that it is, by its name without the sign; none of a table.
    pub fn stage(self) -> Option<Self> {
        Some(Self { name: self.name.strip_prefix(STAGE_SIGN)?, ..self })
    }

    /// Is this the table that `rule` names (`table` or `schema.table`)?
    pub fn is_named_by(&self, rule: &str) -> bool {
        let (schema, name) = rule.rsplit_once('.').unwrap_or(("main", rule));
        schema.eq_ignore_ascii_case(self.schema) && name.eq_ignore_ascii_case(self.name)
    }
}

/// "`exempt_roles` string[] of role names (empty means no exemption)."
fn is_exempt(exempt: &[Role], role: Role) -> bool {
    exempt.contains(&role)
}
