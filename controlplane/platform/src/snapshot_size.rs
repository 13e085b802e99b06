//! How large a governance snapshot may be, and what one resource module may add to it.
//!
//! A data plane that is sent more than it takes keeps the rules of before, with every key that is revoked
//! from then on: so no module adds more than its share ([`within_share`]).

use crate::{Error, Result};

/// What a data plane takes (`MESSAGE_BYTES_MAX` of its `governance/link.rs`).
pub const SNAPSHOT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What each module may add to it: five do, and storage integrations have bounds of their own.
const SHARE_BYTES_MAX: i64 = 8 * 1024 * 1024;

/// Refuses what leaves `what` above its share, unless it has made it less.
pub fn within_share(what: &str, before: i64, after: i64) -> Result<()> {
    if after <= SHARE_BYTES_MAX || after <= before {
        return Ok(());
    }
    let most = SHARE_BYTES_MAX >> 20;
    Err(Error::conflict("too_large", format!("{what} are at most {most} MiB together: take something away first")))
}
