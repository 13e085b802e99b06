//! Lists of the runtime: the envelope `{data, pagination}` of every list, or with
//! `?envelope=false` the bare array that typed clients of the runtime decode.
//!
//! "`limit` (default 50, capped 200), `offset` (default 0)", "runtime artifacts and events default
//! 100, max 1000". `cursor` is taken too.

use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use contract::Timestamp;
use serde::Serialize;

use crate::http::json::Json;
use crate::http::page::{Page, Span};
use crate::{App, Error, Result};

/// Rows that may be skipped: further on a cursor leads.
const OFFSET_MAX: i64 = 100_000;

/// "`limit` (default 50, capped 200)"
pub const RECORDS: Span = Span { default: 50, max: 200, capped: true };
/// "`limit` (default 100, max 1000)"
pub const MANY: Span = Span { default: 100, max: 1_000, capped: false };

/// The part of a list that is asked for.
#[derive(Debug)]
pub struct Listing {
    pub page: Page,
    pub offset: i64,
    bare: bool,
}

impl Listing {
    pub fn asked(app: &App, uri: &Uri, span: Span) -> Result<Self> {
        let page = Page::asked(uri, app.keyring().cursor_key(), span)?;
        let axum::extract::Query(pairs) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| Error::invalid("query", "format", "the query part of the URL cannot be read"))?;
        let value = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let offset = value("offset").map_or(Ok(0), |text| {
            let given = text.parse().ok().filter(|offset| (0..=OFFSET_MAX).contains(offset));
            let message = format!("`offset` is an integer from 0 to {OFFSET_MAX}");
            given.ok_or_else(|| Error::invalid("offset", format!("0..{OFFSET_MAX}"), message))
        })?;
        let bare = match value("envelope") {
            None | Some("true") => false,
            Some("false") => true,
            Some(_) => return Err(Error::invalid("envelope", "boolean", "`envelope` is `true` or `false`")),
        };
        Ok(Self { page, offset, bare })
    }

    pub fn answer<R, T: Serialize>(
        &self,
        rows: Vec<R>,
        total: i64,
        mark: impl Fn(&R) -> (Timestamp, String),
        view: impl Fn(R) -> T,
    ) -> Response {
        let paged = self.page.of(rows, total, mark, view);
        if self.bare { Json(paged.data).into_response() } else { paged.into_response() }
    }
}
