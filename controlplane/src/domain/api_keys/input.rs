//! The input of a key, validated: "400 for invalid scopes or CIDR".

use std::collections::BTreeMap;

use chrono::Duration;
use contract::caller::Scopes;
use contract::network::range;
use contract::policy::BUILT_IN;
use contract::{Timestamp, UserId};
use ipnet::IpNet;
use platform::mails::names::is_unseen;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

const DAYS_MAX: i64 = 3_650;
const NETWORKS_MAX: usize = 100;
const ATTRIBUTES_MAX: usize = 32;
const TEXT_MAX: usize = 256;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyCreation {
    pub name: String,
    pub scopes: Scopes,
    #[serde(default)]
    pub ip_allowlist: Vec<String>,
    pub expires_in_days: Option<i64>,
    pub user_id: Option<UserId>,
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    pub agent_id: Option<String>,
    pub agent_framework: Option<String>,
}

/// A creation whose every part is in order.
#[derive(Debug)]
pub struct Admitted {
    pub name: String,
    pub scopes: Scopes,
    pub ip_allowlist: Vec<IpNet>,
    pub expires_at: Option<Timestamp>,
    pub user_id: Option<UserId>,
    pub attributes: BTreeMap<String, String>,
    pub agent_id: Option<String>,
    pub agent_framework: Option<String>,
}

impl ApiKeyCreation {
    pub fn admit(self, now: Timestamp) -> Result<Admitted> {
        if self.scopes.is_empty() {
            return Err(Error::invalid("scopes", "required", "`scopes` names at least one scope"));
        }
        let expires_at = match self.expires_in_days {
            None => None,
            Some(days) if (1..=DAYS_MAX).contains(&days) => Some(now + Duration::days(days)),
            Some(_) => {
                let message = format!("`expires_in_days` is from 1 to {DAYS_MAX}");
                return Err(Error::invalid("expires_in_days", "1..3650", message));
            }
        };
        if self.agent_framework.is_some() && self.agent_id.is_none() {
            return Err(Error::invalid("agent_framework", "with agent_id", "`agent_framework` needs `agent_id`"));
        }
        Ok(Admitted {
            name: text("name", self.name)?,
            scopes: self.scopes,
            ip_allowlist: networks(&self.ip_allowlist)?,
            expires_at,
            user_id: self.user_id,
            attributes: attributes(self.attributes)?,
            agent_id: self.agent_id.map(|given| text("agent_id", given)).transpose()?,
            agent_framework: self.agent_framework.map(|given| text("agent_framework", given)).transpose()?,
        })
    }
}

fn text(field: &'static str, given: String) -> Result<String> {
    let is_shown = |c: char| !c.is_control() && !is_unseen(c);
    let fits = !given.trim().is_empty() && given.len() <= TEXT_MAX && given.chars().all(is_shown);
    if fits {
        Ok(given)
    } else {
        Err(Error::invalid(field, "1..256", format!("`{field}` is 1 to {TEXT_MAX} bytes of text that can be seen")))
    }
}

fn networks(given: &[String]) -> Result<Vec<IpNet>> {
    if given.len() > NETWORKS_MAX {
        return Err(Error::invalid(
            "ip_allowlist",
            "0..100",
            format!("`ip_allowlist` has at most {NETWORKS_MAX} ranges"),
        ));
    }
    let network = |(index, text): (usize, &String)| {
        range(text).ok_or_else(|| {
            Error::invalid(
                format!("ip_allowlist[{index}]"),
                "cidr",
                format!(
                    "`{text}` is no address and no CIDR range of one kind: write 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32"
                ),
            )
        })
    };
    given.iter().enumerate().map(network).collect()
}

/// "an object of strings, at most 32, names `[a-z][a-z0-9_]*`"; built-in names cannot be taken.
fn attributes(given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    if given.len() > ATTRIBUTES_MAX {
        return Err(Error::invalid(
            "attributes",
            "0..32",
            format!("`attributes` has at most {ATTRIBUTES_MAX} members"),
        ));
    }
    for (name, value) in &given {
        let named = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !named || BUILT_IN.contains(&name.as_str()) {
            let message = format!("`{name}` cannot name an attribute: use a-z, 0-9 and _, and no built-in name");
            return Err(Error::invalid(format!("attributes.{name}"), "name", message));
        }
        if value.len() > TEXT_MAX || value.chars().any(char::is_control) {
            let message = format!("the value of `{name}` is at most {TEXT_MAX} bytes of text");
            return Err(Error::invalid(format!("attributes.{name}"), "0..256", message));
        }
    }
    Ok(given)
}
