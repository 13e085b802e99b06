//! The files of the dashboard that this program was built with, and the headers they are sent with.

use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse, Response};

/// Path below the root, and content.
pub type DashboardFiles = &'static [(&'static str, &'static [u8])];

pub const INDEX: &str = "index.html";

/// Nothing from elsewhere, nothing written into the page, and no page around it.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// The page in answer to a link of a mail, which has a token in its address; `None`: there is no dashboard.
pub fn for_a_link(files: Option<DashboardFiles>) -> Option<Response> {
    let index = files.and_then(|files| found(files, INDEX))?;
    Some((safe("no-store"), Html(index)).into_response())
}

/// The content of the file at this path.
pub fn found(files: DashboardFiles, path: &str) -> Option<&'static [u8]> {
    files.iter().find(|(own, _)| *own == path).map(|(_, content)| *content)
}

/// Headers of every file: what a page may load, and how long the file is kept.
pub const fn safe(cache: &'static str) -> [(HeaderName, &'static str); 4] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, cache),
    ]
}
