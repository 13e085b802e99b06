//! The action of a firing, `action_type`, and its particulars, `action_config`: they go with the event, for whoever
//! receives it.
//!
//! `flag_for_review`: somebody has to look, `urgency` and `assigned_to` say how soon and who. `webhook`: of the
//! organization's webhooks that ask for `trigger.fired`, the one with this `webhook_url` alone is told. Which URLs there
//! are, and what signs for them, is an administrator's to say, so a secret or headers are not taken here.
//! `agent_notify`: it is for the agent `agent_id`. `write_event`: `data` stands in the event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Error;
use crate::limits::{invalid, named, sized};

const URL_BYTES_MAX: usize = 2_048;
const DATA_BYTES_MAX: usize = 4 * 1024;

contract::named! {
    /// What a firing is for.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Action {
        #[default]
        FlagForReview = "flag_for_review",
        Webhook = "webhook",
        AgentNotify = "agent_notify",
        WriteEvent = "write_event",
    }
}

/// How soon somebody has to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    Low,
    Medium,
    High,
    Critical,
}

/// Its particulars; each member is one action's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Of `flag_for_review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    urgency: Option<Urgency>,
    /// Of `flag_for_review`: a role or an e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assigned_to: Option<String>,
    /// Of `webhook`: of the organization's webhooks for `trigger.fired`, only this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook_url: Option<String>,
    /// Of `agent_notify`: the agent that it is for; the one whose text it was if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    /// Of `write_event`, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Map<String, Value>>,
}

impl Config {
    /// Of this action, and bounded.
    pub(super) fn checked(&self, action: Action) -> Result<(), Error> {
        let members = [
            ("urgency", self.urgency.is_some(), Action::FlagForReview),
            ("assigned_to", self.assigned_to.is_some(), Action::FlagForReview),
            ("webhook_url", self.webhook_url.is_some(), Action::Webhook),
            ("agent_id", self.agent_id.is_some(), Action::AgentNotify),
            ("data", self.data.is_some(), Action::WriteEvent),
        ];
        if let Some((name, _, of)) = members.into_iter().find(|(_, given, of)| *given && *of != action) {
            let message = format!("{name} belongs to the action {}, not to {}", of.as_str(), action.as_str());
            return Err(invalid(&format!("action_config.{name}"), message));
        }
        let texts = [("assigned_to", &self.assigned_to), ("agent_id", &self.agent_id)];
        for (name, text) in texts {
            text.as_ref().map_or(Ok(()), |text| named(&format!("action_config.{name}"), text))?;
        }
        if let Some(url) = &self.webhook_url {
            sized("action_config.webhook_url", url.len(), URL_BYTES_MAX)?;
            if !["https://", "http://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme)) {
                return Err(invalid("action_config.webhook_url", "webhook_url is the URL of a webhook"));
            }
        }
        let data = self.data.as_ref().map_or(0, |data| Value::Object(data.clone()).to_string().len());
        sized("action_config.data", data, DATA_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_particular_of_another_action_or_without_bounds_is_refused_by_its_path() {
        let cases = [
            (Action::Webhook, json!({"webhook_url": "https://hooks.example/x"}), None),
            (Action::FlagForReview, json!({"urgency": "critical", "assigned_to": "pm"}), None),
            (Action::AgentNotify, json!({"agent_id": "clerk"}), None),
            (Action::WriteEvent, json!({"data": {"ticket": 7}}), None),
            (Action::WriteEvent, json!({}), None),
            (Action::FlagForReview, json!({"webhook_url": "https://x"}), Some("action_config.webhook_url")),
            (Action::Webhook, json!({"data": {}}), Some("action_config.data")),
            (Action::Webhook, json!({"webhook_url": "ftp://x"}), Some("action_config.webhook_url")),
            (Action::Webhook, json!({"webhook_url": "https://"}), Some("action_config.webhook_url")),
            (Action::AgentNotify, json!({"agent_id": ""}), Some("action_config.agent_id")),
            (Action::WriteEvent, json!({"data": {"x": "y".repeat(4_096)}}), Some("action_config.data")),
        ];
        for (action, given, wrong) in cases {
            let config: Config = serde_json::from_value(given.clone()).unwrap();
            let field = config.checked(action).err().map(|error| match error {
                Error::InvalidArgument { field, .. } => field,
                other => panic!("{other}"),
            });
            assert_eq!(field.as_deref(), wrong, "{action:?} {given}");
        }
    }
}
