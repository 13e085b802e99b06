//! Lists of the runtime: the envelope `{data, pagination}` of every list, or with
//! `?envelope=false` the bare array that typed clients of the runtime decode.
//!
//! "`limit` (default 50, capped 200), `offset` (default 0)", "runtime artifacts and events default
//! 100, max 1000". `cursor` is taken too.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::Timestamp;
use platform::http::json::Json;
use platform::http::page::{PageRequest, Paged};
use platform::http::signature::{Answers, Signature, Span, Takes};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

/// Rows that may be skipped: further on a cursor leads.
const OFFSET_MAX: i64 = 100_000;

/// "`limit` (default 50, capped 200)"
const RECORDS: Span = Span { default: 50, max: 200, capped: true };
/// "`limit` (default 100, max 1000)"
const MANY: Span = Span { default: 100, max: 1_000, capped: false };

/// The part of a list that is asked for.
#[derive(Debug)]
pub struct ListWindow {
    pub page: PageRequest,
    pub offset: i64,
    bare: bool,
}

impl ListWindow {
    fn asked(app: &App, uri: &Uri, span: Span) -> Result<Self> {
        let page = PageRequest::asked(uri, app.keyring().cursor_key(), span)?;
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

    pub fn answer<R, T>(
        &self,
        rows: Vec<R>,
        total: i64,
        mark: impl Fn(&R) -> (Timestamp, String),
        view: impl Fn(R) -> T,
    ) -> Listed<T> {
        let paged = self.page.of(rows, total, mark, view);
        if self.bare { Listed::Bare(paged.data) } else { Listed::Enveloped(paged) }
    }
}

/// A list as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{T}List")]
pub enum Listed<T> {
    Enveloped(Paged<T>),
    Bare(Vec<T>),
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

impl<T: JsonSchema> Answers for Listed<T> {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<Self>(StatusCode::OK);
    }
}

/// What a list of the runtime takes besides the page.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct Shape {
    /// Rows to skip.
    #[schemars(range(min = 0, max = OFFSET_MAX))]
    offset: Option<i64>,
    /// `false`: the bare array.
    envelope: Option<bool>,
}

/// The rows of the part of a list that is asked for, and how many the whole list has: one filter for both.
macro_rules! page {
    (
        $conn:ident, $listing:ident, $rows:ident,
        $count:literal, $filter:literal, $part:literal, $($argument:expr),+ $(,)?
    ) => {{
        let rows = $rows!(
            $filter $part,
            $($argument,)+
            $listing.page.after_time(),
            $listing.page.after_id(),
            $listing.page.fetch(),
            $listing.offset,
        );
        let rows = rows.fetch_all(&mut *$conn).await?;
        let total = sqlx::query_scalar!($count + $filter, $($argument),+).fetch_one(&mut *$conn).await?;
        (rows, total)
    }};
}
pub(crate) use page;

macro_rules! listings {
    ($($(#[$doc:meta])* $name:ident = $span:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub ListWindow);

        impl FromRequestParts<App> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
                ListWindow::asked(app, &parts.uri, $span).map(Self)
            }
        }

        impl Takes for $name {
            fn takes(said: &mut Signature<'_>) {
                said.asks::<Shape>();
                said.page = Some($span);
            }
        }
    )+};
}

listings! {
    /// The part of a list of records that is asked for.
    Records = RECORDS;
    /// The part of a long list that is asked for.
    Many = MANY;
}
