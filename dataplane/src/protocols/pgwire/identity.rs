//! Who an agent says it is: "agent identity (`agent_id`, `framework`) is passed as connection
//! properties and feeds masking, row-level-security and ABAC evaluation".
//!
//! Properties come as startup parameters, inside `options`, or by `SET`, each with or without a
//! word of the client's own in front (`acme_agent_id`, `acme.agent_id`). What they declare is a
//! claim; whether it counts is the pipeline's to say.

use contract::RequestId;

use crate::AgentName;

/// Longest value kept; a longer one is refused.
const VALUE_CHARS_MAX: usize = 256;

/// A property that says something about the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    AgentId,
    Framework,
    RequestId,
    ParentRequestId,
    ReasoningStep,
    Priority,
    /// `environment`, `api_key`, `transpile`: accepted because clients send them, and of no
    /// effect. A key given here is neither used nor kept.
    Ignored,
}

/// Longer names first: `parent_request_id` is not `parent_` and `request_id`.
const PROPERTIES: &[(&str, Property)] = &[
    ("parent_request_id", Property::ParentRequestId),
    ("agent_framework", Property::Framework),
    ("reasoning_step", Property::ReasoningStep),
    ("environment", Property::Ignored),
    ("request_id", Property::RequestId),
    ("framework", Property::Framework),
    ("transpile", Property::Ignored),
    ("agent_id", Property::AgentId),
    ("priority", Property::Priority),
    ("api_key", Property::Ignored),
];

impl Property {
    /// The property a setting's name stands for: `[a-z][a-z0-9]*` and `.` or `_` may stand before it.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        PROPERTIES.iter().find_map(|(suffix, property)| {
            let prefix = name.strip_suffix(suffix)?;
            let word = prefix.strip_suffix(['.', '_']);
            let fits = prefix.is_empty() || word.is_some_and(is_word);
            fits.then_some(*property)
        })
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// The identity that a session has declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub agent_id: Option<AgentName>,
    pub framework: Option<AgentName>,
    pub request_id: Option<RequestId>,
    pub parent_request_id: Option<String>,
    pub reasoning_step: Option<String>,
    pub priority: Option<String>,
}

impl Identity {
    /// Takes a property's value; an empty one clears it. Says what is wrong with a bad one.
    pub fn set(&mut self, property: Property, value: &str) -> Result<(), String> {
        if value.chars().count() > VALUE_CHARS_MAX || value.chars().any(char::is_control) {
            return Err(format!("an identity value has at most {VALUE_CHARS_MAX} printable characters"));
        }
        let text = (!value.is_empty()).then(|| value.to_owned());
        match property {
            Property::AgentId => self.agent_id = named("agent_id", text)?,
            Property::Framework => self.framework = named("framework", text)?,
            Property::ParentRequestId => self.parent_request_id = text,
            Property::ReasoningStep => self.reasoning_step = text,
            Property::Priority => self.priority = text,
            Property::Ignored => {}
            Property::RequestId => {
                let form = "a request id is 1 to 64 of the characters A-Z a-z 0-9 . _ -";
                self.request_id = text.map(|text| RequestId::accepted(&text).ok_or(form)).transpose()?;
            }
        }
        Ok(())
    }
}

fn named(field: &str, text: Option<String>) -> Result<Option<AgentName>, String> {
    text.map(|text| AgentName::of(field, text)).transpose().map_err(|error| error.to_string())
}

/// `options` of a startup packet: `-c name=value` and `--name=value`, separated by spaces; a
/// backslash keeps the next character.
pub fn options(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut words = words(text).into_iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next(),
            Some(rest) => Some(rest.to_owned()),
            None => return Err(format!("option {word:?} is not understood: use -c name=value")),
        };
        let setting = setting.as_deref().and_then(|setting| setting.split_once('='));
        let (name, value) = setting.ok_or("an option is -c name=value")?;
        found.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(found)
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_known_in_all_its_spellings() {
        let cases = [
            ("agent_id", Some(Property::AgentId)),
            ("acme_agent_id", Some(Property::AgentId)),
            ("acme2.AGENT_ID", Some(Property::AgentId)),
            ("agent_framework", Some(Property::Framework)),
            ("acme_agent_framework", Some(Property::Framework)),
            ("parent_request_id", Some(Property::ParentRequestId)),
            ("acme_parent_request_id", Some(Property::ParentRequestId)),
            ("acme.api_key", Some(Property::Ignored)),
            ("acme_my_agent_id", None),
            ("_agent_id", None),
            ("9x_agent_id", None),
            ("agent_ids", None),
            ("search_path", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Property::of(name), expected, "{name}");
        }
    }

    #[test]
    fn an_empty_value_clears_and_a_bad_one_is_refused() {
        let mut identity = Identity::default();
        identity.set(Property::RequestId, "r-1").unwrap();
        assert!(identity.request_id.is_some());
        identity.set(Property::RequestId, "").unwrap();
        assert_eq!(identity, Identity::default());
        assert!(identity.set(Property::RequestId, "no spaces").is_err());
        assert!(identity.set(Property::AgentId, &"x".repeat(257)).is_err());
        assert!(identity.set(Property::AgentId, "a\nb").is_err());
    }

    #[test]
    fn options_are_read_as_postgresql_reads_them() {
        let pairs = |text| options(text).unwrap().into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>();
        assert_eq!(pairs("-c acme_agent_id=a -cacme_framework=b"), ["acme_agent_id=a", "acme_framework=b"]);
        assert_eq!(pairs(r"  --search-path=x -c agent_id=two\ words"), ["search_path=x", "agent_id=two words"]);
        assert_eq!(pairs(""), Vec::<String>::new());
        assert!(options("-d5").is_err() && options("-c").is_err() && options("-c novalue").is_err());
    }
}
