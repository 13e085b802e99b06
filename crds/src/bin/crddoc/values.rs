//! Closed lists of the types: each value with what it means.

use std::collections::BTreeMap;

use schemars::{Schema, schema_for};
use serde_json::Value;

type Meanings = Vec<(String, String)>;

/// By the name of the type.
pub struct Values(BTreeMap<String, Meanings>);

impl Values {
    /// Those of every kind.
    pub fn of_types() -> Result<Self, serde_json::Error> {
        let roots: [Schema; 6] = [
            schema_for!(crds::OrganizationSpec),
            schema_for!(crds::OrganizationStatus),
            schema_for!(crds::EnvironmentSpec),
            schema_for!(crds::EnvironmentStatus),
            schema_for!(crds::ApiKeySpec),
            schema_for!(crds::ApiKeyStatus),
        ];
        let mut lists = BTreeMap::new();
        for root in roots {
            let root = serde_json::to_value(root)?;
            for (name, schema) in root.get("$defs").and_then(Value::as_object).into_iter().flatten() {
                let found = meanings(schema);
                if !found.is_empty() {
                    lists.insert(name.clone(), found);
                }
            }
        }
        Ok(Self(lists))
    }

    pub fn named(&self, name: &str) -> Option<&Meanings> {
        self.0.get(name)
    }

    /// The list that has exactly these values.
    pub fn of(&self, values: &[&str]) -> Option<&Meanings> {
        self.0.values().find(|list| list.iter().map(|(value, _)| value.as_str()).eq(values.iter().copied()))
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = (&String, &Meanings)> {
        self.0.iter()
    }
}

/// schemars writes a described variant as a constant, and gathers the others in one `enum`.
fn meanings(schema: &Value) -> Meanings {
    let variants = schema["oneOf"].as_array().map_or_else(|| vec![schema], |list| list.iter().collect());
    let mut found = Vec::new();
    for variant in variants {
        let plain = variant["enum"].as_array().into_iter().flatten();
        found.extend(plain.filter_map(Value::as_str).map(|value| (value.to_owned(), String::new())));
        if let Some(value) = variant["const"].as_str() {
            let means = variant["description"].as_str().unwrap_or_default().replace('\n', " ");
            found.push((value.to_owned(), means));
        }
    }
    found
}
