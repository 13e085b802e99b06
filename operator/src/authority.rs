//! The certificate authorities of the operator: two kinds, the certificates they sign, and their rotation.
//!
//! The release's internal authority signs the identities of control plane, operator and data
//! planes; each organization's authority signs what its environments show to PostgreSQL clients.
//! All keys are ECDSA P-256. What is signed is renewed at two thirds of its life.
//!
//! An authority is replaced in overlap, so that nobody ever meets a certificate whose authority it
//! does not know: first the next one is **trusted** (it is in every bundle), then it **issues**,
//! then the old one is **dropped**. Between two of these lies [`OVERLAP`].

mod issue;
mod rotation;
pub mod secret;
pub mod signers;
#[cfg(test)]
mod tests;

use std::time::Duration;

use contract::Redacted;
pub use issue::{Signer, issue, make};
pub use rotation::{Keys, RotationStep, Trust};
pub use secret::{Facts, facts};
pub use signers::Signers;

/// How long an authority lives.
pub const AUTHORITY_LIFE: Duration = Duration::from_hours(2 * 365 * 24);
/// How long what it signs lives.
pub const CERTIFICATE_LIFE: Duration = Duration::from_hours(90 * 24);
/// What a step of a rotation is given to reach everybody: bundles are written by a reconcile of
/// every environment, and mounted files follow within minutes.
pub const OVERLAP: Duration = Duration::from_hours(24);

/// A certificate and its key, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub certificate: String,
    pub key: Redacted<String>,
}

/// Two thirds of the way from `from` to `to`.
pub fn renewal(from: jiff::Timestamp, to: jiff::Timestamp) -> jiff::Timestamp {
    let life = to.duration_since(from);
    from.checked_add(life * 2 / 3).unwrap_or(to)
}
