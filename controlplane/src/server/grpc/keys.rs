//! Procedures that the operator calls about keys that were written as resources (proto/operator.proto).
//!
//! Only the operator's own certificate is served: it carries that one name and no other.

use contract::wire;
use platform::{App, Error};
use tonic::{Request, Response, Status};

use crate::domain::api_keys::resource::{self, KeyReply, KeySpec};

/// The messages and the service, made from the one proto.
pub mod proto {
    #![expect(clippy::pedantic, clippy::allow_attributes, reason = "generated")]
    tonic::include_proto!("sluice.operator.v1");
}

use proto::keys_server::{Keys as Service, KeysServer};
use proto::{DeliveredRequest, Key, PutRequest, RevokeRequest, key};

/// A message describes one key.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// A uid or another id that is longer is none of ours.
const ID_BYTES_MAX: usize = 200;

struct Keys {
    app: App,
}

pub fn service(app: App) -> KeysServer<impl Service> {
    KeysServer::new(Keys { app }).max_decoding_message_size(MESSAGE_BYTES_MAX)
}

#[tonic::async_trait]
impl Service for Keys {
    async fn put(&self, request: Request<PutRequest>) -> Result<Response<Key>, Status> {
        let asked = of_operator(request)?;
        let wanted = KeySpec {
            resource_uid: id("resource_uid", asked.resource_uid)?,
            env_id: id("env_id", asked.env_id)?.into(),
            name: asked.name,
            scopes: asked.scopes,
            ip_allowlist: asked.ip_allowlist,
            expires_in_days: asked.expires_in_days.map(i64::from),
            user_id: asked.user_id.map(|given| id("user_id", given)).transpose()?.map(Into::into),
            key_id: asked.key_id.map(|given| id("key_id", given)).transpose()?.map(Into::into),
            rotation_id: asked.rotation_id.filter(|id| !id.is_empty()),
            grace_period_hours: i64::from(asked.grace_period_hours),
            text_wanted: asked.text_wanted,
        };
        self.answer(resource::put(&self.app, &wanted).await)
    }

    async fn delivered(&self, request: Request<DeliveredRequest>) -> Result<Response<Key>, Status> {
        let asked = of_operator(request)?;
        let uid = id("resource_uid", asked.resource_uid)?;
        let rotation_id = asked.rotation_id.filter(|id| !id.is_empty());
        self.answer(resource::delivered(&self.app, &uid, rotation_id.as_deref()).await)
    }

    async fn revoke(&self, request: Request<RevokeRequest>) -> Result<Response<Key>, Status> {
        let asked = of_operator(request)?;
        let uid = id("resource_uid", asked.resource_uid)?;
        // which key it names by now does not matter
        self.answer(resource::revoke(&self.app, &uid).await)
    }
}

impl Keys {
    fn answer(&self, told: platform::Result<Option<KeyReply>>) -> Result<Response<Key>, Status> {
        let told = told.map_err(|error| refused(&error))?;
        Ok(Response::new(told.map_or_else(Key::default, |told| self.key(told))))
    }

    fn key(&self, told: KeyReply) -> Key {
        let status = match told.row.status(self.app.now()) {
            "active" => key::Status::Active,
            "expired" => key::Status::Expired,
            _ => key::Status::Revoked,
        };
        let expires_at = told.row.expires_at.map(|at| at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true));
        Key {
            key_id: told.row.key_id.into(),
            prefix: told.row.prefix,
            status: status.into(),
            expires_at: expires_at.unwrap_or_default(),
            text: told.text.map(|text| text.expose().clone()),
            rotation_id: told.rotation_id.unwrap_or_default(),
        }
    }
}

/// The message, if the operator sent it.
pub(super) fn of_operator<T>(request: Request<T>) -> Result<T, Status> {
    let certificates =
        request.peer_certs().ok_or_else(|| Status::unauthenticated("a client certificate is required"))?;
    let leaf = certificates.first().ok_or_else(|| Status::unauthenticated("a client certificate is required"))?;
    let is_operator = super::only_name(leaf).as_deref() == Some(wire::OPERATOR_NAME);
    is_operator.then(|| request.into_inner()).ok_or_else(|| Status::permission_denied("only the operator is served"))
}

pub(super) fn id(field: &str, given: String) -> Result<String, Status> {
    let fits = (1..=ID_BYTES_MAX).contains(&given.len()) && !given.contains('\0');
    if fits { Ok(given) } else { Err(Status::invalid_argument(format!("{field} is 1 to {ID_BYTES_MAX} bytes"))) }
}

/// What kind of refusal it is decides whether the operator tries again.
pub(super) fn refused(error: &Error) -> Status {
    let message = error.problem().message;
    match error {
        Error::Invalid { .. } => Status::invalid_argument(message),
        Error::TierLimit { .. } => Status::resource_exhausted(message),
        Error::EnvironmentNotFound | Error::NotFound { .. } => Status::not_found(message),
        Error::Conflict { reason: "name_taken", .. } => Status::already_exists(message),
        Error::Forbidden(_) | Error::Conflict { .. } => Status::failed_precondition(message),
        _ => {
            tracing::error!(error = error.with_sources(), "a call of the operator's failed");
            Status::unavailable(message)
        }
    }
}

#[cfg(test)]
mod tests;
