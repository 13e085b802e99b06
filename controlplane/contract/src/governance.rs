//! The governance snapshot: everything a data plane must know of its environment, whole, with a
//! version. A data plane that has one can rule on its own; one that never had any refuses.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::caller::{Credential, Limits};
use crate::capability::Confined;
use crate::policy::{AbacPolicy, Policy};
use crate::{
    Caller, Code, EnvId, EnvironmentSettings, JitRequestId, KeyId, OrgId, Role, Scopes, StorageIntegration, Tier,
    Timestamp, UserId,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Governance {
    /// Grows with every change that a data plane must learn of.
    pub version: u64,
    pub environment: Environment,
    pub organization: Organization,
    /// Pepper of the check characters of keys, hex.
    pub key_pepper: HexKey,
    /// Key of `hash` masks, hex.
    pub mask_key: HexKey,
    pub members: BTreeMap<UserId, Member>,
    pub keys: Vec<Key>,
    pub policies: Vec<Policy>,
    pub abac_policies: Vec<AbacPolicy>,
    /// Roles that users hold here for a while.
    #[serde(default)]
    pub elevations: Vec<Elevation>,
    /// The agents that may do no more than they were granted.
    #[serde(default)]
    pub agent_capabilities: Confined,
    /// The governed runtime is on: its tables are there to be read.
    #[serde(default)]
    pub runtime: bool,
    /// By which files elsewhere are read and written.
    #[serde(default)]
    pub storage_integrations: Vec<StorageIntegration>,
    /// Those that are databases, whose tables are read in schemas of their names. A data plane that knows none passes
    /// over them.
    #[serde(default)]
    pub attached: Vec<StorageIntegration>,
    /// Those of kinds that came later. A data plane that knows none of these passes over them.
    #[serde(default)]
    pub later_integrations: Vec<StorageIntegration>,
}

/// A role that a user was given in one environment until a moment. Its end is data: it ends by the
/// data plane's clock, with the control plane away too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elevation {
    pub request_id: JitRequestId,
    pub user_id: UserId,
    pub role: Role,
    pub effective_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Elevation {
    pub fn holds(&self, now: Timestamp) -> bool {
        self.effective_at <= now && now < self.expires_at
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub env_id: EnvId,
    /// The name of the one database that callers see.
    pub slug: String,
    pub status: EnvironmentStatus,
    #[serde(flatten)]
    pub settings: EnvironmentSettings,
    /// Addresses that may connect to its data plane; none: any may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_networks: Vec<IpNet>,
}

impl Environment {
    /// May somebody connect to the data plane from there? This machine may: whoever comes by way of it has been let in
    /// by whoever guards it, as `kubectl port-forward` is.
    pub fn admits(&self, peer: Option<IpAddr>) -> bool {
        let listed = |peer: IpAddr| peer.is_loopback() || self.allowed_networks.iter().any(|net| net.contains(&peer));
        self.allowed_networks.is_empty() || peer.map(|ip| ip.to_canonical()).is_some_and(listed)
    }
}

crate::caller::words!(
    /// "`provisioning`, `active`, `suspended`, `decommissioning`".
    EnvironmentStatus, "status", {
        Provisioning = "provisioning",
        Active = "active",
        Suspended = "suspended",
        Decommissioning = "decommissioning",
    }
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organization {
    pub org_id: OrgId,
    /// Only `active` may query.
    pub status: String,
    pub tier: Tier,
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub email: String,
    pub role: Role,
    /// `active`, `invited` or `suspended`.
    pub status: String,
    pub attributes: BTreeMap<String, String>,
}

/// A key that is not revoked. Its secrets are more than one while a rotation's grace runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    pub key_id: KeyId,
    pub name: String,
    pub secrets: Vec<KeySecret>,
    pub scopes: Scopes,
    pub ip_allowlist: Vec<IpNet>,
    pub expires_at: Option<Timestamp>,
    /// The user the key acts for, with the role and attributes that user has now.
    pub user_id: Option<UserId>,
    /// Added to the user's attributes; never replaces one.
    pub attributes: BTreeMap<String, String>,
    /// A key made for one agent: any other declaration is refused.
    pub agent_id: Option<String>,
    pub agent_framework: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySecret {
    /// Live or test prefix and public id: finds the secret.
    pub prefix: String,
    /// Argon2id, PHC string.
    pub hash: String,
    /// Old secrets end here.
    pub not_after: Option<Timestamp>,
}

/// 32 bytes, hex in JSON, never printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HexKey(pub [u8; 32]);

impl std::fmt::Debug for HexKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl TryFrom<String> for HexKey {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut key = [0; 32];
        hex::decode_to_slice(text, &mut key)?;
        Ok(Self(key))
    }
}

impl From<HexKey> for String {
    fn from(key: HexKey) -> Self {
        hex::encode(key.0)
    }
}

impl Governance {
    /// The storage integration of a name, whatever its letters' case.
    pub fn storage_integration(&self, name: &str) -> Option<&StorageIntegration> {
        let mut all = self.storage_integrations.iter().chain(&self.later_integrations);
        all.find(|integration| integration.name.eq_ignore_ascii_case(name))
    }

    /// The database that is attached under a name, whatever its letters' case.
    pub fn attached_database(&self, name: &str) -> Option<&StorageIntegration> {
        self.attached.iter().find(|integration| integration.name.eq_ignore_ascii_case(name))
    }

    /// The key and the secret that a prefix names.
    pub fn key_by_prefix(&self, prefix: &str) -> Option<(&Key, &KeySecret)> {
        self.keys
            .iter()
            .find_map(|key| key.secrets.iter().find(|secret| secret.prefix == prefix).map(|secret| (key, secret)))
    }

    pub fn key(&self, key_id: &KeyId) -> Option<&Key> {
        self.keys.iter().find(|key| key.key_id == *key_id)
    }

    /// The caller behind a key as of now. `secret` is the one that was presented, if this is
    /// the check of a credential and not of an open session's next statement.
    pub fn caller_of_key(
        &self,
        key: &Key,
        secret: Option<&KeySecret>,
        peer: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Caller, Code> {
        let place = (&self.organization.org_id, &self.environment.env_id);
        let caller = key.caller(place, self.member_of(key), secret, peer, now)?;
        Ok(self.raised(caller, now))
    }

    /// Why there is no caller behind a key as of now, if there is none.
    pub fn refuses_key(
        &self,
        key: &Key,
        secret: Option<&KeySecret>,
        peer: Option<IpAddr>,
        now: Timestamp,
    ) -> Option<Code> {
        key.admits(self.member_of(key), secret, peer, now).err()
    }

    fn member_of(&self, key: &Key) -> Option<&Member> {
        key.user_id.as_ref().and_then(|user_id| self.members.get(user_id))
    }

    /// The caller behind a session that the control plane has checked.
    pub fn caller_of_user(
        &self,
        user_id: &UserId,
        session_id: crate::SessionId,
        now: Timestamp,
    ) -> Result<Caller, Code> {
        let member = self.members.get(user_id).filter(|member| member.stands(false)).ok_or(Code::InvalidToken)?;
        let caller = Caller {
            org_id: self.organization.org_id.clone(),
            user_id: Some(user_id.clone()),
            email: Some(member.email.clone()),
            role: member.role,
            attributes: member.attributes.clone(),
            credential: Credential::Session { session_id },
        };
        Ok(self.raised(caller, now))
    }

    /// The caller with the highest role that they hold here now.
    fn raised(&self, mut caller: Caller, now: Timestamp) -> Caller {
        let Some(user_id) = &caller.user_id else { return caller };
        let own = self.elevations.iter().filter(|elevation| elevation.user_id == *user_id && elevation.holds(now));
        caller.role = own.map(|elevation| elevation.role).fold(caller.role, Role::raised_to);
        caller
    }
}

impl Key {
    /// The caller behind this key as of now. `member` is the user the key acts for, if that user
    /// is still there. The control plane asks with rows, a data plane with its snapshot.
    pub fn caller(
        &self,
        (org_id, env_id): (&OrgId, &EnvId),
        member: Option<&Member>,
        secret: Option<&KeySecret>,
        peer: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Caller, Code> {
        let member = self.admits(member, secret, peer, now)?;
        let mut attributes = self.attributes.clone();
        if let Some(member) = member {
            attributes.extend(member.attributes.clone());
        }
        Ok(Caller {
            org_id: org_id.clone(),
            user_id: self.user_id.clone(),
            email: member.map(|member| member.email.clone()),
            role: member.map_or(Role::ServiceAccount, |member| member.role),
            attributes,
            credential: Credential::Key {
                key_id: self.key_id.clone(),
                env_id: env_id.clone(),
                scopes: self.scopes.clone(),
                acts_for_user: self.user_id.is_some(),
            },
        })
    }

    /// The user that it acts for, if it lets a caller in from there as of now.
    fn admits<'m>(
        &self,
        member: Option<&'m Member>,
        secret: Option<&KeySecret>,
        peer: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Option<&'m Member>, Code> {
        let past = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
        if past(self.expires_at) || secret.is_some_and(|secret| past(secret.not_after)) {
            return Err(Code::ExpiredKey);
        }
        // A loopback peer written as an IPv6-mapped address is still that IPv4 address.
        let peer = peer.map(|ip| ip.to_canonical());
        let listed = |ip: IpAddr| self.ip_allowlist.iter().any(|net| net.contains(&ip));
        if !self.ip_allowlist.is_empty() && !peer.is_some_and(listed) {
            return Err(Code::AddressDenied);
        }
        match &self.user_id {
            None => Ok(None),
            Some(_) => member.filter(|member| member.stands(true)).map(Some).ok_or(Code::InvalidKey),
        }
    }
}

impl Member {
    /// A suspended or removed user stands for nobody; an invited one only behind a key.
    fn stands(&self, behind_key: bool) -> bool {
        self.status == "active" || (behind_key && self.status == "invited")
    }
}

#[cfg(test)]
mod tests;
