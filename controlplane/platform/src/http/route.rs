//! A row of the route table: an endpoint, who may use it, and what its handler takes and answers.

use axum::http::Method;
use contract::{Access, Code, Scope};

use crate::http::signature::Signature;

/// One endpoint: a row of the specification's Endpoints part.
#[expect(clippy::struct_excessive_bools, reason = "each is a mark of its own on a row")]
#[derive(Debug, Clone)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// What a key needs. `None`: the resource has no scope family; keys that act for nobody have no
    /// business there, and keys that are limited manage nothing there.
    pub scope: Option<Scope>,
    pub deprecated: bool,
    /// What to use instead, where that is one path.
    pub successor: Option<&'static str>,
    /// Not in the specification.
    pub ours: bool,
    /// A role that was lent for a while does not suffice.
    pub own_role: bool,
    /// What of its answer no record keeps.
    pub secret: Option<Secret>,
    /// What it does, in a sentence.
    pub says: &'static str,
    /// It compares the version that `If-Match` names, under its lock (`http::conditional`).
    pub versioned: bool,
    /// Errors beyond those that the middleware makes for a row like this.
    pub refuses: &'static [Code],
    /// The path of the handler in this crate.
    pub handler: &'static str,
    /// What the handler takes and answers.
    pub tell: fn(&mut Signature<'_>),
    /// Whoever has a second factor shows it again, unless they did in the last minutes.
    pub step_up: bool,
    /// It runs a statement, in whose transaction the data plane keeps the `Idempotency-Key`.
    pub keyed: bool,
    /// Mails and other sites lead here: what they add to the query is left out, not refused.
    pub linked: bool,
    /// The dashboard asks it for its own pages: by the session of a browser it costs nothing, and lists leave it out.
    pub of_pages: bool,
}

/// A member of an answer that is told once.
#[derive(Debug, Clone, Copy)]
pub struct Secret {
    pub member: &'static str,
    /// What whoever has lost it does.
    pub instead: &'static str,
}
