//! `Idempotency-Key`: a POST that is sent again is answered again, not done again.
//!
//! The key belongs to the identity and the path, and stands for one body. What succeeded is
//! answered from the record for a day, its `Location` with it, marked `Idempotent-Replayed: true`. Nothing secret is stored:
//! in place of the member that held a secret [`WITHHELD`] says so, and what to do. What failed leaves no record and may be tried again.
//! A request whose process died leaves an unfinished one: whether it took effect could not be
//! told, so its repetition is refused until the day is over.
//!
//! A statement's key goes with it to the data plane, which writes it in the statement's own transaction.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE, header::LOCATION};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::Duration;
use contract::wire::{IDEMPOTENCY_KEY_BYTES_MAX, header};
use contract::{Access, Scope, Timestamp};
use sha2::{Digest, Sha256};

use crate::http::body;
use crate::http::call::Call;
use crate::http::route::{Route, Secret};
use crate::{App, Error, Result, execute};

const HEADER: &str = header::IDEMPOTENCY_KEY;
pub const REPLAYED: &str = header::REPLAYED;
/// The member of a replay that says which secret it does not hold.
pub const WITHHELD: &str = "secret_withheld";
pub const KEY_BYTES_MAX: usize = IDEMPOTENCY_KEY_BYTES_MAX;
const KEPT: Duration = Duration::hours(24);

/// The request that a key stands for.
struct IdempotencyClaim {
    identity: String,
    path: String,
    key: String,
    request_sha256: Vec<u8>,
}

