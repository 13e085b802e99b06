//! An agent that makes itself known: what it says of itself, and what it is answered.
//!
//! "Self-registered agent: `trust_level` `provisional`, … `status` `active`." All it says is a claim:
//! being known is no right, and what it is capable of is not what it may do (`capability`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{OrgId, Timestamp};

/// Agents of one organization. Anybody can make ids up.
pub const AGENTS_MAX: u32 = 10_000;
/// Longest id, name or capability.
pub const NAME_BYTES_MAX: usize = 256;
/// What the log says of a call by which an agent makes itself known, or tries to.
pub const REGISTERS: &str = "CALL register_agent";
const CAPABILITIES_MAX: usize = 64;
const METADATA_BYTES_MAX: usize = 16 * 1024;

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Names it in its organization.
    pub agent_id: String,
    /// What it is built with, as `langchain` or `crewai`.
    pub framework: String,
    pub display_name: Option<String>,
    pub version: Option<String>,
    /// What it is good at, in its own words; not what it may do.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The agent that started it, which must be registered.
    pub parent_agent_id: Option<String>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// A fault of a registration, and its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Wrong {
    pub field: String,
    pub message: String,
}

/// An agent as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Registered {
    pub agent_id: String,
    /// The same for as long as the organization knows it.
    pub fingerprint: String,
    pub framework: String,
    pub trust_level: String,
    pub registration_source: String,
    pub status: String,
    /// When it registered itself for the first time.
    pub registered_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// It had not registered itself before.
    pub created: bool,
}

/// Why it is not registered, though what it says has a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The organization knows as many agents as it may.
    Full { limit: u32 },
    /// Nobody knows its parent.
    ParentUnknown,
}

/// The control plane's answer to a registration.
pub type Answer = Result<Registered, Refusal>;

impl Registration {
    /// Bounded, in both planes by the same words.
    pub fn checked(&self) -> Result<(), Wrong> {
        named("agent_id", &self.agent_id)?;
        named("framework", &self.framework)?;
        let optional = [
            ("display_name", &self.display_name),
            ("version", &self.version),
            ("parent_agent_id", &self.parent_agent_id),
        ];
        for (field, text) in optional {
            text.as_deref().map_or(Ok(()), |text| named(field, text))?;
        }
        if self.parent_agent_id.as_ref() == Some(&self.agent_id) {
            return Err(wrong("parent_agent_id", "an agent is not its own parent".to_owned()));
        }
        if self.capabilities.len() > CAPABILITIES_MAX {
            return Err(wrong("capabilities", format!("capabilities are at most {CAPABILITIES_MAX}")));
        }
        for (place, capability) in self.capabilities.iter().enumerate() {
            named(&format!("capabilities[{place}]"), capability)?;
        }
        let bytes = serde_json::to_vec(&self.metadata).map_or(usize::MAX, |metadata| metadata.len());
        if bytes > METADATA_BYTES_MAX {
            return Err(wrong("metadata", format!("metadata is larger than {METADATA_BYTES_MAX} bytes")));
        }
        if serde_json::to_string(&self.metadata).is_ok_and(|text| text.contains("\\u0000")) {
            return Err(wrong("metadata", "metadata holds a character of no text".to_owned()));
        }
        Ok(())
    }
}

/// Stands for an agent of an organization, the same every time; not a secret.
pub fn fingerprint(org_id: &OrgId, agent_id: &str) -> String {
    const LETTERS: [char; 32] = [
        'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
        'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7',
    ];
    let digest = Sha256::digest(format!("sluice.agent.v1\n{org_id}\n{agent_id}"));
    let letters = digest.iter().take(8).filter_map(|byte| LETTERS.get(usize::from(byte % 32)));
    format!("svc_agt_{}", letters.collect::<String>())
}

fn named(field: &str, text: &str) -> Result<(), Wrong> {
    let fits = (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(wrong(field, format!("{field} is a text of 1 to {NAME_BYTES_MAX} bytes"))) }
}

fn wrong(field: &str, message: String) -> Wrong {
    Wrong { field: field.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(with: &Value) -> Registration {
        let mut said = json!({"agent_id": "planner", "framework": "crewai"});
        said.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        serde_json::from_value(said).unwrap()
    }

    #[test]
    fn what_is_wrong_names_its_field() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        let cases = [
            (json!({"agent_id": ""}), "agent_id"),
            (json!({"agent_id": "a\u{0}"}), "agent_id"),
            (json!({"framework": long}), "framework"),
            (json!({"version": ""}), "version"),
            (json!({"display_name": "a\nb"}), "display_name"),
            (json!({"parent_agent_id": "planner"}), "parent_agent_id"),
            (json!({"capabilities": ["sql", ""]}), "capabilities[1]"),
            (json!({"capabilities": vec!["sql"; CAPABILITIES_MAX + 1]}), "capabilities"),
            (json!({"metadata": {"note": "x".repeat(METADATA_BYTES_MAX)}}), "metadata"),
            (json!({"metadata": {"note": "\u{0}"}}), "metadata"),
        ];
        for (with, field) in cases {
            assert_eq!(said(&with).checked().unwrap_err().field, field, "{with}");
        }
        let whole = json!({"display_name": "Planner", "version": "2", "capabilities": ["sql"], "parent_agent_id": "p",
            "metadata": {"team": "growth"}});
        assert_eq!(said(&whole).checked(), Ok(()));
    }

    #[test]
    fn a_fingerprint_is_of_one_agent_of_one_organization() {
        let (one, other) = (OrgId::from("one"), OrgId::from("other"));
        let print = fingerprint(&one, "planner");
        assert!(print.strip_prefix("svc_agt_").is_some_and(|letters| letters.len() == 8), "{print}");
        assert_eq!(print, fingerprint(&one, "planner"));
        assert_ne!(print, fingerprint(&other, "planner"));
        assert_ne!(print, fingerprint(&one, "planner2"));
    }
}
