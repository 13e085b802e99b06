//! Who a connection is: "user is a user id or API key prefix; password is the API key".
//!
//! The password alone decides. The user name may be the key's own prefix, the user the key acts
//! for, or a plain word, as drivers and SDKs send (`agent`, `admin`); what belongs to somebody
//! else is refused as a wrong password is.

use std::net::{IpAddr, SocketAddr};

use contract::governance::Key;
use contract::key::looks_like_key;
use contract::wire::Who;
use contract::{Caller, Code, Governance};

use super::SharedConnections;
use super::failure::ErrorResponse;
use super::identity;
use super::message::MessageFields;
use super::reply;
use super::settings::SessionSettings;
use super::startup::{OpenedConnection, Parameters};
use super::wire::ConnectionEnd;

/// A key has 72 characters; nobody's password needs more than this.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// Somebody who may ask.
pub struct Login {
    pub who: Who,
    /// Prefix of the key's secret that was shown.
    pub secret: Option<String>,
    pub peer: Option<IpAddr>,
    pub settings: SessionSettings,
    pub database: Option<String>,
}

/// Checks the startup packet, asks for the key, and knows the caller. Says nothing yet.
pub async fn login(
    opened: &mut OpenedConnection,
    peer: SocketAddr,
    hall: &SharedConnections,
) -> Result<Login, ConnectionEnd> {
    let fatal = |failure: ErrorResponse| ConnectionEnd::Fatal(failure);
    let parameters = &opened.parameters;
    let may_be_plain = hall.context.local && peer.ip().is_loopback();
    if !opened.secure && !may_be_plain {
        let failure = ErrorResponse::new(Code::MissingAuth, "the connection is not encrypted").with_state("28000");
        return Err(ConnectionEnd::Fatal(failure.with_hint("connect with sslmode=require")));
    }
    if parameters.get("replication").is_some_and(|value| value != "false") {
        return Err(fatal(ErrorResponse::unsupported("replication")));
    }
    let settings = settings(parameters).map_err(fatal)?;
    let user = parameters.get("user").unwrap_or_default().to_owned();
    if parameters.minor > 0 || !parameters.options.is_empty() {
        reply::negotiate_version(&mut opened.wire.out, 0, &parameters.options);
    }
    let database = parameters.get("database").map(str::to_owned);
    let (who, secret) = match &hall.context.local_trust {
        Some(who) if peer.ip().is_loopback() => {
            hall.context
                .sessions
                .standing(who, None, Some(peer.ip()))
                .map_err(|error| ConnectionEnd::Fatal(ErrorResponse::from(&error)))?;
            (who.clone(), None)
        }
        _ => by_key(opened, &user, peer.ip(), hall).await?,
    };
    let rules = hall.context.sessions.rules().map_err(|error| ConnectionEnd::Fatal(ErrorResponse::from(&error)))?;
    let known = database.as_ref().is_none_or(|name| hall.context.local || *name == rules.environment.slug);
    if !known {
        let name = database.unwrap_or_default();
        return Err(fatal(ErrorResponse::new(Code::EnvNotFound, format!("database {name:?} does not exist here"))));
    }
    Ok(Login { who, secret, peer: Some(peer.ip()), settings, database })
}

async fn by_key(
    opened: &mut OpenedConnection,
    user: &str,
    peer: IpAddr,
    hall: &SharedConnections,
) -> Result<(Who, Option<String>), ConnectionEnd> {
    reply::authentication_cleartext(&mut opened.wire.out);
    opened.wire.flush().await?;
    let (kind, body) = opened.wire.frame(PASSWORD_BYTES_MAX).await?;
    if kind != b'p' {
        return Err(ConnectionEnd::Fatal(ErrorResponse::protocol("a password is expected")));
    }
    let key = MessageFields(body).text().map_err(ConnectionEnd::Fatal)?;
    let admitted = hall
        .context
        .sessions
        .admit(&key, Some(peer))
        .await
        .map_err(|error| ConnectionEnd::Fatal(ErrorResponse::from(&error)))?;
    let rules = hall.context.sessions.rules().map_err(|error| ConnectionEnd::Fatal(ErrorResponse::from(&error)))?;
    if !may_be_called(user, &admitted.who, &admitted.caller, &rules) {
        return Err(ConnectionEnd::Fatal(ErrorResponse::from(&crate::Error::Caller(Code::InvalidKey))));
    }
    Ok((admitted.who, admitted.secret))
}

/// Is this user name the caller's own, or nobody's?
fn may_be_called(user: &str, who: &Who, caller: &Caller, rules: &Governance) -> bool {
    let own_key: Option<&Key> = match who {
        Who::Key { key_id } => rules.key(key_id),
        Who::Session { .. } => None,
    };
    if own_key.is_some_and(|key| key.secrets.iter().any(|secret| secret.prefix == user)) {
        return true;
    }
    if caller.user_id.as_ref().is_some_and(|id| id.as_str() == user) {
        return true;
    }
    !looks_like_key(user) && !rules.members.keys().any(|id| id.as_str() == user)
}

/// What the startup packet sets: its own parameters, and those inside `options`.
fn settings(parameters: &Parameters) -> Result<SessionSettings, ErrorResponse> {
    let mut settings = SessionSettings::new(parameters.get("user").unwrap_or_default());
    let bad = |message| ErrorResponse::new(Code::InvalidParams, message);
    for (name, value) in &parameters.pairs {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => {
                for (name, value) in identity::options(value).map_err(bad)? {
                    settings.set(&name, Some(&value))?;
                }
            }
            name => {
                settings.set(name, Some(value))?;
            }
        }
    }
    Ok(settings.logged_in())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analyst_id, governance, owner_id};

    fn caller(key_id: &contract::KeyId, rules: &Governance) -> Caller {
        rules.caller_of_key(rules.key(key_id).unwrap(), None, None, chrono::DateTime::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_name_is_the_callers_own_or_a_plain_word() {
        let rules = governance();
        let who = Who::Key { key_id: owner_id() };
        let own = rules.key(&owner_id()).unwrap().secrets[0].prefix.clone();
        let other = rules.key(&analyst_id()).unwrap().secrets[0].prefix.clone();
        let cases = [
            ("agent", true),
            ("", true),
            ("u-owner", true),
            (own.as_str(), true),
            ("u-analyst", false),
            (other.as_str(), false),
            ("svc_test_nobodys", false),
        ];
        for (user, expected) in cases {
            assert_eq!(may_be_called(user, &who, &caller(&owner_id(), &rules), &rules), expected, "{user}");
        }
    }

    #[test]
    fn identity_comes_from_parameters_and_options() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pairs = vec![
            pair("user", "agent"),
            pair("client_encoding", "'utf-8'"),
            pair("acme_framework", "crew"),
            pair("options", "-c acme_agent_id=a7 -c acme.api_key=svc_live_x -c search_path=s"),
        ];
        let settings = settings(&Parameters { pairs, ..Parameters::default() }).unwrap();
        assert_eq!(settings.identity().agent_id.as_deref(), Some("a7"));
        assert_eq!(settings.identity().framework.as_deref(), Some("crew"));
        assert_eq!(settings.schemas().0, "s");
        assert!(!format!("{settings:?}").contains("svc_live_x"));
    }
}