/// Runs the handler, unless the record knows the answer already.
pub async fn once(app: &App, route: &Route, request: Request, next: Next) -> Response {
    match attempt(app, route, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn attempt(app: &App, route: &Route, mut request: Request, next: Next) -> Result<Response> {
    let key = wanted(route, request.headers())?;
    let (Some(key), Some(call)) = (key, request.extensions_mut().get_mut::<Call>()) else {
        return Ok(next.run(request).await);
    };
    if route.keyed {
        call.key = Some(key);
        return Ok(next.run(request).await);
    }
    let identity = call.caller.key_id().map_or_else(|| call.caller.actor_id().to_owned(), ToString::to_string);
    let (parts, body) = request.into_parts();
    let body = body::read(body, body::BYTES_MAX, body::WITHIN).await?;
    let request_sha256 = Sha256::digest(&body).to_vec();
    let claim = IdempotencyClaim { identity, path: parts.uri.path().to_owned(), key, request_sha256 };
    if let Some(replay) = claim.enter(app).await? {
        return Ok(replay);
    }
    // Dropped with the connection, the handler would end half-way and the record stay open.
    let (app, secret) = (app.clone(), route.secret);
    let place = telemetry::here();
    let handler = app.clone().tasks().spawn(place.around(async move {
        let response = next.run(Request::from_parts(parts, Body::from(body))).await;
        claim.leave(&app, response, secret).await
    }));
    handler.await.map_err(|_| Error::Panicked)?
}

/// Does a key count for this route? For a POST that changes something, or runs a statement that may, and has a caller.
pub fn counts(route: &Route) -> bool {
    let changes = route.method == Method::POST && (route.keyed || route.scope != Some(Scope::QueryRead));
    // A body that streams is not kept to be compared.
    let is_file = ["/upload", "/load"].iter().any(|end| route.path.ends_with(end));
    changes && route.access != Access::Public && !route.path.starts_with("/v1/auth/") && !is_file
}

/// The key of a request that it counts for.
fn wanted(route: &Route, headers: &HeaderMap) -> Result<Option<String>> {
    let Some(given) = headers.get(HEADER).filter(|_| counts(route)) else {
        return Ok(None);
    };
    let fits = |key: &&str| (1..=KEY_BYTES_MAX).contains(&key.len());
    let key = given.to_str().ok().filter(fits).ok_or_else(|| {
        let message = format!("`Idempotency-Key` is 1 to {KEY_BYTES_MAX} visible ASCII characters");
        Error::invalid("Idempotency-Key", "1..255", message)
    })?;
    Ok(Some(key.to_owned()))
}

impl IdempotencyClaim {
    /// Opens the record, or answers from it.
    async fn enter(&self, app: &App) -> Result<Option<Response>> {
        let now = app.now();
        let opened = sqlx::query!(
            "insert into idempotency_keys (identity, path, idempotency_key, request_sha256, created_at)
             values ($1, $2, $3, $4, $5)
             on conflict (identity, path, idempotency_key) do update
             set request_sha256 = $4, status = null, body = null, location = null, created_at = $5
             where idempotency_keys.created_at <= $6",
            self.identity,
            self.path,
            self.key,
            self.request_sha256,
            now,
            now - KEPT,
        );
        if opened.execute(app.pool()).await?.rows_affected() == 1 {
            return Ok(None);
        }
        let earlier = sqlx::query!(
            "select request_sha256, status, body, location from idempotency_keys
             where identity = $1 and path = $2 and idempotency_key = $3",
            self.identity,
            self.path,
            self.key,
        )
        .fetch_optional(app.pool())
        .await?;
        match earlier {
            Some(earlier) if earlier.request_sha256 != self.request_sha256 => Err(Error::conflict(
                "idempotency_mismatch",
                "this `Idempotency-Key` was used with another body: use a new one for a new request",
            )),
            Some(earlier) => match earlier.status.zip(earlier.body) {
                Some((status, body)) => replay(status, body, earlier.location).map(Some),
                None => Err(Error::InProgress),
            },
            // It failed between the two statements and may be tried again.
            None => Err(Error::InProgress),
        }
    }

    /// Keeps the answer of a success; forgets a failure.
    async fn leave(&self, app: &App, response: Response, secret: Option<Secret>) -> Result<Response> {
        if !response.status().is_success() {
            self.forget(app).await?;
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, body::BYTES_MAX).await.map_err(Error::internal)?;
        let kept = without(&body, secret)?;
        sqlx::query!(
            "update idempotency_keys set status = $4, body = $5, location = $6
             where identity = $1 and path = $2 and idempotency_key = $3",
            self.identity,
            self.path,
            self.key,
            i16::try_from(parts.status.as_u16()).map_err(Error::internal)?,
            kept,
            parts.headers.get(LOCATION).and_then(|location| location.to_str().ok()),
        )
        .execute(app.pool())
        .await?;
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    async fn forget(&self, app: &App) -> Result<()> {
        execute!(
            app.pool(),
            "delete from idempotency_keys where identity = $1 and path = $2 and idempotency_key = $3",
            self.identity,
            self.path,
            self.key,
        )
    }
}

fn replay(status: i16, body: Vec<u8>, location: Option<String>) -> Result<Response> {
    let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.ok_or_else(|| Error::internal("a stored answer has no status"))?;
    let mut response = if body.is_empty() {
        status.into_response()
    } else {
        (status, [(CONTENT_TYPE, "application/json")], body).into_response()
    };
    if let Some(location) = location {
        response.headers_mut().insert(LOCATION, location.try_into().map_err(Error::internal)?);
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// The answer as it may be stored.
fn without(body: &Bytes, secret: Option<Secret>) -> Result<Vec<u8>> {
    let Some(Secret { member, instead }) = secret.filter(|_| !body.is_empty()) else {
        return Ok(body.to_vec());
    };
    let mut answer: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(body).map_err(Error::internal)?;
    if answer.remove(member).is_some() {
        let said =
            format!("`{member}` was told in the first answer alone, and is not kept: if you have lost it, {instead}");
        answer.insert(WITHHELD.to_owned(), said.into());
    }
    serde_json::to_vec(&answer).map_err(Error::internal)
}

/// Forgets what is older than a day.
pub async fn sweep(app: &App) -> Result<()> {
    let ended: Timestamp = app.now() - KEPT;
    execute!(app.pool(), "delete from idempotency_keys where created_at <= $1", ended)
}
