//! "Deprecated in `/v1` … They keep working": `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and where
//! to read on.

use axum::http::{HeaderMap, HeaderValue};

use crate::http::route::Route;

/// When version 2 was announced, which deprecates these endpoints: 2026-01-01.
const SINCE: HeaderValue = HeaderValue::from_static("@1767225600");
/// "Removal dates: not shown." Not before two years have passed.
const UNTIL: HeaderValue = HeaderValue::from_static("Sat, 01 Jan 2028 00:00:00 GMT");
const ABOUT: HeaderValue = HeaderValue::from_static("</docs>; rel=\"deprecation\"; type=\"text/html\"");

pub fn stamp(route: &Route, headers: &mut HeaderMap) {
    if !route.deprecated {
        return;
    }
    headers.insert("deprecation", SINCE);
    headers.insert("sunset", UNTIL);
    headers.append("link", ABOUT);
    let successor = route.successor.map(|path| format!("<{path}>; rel=\"successor-version\""));
    if let Some(link) = successor.and_then(|text| HeaderValue::from_str(&text).ok()) {
        headers.append("link", link);
    }
}
