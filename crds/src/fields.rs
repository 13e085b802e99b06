//! Fields that more than one kind has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A lower-case RFC 1123 label that starts with a letter.
pub(crate) const SLUG: &str = "^[a-z]([a-z0-9-]*[a-z0-9])?$";

/// An organization's and an environment's slug make an Environment's name, and that the names of
/// its children: 25 + 1 + 25 leaves 12 of 63 characters for a child's ending.
pub(crate) const SLUG_MAX: u32 = 25;

/// An object of the same namespace, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedRef {
    /// Of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// An amount as Kubernetes writes it: `500m`, `2Gi`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Quantity(#[schemars(length(min = 1, max = 32))] pub String);
