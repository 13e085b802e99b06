//! A list that is answered bare, as some typed clients decode it: `X-Next-Cursor` says how it goes on.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::json::Json;
use crate::http::page::Paged;
use crate::http::signature::{Answer, Answers, Signature};

const NEXT: &str = "x-next-cursor";

/// The rows of a page alone.
#[derive(Debug)]
pub struct Bare<T>(pub Paged<T>);

impl<T: Serialize> IntoResponse for Bare<T> {
    fn into_response(self) -> Response {
        let Paged { data, pagination } = self.0;
        let mut response = Json(data).into_response();
        if let Some(cursor) = pagination.cursor.and_then(|cursor| HeaderValue::try_from(cursor).ok()) {
            response.headers_mut().insert(HeaderName::from_static(NEXT), cursor);
        }
        response
    }
}

impl<T: JsonSchema> Answers for Bare<T> {
    fn answers(said: &mut Signature<'_>) {
        let schema = said.shape::<Vec<T>>();
        let content = vec![("application/json", Some(schema))];
        said.says(Answer { status: StatusCode::OK, content, headers: &[NEXT] });
    }
}
