//! Nobody makes a key, or takes the text of one, that may do more than they may.
//!
//! A person is bounded by their role alone: an admin neither makes nor rotates a key that acts for the owner. A key is
//! bounded by all that it carries: its scopes, its attributes, its agent, its addresses and its end.

use std::collections::BTreeMap;

use contract::caller::{Credential, Scopes};
use contract::network::range;
use contract::{Access, MissingPermission, OrgId, Role, Scope, Timestamp, UserId};
use ipnet::IpNet;
use platform::http::call::Call;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::input::Admitted;
use super::store::{self, KeyRow};
use crate::domain::tenancy::users;

/// The bounds of a key beside its scopes.
struct KeyBounds {
    /// It stands in for a person, who has attributes of their own.
    acts_for_user: bool,
    attributes: BTreeMap<String, String>,
    agent_id: Option<String>,
    agent_framework: Option<String>,
    networks: Vec<IpNet>,
    expires_at: Option<Timestamp>,
}

impl KeyBounds {
    fn of(row: &KeyRow) -> Self {
        Self {
            acts_for_user: row.user_id.is_some(),
            attributes: row.attributes.0.clone(),
            agent_id: row.agent_id.clone(),
            agent_framework: row.agent_framework.clone(),
            networks: row.ip_allowlist.iter().filter_map(|text| range(text)).collect(),
            expires_at: row.expires_at,
        }
    }

    fn agent(&self) -> (Option<&str>, Option<&str>) {
        (self.agent_id.as_deref(), self.agent_framework.as_deref())
    }

    /// Refuses what reaches beyond this.
    fn bounds(&self, other: &Self) -> Result<()> {
        let is_within = |inner: &IpNet| self.networks.iter().any(|outer| outer.contains(inner));
        let ends = self.expires_at.is_none_or(|end| other.expires_at.is_some_and(|other| other <= end));
        let has_addresses = !other.networks.is_empty() && other.networks.iter().all(is_within);
        // Who is no agent sees nothing of what a filter gives to one.
        let is_open = self.acts_for_user && self.agent_id.is_none();
        let says_nothing = self.acts_for_user && self.attributes.is_empty();
        let beyond = if !says_nothing && self.attributes != other.attributes {
            "a key gives away no other attributes than it carries itself"
        } else if !is_open && self.agent() != other.agent() {
            "a key gives away none that is bound to another agent than it is itself"
        } else if !self.networks.is_empty() && !has_addresses {
            "a key gives away none that is used from more addresses than it is itself"
        } else if !ends {
            "a key gives away none that ends later than it does itself"
        } else {
            return Ok(());
        };
        Err(Error::Forbidden(beyond))
    }
}

/// May the caller make this key? What a key as the caller carries and nothing is said of, the new key carries too.
pub async fn may_make(tx: &mut PgConnection, cx: &Call, wanted: &mut Admitted) -> Result<()> {
    may_hold(tx, cx, &wanted.scopes, wanted.user_id.as_ref()).await?;
    let Some(own) = own(tx, cx).await? else { return Ok(()) };
    if wanted.attributes.is_empty() {
        wanted.attributes.clone_from(&own.attributes);
    }
    if wanted.agent_id.is_none() {
        wanted.agent_id.clone_from(&own.agent_id);
    }
    if wanted.agent_framework.is_none() && wanted.agent_id == own.agent_id {
        wanted.agent_framework.clone_from(&own.agent_framework);
    }
    if wanted.ip_allowlist.is_empty() {
        wanted.ip_allowlist.clone_from(&own.networks);
    }
    wanted.expires_at = wanted.expires_at.or(own.expires_at);
    own.bounds(&KeyBounds {
        acts_for_user: wanted.user_id.is_some(),
        attributes: wanted.attributes.clone(),
        agent_id: wanted.agent_id.clone(),
        agent_framework: wanted.agent_framework.clone(),
        networks: wanted.ip_allowlist.clone(),
        expires_at: wanted.expires_at,
    })
}

/// May the caller have a new text of this key?
pub async fn may_take(tx: &mut PgConnection, cx: &Call, row: &KeyRow) -> Result<()> {
    let scopes = Scopes::try_from(row.scopes.clone()).map_err(Error::internal)?;
    let user_id = row.user_id.clone().map(UserId::from);
    if let Some(user_id) = &user_id
        && role(tx, cx.org_id(), user_id).await?.is_none()
    {
        return Err(Error::conflict("user_suspended", "the key acts for a suspended user: reactivate them first"));
    }
    may_hold(tx, cx, &scopes, user_id.as_ref()).await?;
    match own(tx, cx).await? {
        Some(own) => own.bounds(&KeyBounds::of(row)),
        None => Ok(()),
    }
}

async fn may_hold(tx: &mut PgConnection, cx: &Call, scopes: &Scopes, user_id: Option<&UserId>) -> Result<()> {
    if let Credential::Key { scopes: own, .. } = &cx.caller.credential
        && let Some(scope) = Scope::ALL.iter().find(|scope| scopes.grants(**scope) && !own.grants(**scope))
    {
        return Err(Error::Lacks(MissingPermission::Scope(*scope)));
    }
    let Some(user_id) = user_id else { return is_theirs_to_give(cx, scopes) };
    if !matches!(cx.caller.role, Role::Owner | Role::Admin) {
        return Err(Error::Lacks(MissingPermission::Role { own: cx.caller.role, access: Access::Admin }));
    }
    if acts_for(tx, cx.org_id(), user_id).await? == Role::Owner && cx.caller.role != Role::Owner {
        return Err(Error::Forbidden("a key that acts for the owner is the owner's to make and to rotate"));
    }
    Ok(())
}

/// A key of nobody is bound by its scopes alone, so a person gives it none that their role has no use for: "`owner` has
/// full access including billing".
fn is_theirs_to_give(cx: &Call, scopes: &Scopes) -> Result<()> {
    let is_of_billing = scopes.grants(Scope::BillingRead) || scopes.grants(Scope::BillingWrite);
    if is_of_billing && cx.caller.user_id.is_some() && cx.caller.role != Role::Owner {
        return Err(Error::Forbidden("a key for billing is the owner's to make and to rotate"));
    }
    Ok(())
}

/// What the caller carries, if it is a key.
async fn own(tx: &mut PgConnection, cx: &Call) -> Result<Option<KeyBounds>> {
    let Credential::Key { key_id, env_id, .. } = &cx.caller.credential else { return Ok(None) };
    let row = store::find(tx, env_id, key_id).await?.ok_or(Error::NotFound { kind: "API key" })?;
    Ok(Some(KeyBounds::of(&row)))
}

/// The role of a user whom a key may act for.
pub async fn acts_for(tx: &mut PgConnection, org_id: &OrgId, user_id: &UserId) -> Result<Role> {
    role(tx, org_id, user_id).await?.ok_or_else(|| {
        Error::invalid("user_id", "user", "`user_id` is not an active or invited user of the organization")
    })
}

async fn role(tx: &mut PgConnection, org_id: &OrgId, user_id: &UserId) -> Result<Option<Role>> {
    let member = users::member(tx, org_id, user_id).await?;
    let member = member.filter(|member| member.status == "active" || member.status == "invited");
    Ok(member.map(|member| member.role))
}
