//! Conditional requests: `ETag`, `If-None-Match`, `If-Match`.
//!
//! A tag is `W/"<version>;<hash>"`: the record's version, which is its `updated_at`, and a hash of the
//! answer. A read whose answer has the tag that the caller holds already is 304. A change is made only
//! to the version that `If-Match` names, and is 412 otherwise: two admins cannot overwrite each other.
//! What a list shows of a record suffices: `If-Match: W/"<updated_at>"`.
//!
//! The version is compared by the handler, under the lock that the change is made under
//! ([`ExpectedVersion::holds`]). A route that compares none refuses the header: who sends it believes to be
//! safe.

use axum::body::{Body, HttpBody};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::SecondsFormat;
use contract::{Scope, Timestamp};
use http_body_util::BodyExt;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::http::route::Route;
use crate::{Error, Result};

/// A larger answer has no tag.
const TAGGED_BYTES_MAX: u64 = 1024 * 1024;
const TAGS_MAX: usize = 20;
/// Of the hash: enough to tell answers of one address apart.
const HASH_BYTES: usize = 12;

/// The version that a change is meant for; none is any.
#[derive(Debug, Clone, Default)]
pub struct ExpectedVersion(Option<Vec<String>>);

impl ExpectedVersion {
    /// Reads `If-Match`, which only a route that compares versions takes.
    pub fn read(route: &Route, headers: &HeaderMap) -> Result<Self> {
        let Some(tags) = tags(headers, &IF_MATCH, "If-Match")? else {
            return Ok(Self(None));
        };
        if !route.versioned {
            let message = "`If-Match` is compared by no other route than those that change a versioned record";
            return Err(Error::invalid("If-Match", "absent", message));
        }
        let version = |tag: String| tag.split(';').next().unwrap_or_default().to_owned();
        let any = tags.iter().any(|tag| tag == "*");
        Ok(Self((!any).then(|| tags.into_iter().map(version).collect())))
    }

    /// 412 unless the record, which is locked, still has a version that was named.
    pub fn holds(&self, updated_at: Timestamp) -> Result<()> {
        let version = updated_at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let is_named = self.0.as_ref().is_none_or(|versions| versions.contains(&version));
        is_named.then_some(()).ok_or(Error::Stale { version })
    }
}

/// Tags of a header, without quotes and the mark of weakness.
fn tags(headers: &HeaderMap, name: &axum::http::HeaderName, shown: &'static str) -> Result<Option<Vec<String>>> {
    let refused = || {
        let message = format!("`{shown}` is `*`, or up to {TAGS_MAX} tags such as W/\"…\", with commas between");
        Error::invalid(shown, "entity tags", message)
    };
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        for tag in value.to_str().map_err(|_| refused())?.split(',').map(str::trim) {
            let quoted = tag.strip_prefix("W/").unwrap_or(tag);
            let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            found.push(if tag == "*" { tag } else { inner.ok_or_else(refused)? }.to_owned());
        }
    }
    if found.len() > TAGS_MAX {
        return Err(refused());
    }
    Ok((!found.is_empty()).then_some(found))
}

/// What the caller holds already, for [`answered`]. A header that cannot be read holds nothing.
pub fn held(headers: &HeaderMap) -> Vec<String> {
    tags(headers, &IF_NONE_MATCH, "If-None-Match").ok().flatten().unwrap_or_default()
}

/// Do answers of this route have tags? Those that tell of records; none that holds a secret.
pub fn tags_answers(route: &Route) -> bool {
    let tells = route.method == Method::GET || route.versioned;
    tells && route.secret.is_none() && route.scope != Some(Scope::QueryRead) && route.path.starts_with("/v")
}

/// The answer with its tag; 304 if it is a read and the caller holds it.
pub async fn answered(route: &Route, held: &[String], response: Response) -> Response {
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let is_small = response.body().size_hint().exact().is_some_and(|size| size <= TAGGED_BYTES_MAX);
    if !tags_answers(route) || response.status() != StatusCode::OK || !is_json || !is_small {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return Error::internal(error).into_response(),
    };
    let tag = tag(&bytes);
    if let Ok(value) = HeaderValue::from_str(&format!("W/\"{tag}\"")) {
        parts.headers.insert(ETAG, value);
    }
    if route.method == Method::GET && held.iter().any(|held| *held == tag || held == "*") {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(CONTENT_TYPE);
        parts.headers.remove(CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// The version, where the answer is a record that has one.
#[derive(Deserialize)]
struct Versioned {
    updated_at: String,
}

fn tag(body: &[u8]) -> String {
    let version = serde_json::from_slice(body).map_or_else(|_| String::new(), |Versioned { updated_at }| updated_at);
    let hash = Sha256::digest(body);
    format!("{version};{}", hex::encode(hash.get(..HASH_BYTES).unwrap_or_default()))
}
