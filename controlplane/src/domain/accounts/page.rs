//! The pages that links in mails lead to: the dashboard's, and without a dashboard one form without a script.
//!
//! Mail scanners follow links before people do. So a link does nothing when it is fetched: the page
//! has a button, and the button does it.

use std::fmt::Write;

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use platform::dashboard;
use platform::http::signature::{Answers, ResponseSignature, Signature};
use platform::{App, Error, Result};

use super::links;

const HEADERS: [(&str, &str); 4] = [
    ("content-security-policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
];

/// Something to type.
struct Field {
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    autocomplete: &'static str,
}

const NAME: Field = Field { name: "name", label: "Your name", kind: "text", autocomplete: "name" };
const NEW_PASSWORD: Field =
    Field { name: "password", label: "New password", kind: "password", autocomplete: "new-password" };
const PASSWORD: Field = Field {
    name: "password",
    label: "Your password, or one for your new account",
    kind: "password",
    autocomplete: "current-password",
};
const CODE: Field = Field {
    name: "totp",
    label: "Code of your authenticator, if you have one",
    kind: "text",
    autocomplete: "one-time-code",
};

/// The page of a link, by its purpose.
pub struct LinkPage {
    /// The link leads here, and its button posts here.
    pub path: &'static str,
    title: &'static str,
    button: &'static str,
    fields: &'static [Field],
}

pub const SIGN_IN: LinkPage =
    LinkPage { path: "/v1/auth/magic-link/callback", title: "Sign in to Sluice", button: "Sign in", fields: &[CODE] };
pub const VERIFY_EMAIL: LinkPage =
    LinkPage { path: "/v1/auth/verify-email", title: "Confirm your e-mail address", button: "Confirm", fields: &[] };
pub const RESET_PASSWORD: LinkPage = LinkPage {
    path: "/v1/auth/reset-password",
    title: "Choose a new password",
    button: "Change the password",
    fields: &[NEW_PASSWORD],
};
pub const ACCEPT_INVITATION: LinkPage = LinkPage {
    path: "/v1/auth/accept-invitation",
    title: "Accept the invitation",
    button: "Accept",
    fields: &[NAME, PASSWORD, CODE],
};

/// Whether a program asks that wants JSON, and not a person's browser.
pub fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/html")
}

/// A page, as a browser is shown it.
#[derive(Debug)]
pub struct RenderedPage(Response);

impl IntoResponse for RenderedPage {
    fn into_response(self) -> Response {
        self.0
    }
}

impl RenderedPage {
    pub const CONTENT: (&str, Option<schemars::Schema>) = ("text/html", None);
}

impl Answers for RenderedPage {
    fn answers(said: &mut Signature<'_>) {
        said.says(ResponseSignature { status: StatusCode::OK, content: vec![Self::CONTENT], headers: &[] });
    }
}

/// The page for a link, whether or not the link is still good: only its button tells.
pub fn of(app: &App, page: &LinkPage, token: &str) -> Result<RenderedPage> {
    if let Some(dashboard) = dashboard::for_a_link(app.dashboard()) {
        return Ok(RenderedPage(dashboard));
    }
    let LinkPage { path, title, button, fields } = page;
    if !links::is_token(token) {
        return Err(Error::invalid("token", "43 characters", "`token` is the one of the link, whole"));
    }
    let mut inputs = format!("<input type=\"hidden\" name=\"token\" value=\"{token}\">");
    for Field { name, label, kind, autocomplete } in *fields {
        // Writing to a String does not fail.
        let _ = write!(
            inputs,
            "<p><label>{label}<br><input name=\"{name}\" type=\"{kind}\" autocomplete=\"{autocomplete}\"></label></p>"
        );
    }
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>{title}</h1>\
         <form method=\"post\" action=\"{path}\">{inputs}<button>{button}</button></form></main></body></html>\n"
    );
    Ok(RenderedPage((HEADERS, Html(html)).into_response()))
}
