//! A bare list that goes on: its next page stands in the header `Link`, as RFC 8288 has it.
//!
//! A list with an envelope tells its cursor there; a bare array has no place for one.

use axum::extract::FromRequestParts;
use axum::http::header::LINK;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::json::Json;
use crate::http::signature::{Answers, ResponseSignature, Signature, Takes};
use crate::{App, Error, Result};

/// The address that a list was asked for at.
#[derive(Debug, Clone)]
pub struct Address(Uri);

impl Address {
    /// The same list from a cursor on, which needs no escape.
    pub fn after(&self, cursor: &str) -> String {
        let query = self.0.query().unwrap_or_default().split('&');
        let mut pairs: Vec<&str> = query.filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=")).collect();
        let cursor = format!("cursor={cursor}");
        pairs.push(&cursor);
        format!("{}?{}", self.0.path(), pairs.join("&"))
    }
}

impl FromRequestParts<App> for Address {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self(parts.uri.clone()))
    }
}

impl Takes for Address {}

/// A bare list, and where it goes on.
#[derive(Debug)]
pub struct Linked<T> {
    pub list: T,
    /// The address of the next page; none after the last.
    pub next: Option<String>,
}

impl<T: Serialize> IntoResponse for Linked<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.list).into_response();
        let next = self.next.map(|address| format!("<{address}>; rel=\"next\""));
        if let Some(next) = next.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().append(LINK, next);
        }
        response
    }
}

impl<T: JsonSchema> Answers for Linked<T> {
    fn answers(said: &mut Signature<'_>) {
        let schema = said.shape::<T>();
        let content = vec![("application/json", Some(schema))];
        said.says(ResponseSignature { status: StatusCode::OK, content, headers: &["link"] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_of_the_same_list() {
        for (asked, next) in [
            ("/v1/o/agent-memory", "/v1/o/agent-memory?cursor=c2"),
            ("/v1/o/agent-memory?cursor=c1", "/v1/o/agent-memory?cursor=c2"),
            (
                "/v1/o/agent-memory?limit=2&cursor=c1&agent_id=a%26b",
                "/v1/o/agent-memory?limit=2&agent_id=a%26b&cursor=c2",
            ),
        ] {
            assert_eq!(Address(asked.parse().unwrap()).after("c2"), next);
        }
    }

    #[test]
    fn the_last_page_leads_nowhere() {
        let answer = |next: Option<&str>| Linked { list: [1], next: next.map(str::to_owned) }.into_response();
        assert_eq!(answer(Some("/v1/x?cursor=c")).headers()[LINK], "</v1/x?cursor=c>; rel=\"next\"");
        assert!(!answer(None).headers().contains_key(LINK));
    }
}
