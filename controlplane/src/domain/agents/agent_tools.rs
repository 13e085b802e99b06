//! Tools of the agent tool server, called for the REST routes that answer the same.
//!
//! Each request becomes a call of the tool in the environment's data plane, for the caller that the
//! guard has let in. The environment is the key's, else `?env_id=`, else the organization's only one;
//! so it is for every other path that names none (`environment`).

use contract::caller::Credential;
use contract::{Code, EnvId};
use platform::http::call::Call;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::environments;
use crate::domain::query::told_of;

/// These codes, and what any call of a tool may fail of besides what every request may.
macro_rules! refusals {
    ($($code:ident),*) => {
        &[
            $(contract::Code::$code,)*
            contract::Code::PolicyDenied, contract::Code::QueryTimeout, contract::Code::QuotaExceeded,
            contract::Code::ProxyUnreachable, contract::Code::CircuitOpen,
        ]
    };
}
pub(crate) use refusals;

pub const REFUSALS: &[Code] = refusals!();

/// Which environment is meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPlace {
    pub env_id: Option<EnvId>,
}

/// The same, of a list with pages.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ListPlace {
    pub env_id: Option<EnvId>,
}

/// Calls a tool where the data is.
pub async fn tool<T: DeserializeOwned>(
    cx: &Call,
    asked: Option<EnvId>,
    name: &str,
    agent_id: Option<String>,
    arguments: Value,
) -> Result<T> {
    let env_id = environment(cx, asked).await?;
    let body = json!({"agent_id": agent_id, "arguments": arguments});
    told_of(cx, &env_id, &format!("tools/{name}"), &body).await
}

/// Where: the key's environment, the one that is named, or the only one there is.
pub async fn environment(cx: &Call, asked: Option<EnvId>) -> Result<EnvId> {
    if let Credential::Key { env_id, .. } = &cx.caller.credential {
        return match asked {
            Some(asked) if asked != *env_id => Err(Error::EnvironmentMismatch),
            _ => Ok(env_id.clone()),
        };
    }
    let own = environments::versions_in(cx.app.pool(), cx.org_id()).await?;
    let own: Vec<EnvId> = own.into_iter().map(|(env_id, _)| env_id).collect();
    match (asked, own.as_slice()) {
        (Some(asked), own) if own.contains(&asked) => Ok(asked),
        (None, [only]) => Ok(only.clone()),
        (Some(_), _) | (None, []) => Err(Error::EnvironmentNotFound),
        (None, _) => Err(several()),
    }
}

fn several() -> Error {
    let message = "`env_id` says which environment is meant: send `?env_id=`, or a key, which is of one environment";
    Error::invalid("env_id", "required", message)
}

/// What a request says, as a tool's arguments: without the members that were not given and without `others`, and with
/// these.
pub fn arguments_of(request: &impl Serialize, others: &[&str], more: Value) -> Value {
    let mut arguments = present(json!(request));
    if let (Some(members), Value::Object(more)) = (arguments.as_object_mut(), more) {
        members.retain(|name, _| !others.contains(&name.as_str()));
        members.extend(more);
    }
    arguments
}

/// Without the members that were not given.
pub fn present(mut arguments: Value) -> Value {
    if let Some(members) = arguments.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    arguments
}
