//! Issuers of OpenID tokens, and their keys.

pub mod issuers;
