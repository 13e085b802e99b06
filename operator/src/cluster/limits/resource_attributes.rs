//! The resource attributes of a request to the API server: verb, group and resource, read from its method and path.

use http::{Method, Uri};

/// Verb, group and resource of a request, as roles name them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceAttributes {
    pub verb: &'static str,
    /// Empty: the core group.
    pub group: String,
    /// With its subresource; empty: no resource, such as `/version`.
    pub resource: String,
    pub namespace: Option<String>,
}

impl ResourceAttributes {
    pub fn of(method: &Method, uri: &Uri) -> Self {
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _version, rest @ ..] => ("", rest),
            ["apis", group, _version, rest @ ..] => (*group, rest),
            _ => ("", [].as_slice()),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            _ => (None, rest),
        };
        let (resource, named) = match rest {
            [] => (String::new(), false),
            [resource] => ((*resource).to_owned(), false),
            [resource, _name] => ((*resource).to_owned(), true),
            [resource, _name, sub, ..] => (format!("{resource}/{sub}"), true),
        };
        Self { verb: verb(method, uri, named), group: group.to_owned(), resource, namespace }
    }

    /// It would change something.
    pub fn changes(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

fn verb(method: &Method, uri: &Uri, named: bool) -> &'static str {
    let watches =
        uri.query().is_some_and(|query| query.split('&').any(|part| matches!(part, "watch=true" | "watch=1")));
    match *method {
        Method::GET | Method::HEAD if watches => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD => "list",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        // whatever it is, it is no reading
        _ => "create",
    }
}
