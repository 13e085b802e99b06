//! Parameters of the query: what a route does not know is refused by name.
//!
//! A filter that is misspelt and ignored answers every row, and the caller acts on rows that it did
//! not ask for. The names are what the signature of the route's handler says, so they are those of
//! the document of the API.

use std::sync::Arc;

use axum::extract::Query;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use reqwest::Url;

use crate::platform::http::route::Route;
use crate::platform::http::suggestion::meant;
use crate::{Error, Result};

/// A longer name is shown as its beginning.
const SHOWN_CHARACTERS: usize = 64;

/// The parameters that a route knows, and what becomes of others.
#[derive(Debug, Clone)]
pub struct Parameters {
    known: Arc<[String]>,
    others: Others,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Refused,
    /// Links of mails and redirects of others: what somebody on the way adds is left out.
    LeftOut,
    /// Probes, pages and files ask for nothing.
    Ignored,
}

impl Parameters {
    /// `known`: what the signature of the route's handler names.
    pub fn of(route: &Route, known: Arc<[String]>) -> Self {
        let others = if !is_versioned(route.path) {
            Others::Ignored
        } else if route.linked {
            Others::LeftOut
        } else {
            Others::Refused
        };
        Self { known, others }
    }

    /// Whether a request may be refused for what stands in its query.
    pub fn are_checked(route: &Route) -> bool {
        is_versioned(route.path) && !route.linked
    }

    /// The address as the handler is to see it, where that is another.
    pub fn admitted(&self, uri: &Uri) -> Result<Option<Uri>> {
        if self.others == Others::Ignored || uri.query().is_none_or(str::is_empty) {
            return Ok(None);
        }
        let Query(given) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| unreadable())?;
        let is_known = |name: &str| self.known.iter().any(|known| known == name);
        match given.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(None),
            Some((name, _)) if self.others == Others::Refused => Err(self.unknown(name)),
            Some(_) => with_query(uri, given.iter().filter(|(name, _)| is_known(name))).map(Some),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let shown: String = name.chars().take(SHOWN_CHARACTERS).collect();
        let suggestion = meant(&shown, self.known.iter().map(String::as_str));
        let takes = if !suggestion.is_empty() {
            suggestion
        } else if self.known.is_empty() {
            ": it takes none".to_owned()
        } else {
            format!(": it takes `{}`", self.known.join("`, `"))
        };
        Error::invalid(shown.clone(), "known", format!("`{shown}` is not a parameter of this endpoint{takes}"))
    }
}

fn is_versioned(path: &str) -> bool {
    path.starts_with("/v1/") || path.starts_with("/v2/")
}

fn unreadable() -> Error {
    Error::invalid("query", "format", "the query part of the URL cannot be read")
}

fn with_query<'a>(uri: &Uri, pairs: impl Iterator<Item = &'a (String, String)>) -> Result<Uri> {
    let mut url = Url::parse("http://localhost/").map_err(Error::internal)?;
    url.query_pairs_mut().extend_pairs(pairs.map(|(name, value)| (name, value)));
    let mut parts = uri.clone().into_parts();
    let place = format!("{}?{}", uri.path(), url.query().unwrap_or_default());
    parts.path_and_query = Some(PathAndQuery::try_from(place).map_err(Error::internal)?);
    Uri::from_parts(parts).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use serde_json::{Value, json};

    use super::*;
    use crate::server::endpoints;
    use crate::testing::{TestApp, bearer};

    fn parameters(known: &[&str], others: Others) -> Parameters {
        Parameters { known: known.iter().map(|name| (*name).to_owned()).collect(), others }
    }

    fn message(parameters: &Parameters, uri: &str) -> String {
        parameters.admitted(&uri.parse().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_refused_is_named_with_what_there_is() {
        let list = parameters(&["status", "limit"], Others::Refused);
        assert_eq!(list.admitted(&"/v1/a?limit=1&status=x&".parse().unwrap()).unwrap(), None);
        assert!(
            message(&list, "/v1/a?limit=1&statsu=x")
                .ends_with("`statsu` is not a parameter of this endpoint: did you mean `status`?")
        );
        assert!(message(&list, "/v1/a?zebra").ends_with("it takes `status`, `limit`"));
        assert!(message(&list, "/v1/a?%73tatus%20=x").contains("`status `"));
        assert!(message(&parameters(&[], Others::Refused), "/v1/a?x=1").ends_with("it takes none"));
    }

    #[test]
    fn what_somebody_adds_to_a_link_is_left_out() {
        let link = parameters(&["token"], Others::LeftOut);
        let seen = link.admitted(&"/v1/a?utm_source=m&token=a%26b".parse().unwrap()).unwrap();
        assert_eq!(seen.unwrap(), "/v1/a?token=a%26b");
    }

    #[tokio::test]
    async fn every_endpoint_refuses_a_parameter_that_it_does_not_know() {
        let app = TestApp::start().await;
        let owner = app.signup("olga", "Acme").await;
        app.set_tier("enterprise").await;
        let demo = json!({"name": "Demo", "slug": "demo"});
        let demo = app.post(&app.org(&owner, "/environments"), &bearer(&owner), demo).await.expect(201);
        let (org_id, env_id) = (owner["org"]["id"].as_str().unwrap(), demo["env_id"].as_str().unwrap());
        let mut asked = 0;
        for row in endpoints::rows().iter().filter(|row| Parameters::are_checked(row)) {
            let path = row.path.replace("{org_id}", org_id).replace("{env_id}", env_id).replace(['{', '}'], "");
            let method = Method::from_bytes(row.method.as_str().as_bytes()).unwrap();
            let answer = app.call(method, &format!("{path}?xyzzy=1"), &bearer(&owner), Value::Null).await;
            assert_eq!(answer.code().0, 400, "{} {path}: {}", row.method, answer.body);
            let told =
                if path.ends_with("/query/arrow") { &answer.body["message"] } else { &answer.body["error"]["message"] };
            assert!(told.as_str().unwrap().starts_with("`xyzzy` is not a parameter"), "{} {path}: {told}", row.method);
            asked += 1;
        }
        assert!(asked > 150, "{asked} endpoints");
    }

    #[tokio::test]
    async fn what_is_no_endpoint_for_programs_takes_what_it_is_given() {
        let app = TestApp::start().await;
        for path in ["/health", "/ready", "/docs", "/openapi.json", "/.well-known/jwks.json"] {
            app.get(&format!("{path}?xyzzy=1"), "").await.expect(200);
        }
        let link = format!("/v1/auth/verify-email?utm_source=mail&token={}", "t".repeat(43));
        app.get(&link, "").await.expect(200);
        app.get(&format!("/v1/auth/magic-link/callback?token={}&fbclid=1", "t".repeat(43)), "").await.expect(200);
    }

    /// Which those are is written down here: another one needs a decision.
    #[test]
    fn the_linked_endpoints_are_these() {
        let linked: Vec<_> =
            endpoints::rows().iter().filter(|row| row.linked).map(|row| (row.method.as_str(), row.path)).collect();
        assert_eq!(
            linked,
            [
                ("GET", "/v1/auth/magic-link/callback"),
                ("GET", "/v1/auth/verify-email"),
                ("GET", "/v1/auth/reset-password"),
                ("GET", "/v1/auth/accept-invitation"),
                ("GET", "/v1/auth/sso/callback"),
            ]
        );
    }
}
