//! The API as it tells of itself: the document `GET /openapi.json` (OpenAPI 3.1), its page `/docs`,
//! and the catalogue of errors `/docs/errors`.
//!
//! Nothing is written down twice. Paths, roles and scopes are the route table's, shapes are the
//! types that handlers read and answer (`http::signature`), limits and errors are those of the code.
//! Every answer that a test of this crate receives is held against the document (`testing`).

mod answers;
mod catalogue;
mod document;
mod html;
mod http;
mod naming;
mod operation;
mod page;
#[cfg(test)]
mod tests;

use contract::Access::Public;
use platform::http::routes::Routes;

pub use document::document;

use crate::server::endpoints;

/// The document of all routes, indented.
pub fn printed() -> String {
    let document = document(&endpoints::rows().iter().collect::<Vec<_>>());
    format!("{document:#}\n")
}

pub fn routes() -> Routes {
    Routes::new()
        .get("/openapi.json", Public, None, http::document)
        .says("This document.")
        .get("/docs", Public, None, http::page)
        .says("The document as a page.")
        .get("/docs/errors", Public, None, http::errors)
        .says("The catalogue of errors.")
        .all_ours()
}
