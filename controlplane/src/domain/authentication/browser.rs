//! Sessions of a browser: their tokens are in cookies that no script of a page can read.
//!
//! Whoever signs in with `X-Requested-With: sluice-dashboard`, or comes back from an identity provider,
//! is given three cookies besides the answer. The first is a credential as good as the token in
//! `Authorization`. A browser sends it whoever made it ask, so a request that changes something and
//! has no other credential repeats the third in `X-CSRF-Token`: only our own page can read it.
//!
//! `__Host-` needs `Secure`. Browsers hold 127.0.0.1 and localhost to be as good as HTTPS.

use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::crypto::tokens::ACCESS_SECONDS;
use platform::http::json::Json;
use platform::http::signature::{Answers, ResponseSignature, Signature, Takes};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use subtle::ConstantTimeEq;

use super::opening::Login;
use crate::domain::accounts::page::wants_json;
use crate::domain::accounts::sessions::REFRESH_DAYS;

const SESSION: &str = "__Host-sluice_session";
const REFRESH: &str = "__Host-sluice_refresh";
const CSRF: &str = "__Host-sluice_csrf";
const CSRF_HEADER: &str = "x-csrf-token";
/// Characters of base62 that hold 256 bits.
const CSRF_CHARACTERS: usize = 43;
const REFRESH_SECONDS: i64 = REFRESH_DAYS * 24 * 3_600;
const NOT_INTENDED: Error =
    Error::Forbidden("a change by cookie repeats the cookie `__Host-sluice_csrf` in the header `X-CSRF-Token`");

/// The access token in the cookie, if there is one.
pub fn session(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SESSION)
}

/// The value of the cookie of this name.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
}

/// Refuses a change that another site's page may have had the browser ask for.
pub fn intended(method: &Method, headers: &HeaderMap) -> Result<()> {
    if method.is_safe() {
        return Ok(());
    }
    let given = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).ok_or(NOT_INTENDED)?;
    let kept = cookie(headers, CSRF).filter(|kept| kept.len() == CSRF_CHARACTERS).ok_or(NOT_INTENDED)?;
    bool::from(given.ct_eq(kept.as_bytes())).then_some(()).ok_or(NOT_INTENDED)
}

/// The browser that signs in.
pub struct Browser {
    /// The dashboard asks, not another program.
    is_dashboard: bool,
    refresh: Option<String>,
}

impl FromRequestParts<App> for Browser {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        let headers = &parts.headers;
        let is_dashboard = headers.get("x-requested-with").is_some_and(|asker| asker.as_bytes() == b"sluice-dashboard");
        let refresh = cookie(headers, REFRESH).filter(|_| is_dashboard).map(str::to_owned);
        if refresh.is_some() && parts.uri.path().ends_with("/refresh") {
            intended(&parts.method, headers)?;
        }
        Ok(Self { is_dashboard, refresh })
    }
}

impl Takes for Browser {
    fn takes(said: &mut Signature<'_>) {
        said.header("X-Requested-With", "`sluice-dashboard`: the tokens are kept in cookies as well.");
    }
}

impl Browser {
    /// The refresh token in the cookie.
    pub fn refresh(&self) -> Option<&str> {
        self.refresh.as_deref()
    }

    /// An answer to a program or to the dashboard, with the cookies of the latter.
    pub fn keeps<T>(&self, app: &App, opened: Login, answer: impl FnOnce(Login) -> T) -> WithCookies<T> {
        let cookies = if self.is_dashboard { given(app, &opened) } else { Vec::new() };
        WithCookies { answer: answer(opened), cookies }
    }

    /// Whoever was sent here by another site: a person arrives in the dashboard, signed in; a program that asks for JSON is
    /// told, and so is everybody where there is no dashboard.
    pub fn arrives(app: &App, headers: &HeaderMap, opened: Login) -> WithCookies<BrowserAnswer<Login>> {
        if is_person(app, headers) {
            WithCookies { cookies: given(app, &opened), answer: BrowserAnswer::Dashboard }
        } else {
            WithCookies { answer: BrowserAnswer::Told(Json(opened)), cookies: Vec::new() }
        }
    }

    /// An answer that ends what the cookies stand for.
    pub fn forgets<T>(&self, answer: T) -> WithCookies<T> {
        let names: &[&str] = if self.is_dashboard { &[SESSION, REFRESH, CSRF] } else { &[] };
        let cookies = names.iter().filter_map(|name| set(name, "", 0, "; HttpOnly")).collect();
        WithCookies { answer, cookies }
    }
}

/// Whether whoever was sent here by another site looks at a browser, and there is a dashboard to show them.
pub fn is_person(app: &App, headers: &HeaderMap) -> bool {
    !wants_json(headers) && app.dashboard().is_some()
}

fn given(app: &App, opened: &Login) -> Vec<HeaderValue> {
    let csrf = app.entropy().base62(CSRF_CHARACTERS);
    let cookies = [
        set(SESSION, &opened.access_token, ACCESS_SECONDS, "; HttpOnly"),
        set(REFRESH, &opened.refresh_token, REFRESH_SECONDS, "; HttpOnly"),
        set(CSRF, &csrf, REFRESH_SECONDS, ""),
    ];
    cookies.into_iter().flatten().collect()
}

/// Tokens are ASCII without a semicolon, so there is none that a header cannot hold.
fn set(name: &str, value: &str, seconds: i64, more: &str) -> Option<HeaderValue> {
    let cookie = format!("{name}={value}; Path=/; Secure; SameSite=Strict; Max-Age={seconds}{more}");
    let mut value = HeaderValue::from_str(&cookie).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// An answer, and cookies.
pub struct WithCookies<T> {
    answer: T,
    cookies: Vec<HeaderValue>,
}

impl<T: IntoResponse> IntoResponse for WithCookies<T> {
    fn into_response(self) -> Response {
        let mut response = self.answer.into_response();
        for cookie in self.cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

impl<T: Answers> Answers for WithCookies<T> {
    fn answers(said: &mut Signature<'_>) {
        T::answers(said);
    }
}

/// How somebody whom another site has sent is answered: a program is told, a person is shown the dashboard.
pub enum BrowserAnswer<T> {
    Told(Json<T>),
    Dashboard,
}

impl<T: Serialize> IntoResponse for BrowserAnswer<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Told(told) => told.into_response(),
            Self::Dashboard => (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response(),
        }
    }
}

impl<T: JsonSchema> Answers for BrowserAnswer<T> {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<T>(StatusCode::OK);
        said.says(ResponseSignature { status: StatusCode::SEE_OTHER, content: Vec::new(), headers: &[] });
    }
}
