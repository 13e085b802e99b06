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

use crate::http::route::Route;
use crate::http::suggestion::meant;
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
    use super::*;

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
}
