//! Pages: `{data, pagination: {cursor, has_more, total}}`, "`limit` (integer, default 50, max 200)
//! and `cursor` (string)".
//!
//! Pages are keyset pages over (`created_at`, id). The cursor is opaque: base64url of
//! `{k: [created_at, id], f: hash of path and filters, v: 1}` and a truncated HMAC over it, so a
//! cursor of another list, of other filters, or of somebody's making is refused with 400.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Timestamp;
use contract::secrets::hmac_sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::http::json::Json;
use crate::http::signature::{Answers, Signature, Span, Takes};
use crate::{App, Error, Result};

const MAC_BYTES: usize = 16;

const SPAN: Span = Span { default: 50, max: 200, capped: false };
/// What does not tell one list from another.
const NOT_FILTERS: [&str; 4] = ["limit", "cursor", "offset", "envelope"];

/// The page that is asked for.
#[derive(Debug, Clone)]
pub struct PageRequest {
    limit: i64,
    after: Option<(Timestamp, String)>,
    filters: String,
    key: [u8; 32],
}

#[derive(Debug, Serialize, Deserialize)]
struct Cursor {
    k: (Timestamp, String),
    f: String,
    v: u8,
}

impl PageRequest {
    /// The last row of the page before: its time.
    pub fn after_time(&self) -> Option<Timestamp> {
        self.after.as_ref().map(|(time, _)| *time)
    }

    /// The last row of the page before: its id.
    pub fn after_id(&self) -> Option<&str> {
        self.after.as_ref().map(|(_, id)| id.as_str())
    }

    /// Rows to fetch: one more than the page holds tells whether there are more.
    pub fn fetch(&self) -> i64 {
        self.limit.saturating_add(1)
    }

    /// The page made of the rows fetched; `mark` gives the key that a row sorts by.
    pub fn of<R, T>(
        &self,
        mut rows: Vec<R>,
        total: i64,
        mark: impl Fn(&R) -> (Timestamp, String),
        view: impl Fn(R) -> T,
    ) -> Paged<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let cursor = if has_more { rows.last().map(|row| self.seal(mark(row))) } else { None };
        Paged {
            data: rows.into_iter().map(view).collect(),
            pagination: Pagination { cursor, has_more, total: total.max(0) },
        }
    }

    pub fn asked(uri: &Uri, key: [u8; 32], span: Span) -> Result<Self> {
        let axum::extract::Query(pairs) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| Error::invalid("query", "format", "the query part of the URL cannot be read"))?;
        let value = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let limit = value("limit").map_or(Ok(span.default), |text| {
            let most = if span.capped { i64::MAX } else { span.max };
            let given = text.parse().ok().filter(|limit| (1..=most).contains(limit));
            let refused = || {
                let message = format!("`limit` is an integer from 1 to {}", span.max);
                Error::invalid("limit", format!("1..{}", span.max), message)
            };
            given.map(|limit: i64| limit.min(span.max)).ok_or_else(refused)
        })?;
        let mut filters: Vec<_> = pairs.iter().filter(|(n, _)| !NOT_FILTERS.contains(&n.as_str())).cloned().collect();
        filters.sort();
        let filters = hex::encode(hmac_sha256(&key, &[uri.path().as_bytes(), format!("{filters:?}").as_bytes()]));
        let mut page = Self { limit, after: None, filters, key };
        page.after = value("cursor").map(|text| page.open(text)).transpose()?;
        Ok(page)
    }

    fn seal(&self, k: (Timestamp, String)) -> String {
        let cursor = Cursor { k, f: self.filters.clone(), v: 1 };
        let mut bytes = serde_json::to_vec(&cursor).unwrap_or_default();
        let mac = hmac_sha256(&self.key, &[&bytes]);
        bytes.extend(mac.iter().take(MAC_BYTES));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn open(&self, text: &str) -> Result<(Timestamp, String)> {
        let refused =
            || Error::invalid("cursor", "cursor", "`cursor` is not one that this list gave for these filters");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| refused())?;
        let split = bytes.len().checked_sub(MAC_BYTES).ok_or_else(refused)?;
        let (body, mac) = bytes.split_at(split);
        let expected = hmac_sha256(&self.key, &[body]);
        let genuine = expected.get(..MAC_BYTES).is_some_and(|expected| bool::from(expected.ct_eq(mac)));
        let cursor: Cursor = serde_json::from_slice(body).map_err(|_| refused())?;
        if !genuine || cursor.v != 1 || cursor.f != self.filters {
            return Err(refused());
        }
        Ok(cursor.k)
    }
}

impl FromRequestParts<App> for PageRequest {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        Self::asked(&parts.uri, app.keyring().cursor_key(), SPAN)
    }
}

impl Takes for PageRequest {
    fn takes(said: &mut Signature<'_>) {
        said.page = Some(SPAN);
    }
}

/// A list as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Paged<T> {
    pub data: Vec<T>,
    pub pagination: Pagination,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Pagination {
    pub cursor: Option<String>,
    pub has_more: bool,
    pub total: i64,
}

impl<T: Serialize> IntoResponse for Paged<T> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

impl<T: JsonSchema> Answers for Paged<T> {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<Self>(StatusCode::OK);
    }
}

/// The rows of a page: where it begins and how long it is are the last parameters of the query.
#[macro_export]
macro_rules! page_rows {
    ($connection:ident, $page:ident, $row:ident, $sql:literal, $($argument:expr),+ $(,)?) => {
        ::sqlx::query_as!($row, $sql, $($argument,)+ $page.after_time(), $page.after_id(), $page.fetch())
            .fetch_all(&mut *$connection)
            .await?
    };
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    const KEY: [u8; 32] = [3; 32];

    fn page(uri: &str) -> Result<PageRequest> {
        PageRequest::asked(&uri.parse().unwrap(), KEY, SPAN)
    }

    fn cursor(uri: &str) -> String {
        let rows = vec![1, 2, 3];
        let paged = page(uri).unwrap().of(rows, 3, |n| (DateTime::UNIX_EPOCH, n.to_string()), |n| n);
        paged.pagination.cursor.unwrap()
    }

    #[test]
    fn a_page_goes_on_where_the_last_one_ended() {
        let cursor = cursor("/v1/users?limit=2&role=admin");
        let next = page(&format!("/v1/users?role=admin&limit=2&cursor={cursor}")).unwrap();
        assert_eq!((next.after_time(), next.after_id()), (Some(DateTime::UNIX_EPOCH), Some("2")));
    }

    #[test]
    fn a_cursor_of_another_list_or_making_is_refused() {
        let cursor = cursor("/v1/users?limit=2&role=admin");
        for uri in [
            format!("/v1/users?cursor={cursor}"),
            format!("/v1/users?role=owner&cursor={cursor}"),
            format!("/v1/keys?role=admin&cursor={cursor}"),
            format!("/v1/users?role=admin&cursor=A{cursor}"),
            "/v1/users?cursor=e30".to_owned(),
            "/v1/users?cursor=".to_owned(),
        ] {
            assert_eq!(page(&uri).unwrap_err().code(), contract::Code::InvalidParams, "{uri}");
        }
    }

    #[test]
    fn a_limit_outside_its_range_is_refused() {
        for limit in ["0", "201", "-1", "x", ""] {
            assert!(page(&format!("/v1/users?limit={limit}")).is_err(), "{limit}");
        }
        assert_eq!(page("/v1/users").unwrap().fetch(), 51);
        assert_eq!(page("/v1/users?limit=200").unwrap().fetch(), 201);
    }
}
