//! The dashboard: "a client of the same endpoints". Here are only its files, which the binary was
//! built with ([`platform::dashboard`]); a binary without them says how to get them.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use contract::{Access, Code};
use platform::dashboard::{INDEX, found, safe};
use platform::http::call::Visit;
use platform::http::routes::Routes;
use platform::http::signature::{Answers, ResponseSignature, Signature};
use platform::{Error, Result};

/// What the build names after its content.
const ASSETS: &str = "assets/";

const ABSENT: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Sluice</title>\
<meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>Sluice</h1>\
<p>This program was built without the dashboard. <code>./dev up</code> builds it where there is npm; \
<code>cargo build --features dashboard</code> takes what <code>npm run build</code> has made.</p>\
<p><a href=\"/docs\">The API</a> can all that it can.</p></main></body></html>\n";

pub fn routes() -> Routes {
    Routes::new()
        .get("/", Access::Public, None, page)
        .says("Serves the dashboard.")
        .ours()
        .get("/assets/{file}", Access::Public, None, asset)
        .says("Serves a part of the dashboard.")
        .refuses(&[Code::NotFound])
        .ours()
}

/// The page around everything.
pub struct DashboardPage(&'static [u8]);

/// A script, a style or an image.
pub struct Asset {
    kind: &'static str,
    content: &'static [u8],
}

/// The kinds of file that the build makes.
const KINDS: [(&str, &str); 3] = [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")];

async fn page(visit: Visit) -> DashboardPage {
    let index = visit.app.dashboard().and_then(|files| found(files, INDEX));
    DashboardPage(index.unwrap_or(ABSENT.as_bytes()))
}

async fn asset(visit: Visit) -> Result<Asset> {
    let absent = Error::NotFound { kind: "file" };
    let name = visit.path.get("file").unwrap_or_default();
    let Some((_, kind)) = KINDS.iter().find(|(ending, _)| name.ends_with(ending)) else {
        return Err(absent);
    };
    let content = visit.app.dashboard().and_then(|files| found(files, &format!("{ASSETS}{name}")));
    content.map(|content| Asset { kind, content }).ok_or(absent)
}

impl IntoResponse for DashboardPage {
    fn into_response(self) -> Response {
        (safe("no-cache"), [(header::CONTENT_TYPE, "text/html; charset=utf-8")], self.0).into_response()
    }
}

/// A file whose name changes with its content need not be asked for again.
impl IntoResponse for Asset {
    fn into_response(self) -> Response {
        let kind = [(header::CONTENT_TYPE, format!("{}; charset=utf-8", self.kind))];
        (safe("public, max-age=31536000, immutable"), kind, self.content).into_response()
    }
}

impl Answers for DashboardPage {
    fn answers(said: &mut Signature<'_>) {
        said.says(ResponseSignature { status: StatusCode::OK, content: vec![("text/html", None)], headers: &[] });
    }
}

impl Answers for Asset {
    fn answers(said: &mut Signature<'_>) {
        let content = KINDS.iter().map(|(_, kind)| (*kind, None)).collect();
        said.says(ResponseSignature { status: StatusCode::OK, content, headers: &[] });
    }
}

#[cfg(test)]
mod tests {
    use platform::dashboard::DashboardFiles;

    use crate::testing::TestApp;

    const BUILT: DashboardFiles =
        &[("index.html", b"<!doctype html>"), ("assets/index-1.js", b"'use strict'"), ("secret.txt", b"no")];

    #[tokio::test]
    async fn the_page_and_its_parts_are_served_and_nothing_else() {
        let app = TestApp::with_dashboard(BUILT).await;
        for (path, status, kind) in [
            ("/", 200, "text/html; charset=utf-8"),
            ("/assets/index-1.js", 200, "text/javascript; charset=utf-8"),
            ("/assets/index-2.js", 404, "application/json"),
            ("/assets/secret.txt", 404, "application/json"),
            ("/assets/..%2Findex.html", 404, "application/json"),
        ] {
            let answer = app.get(path, "").await;
            assert_eq!(
                (answer.status.as_u16(), answer.headers["content-type"].to_str().unwrap()),
                (status, kind),
                "{path}"
            );
        }
    }

    #[tokio::test]
    async fn nothing_is_loaded_from_elsewhere_and_no_other_page_frames_it() {
        let app = TestApp::with_dashboard(BUILT).await;
        for path in ["/", "/assets/index-1.js"] {
            let headers = app.get(path, "").await.headers;
            assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'self';"));
            assert_eq!(headers["x-content-type-options"], "nosniff");
        }
        assert_eq!(app.get("/", "").await.headers["cache-control"], "no-cache");
    }

    #[tokio::test]
    async fn a_program_without_it_says_how_to_get_it() {
        let answer = TestApp::start().await.get("/", "").await;
        assert!(answer.body.as_str().unwrap().contains("--features dashboard"), "{}", answer.body);
    }
}
