//! `system.main.sluice_mask_hash(VARCHAR) -> VARCHAR`: HMAC-SHA256 in hexadecimal.
//!
//! The key is the environment's, so a hash can be joined on inside an environment and not compared
//! across two. A null is hashed as a marker that no text equals, and so does not show.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::error::Error;
use crate::ffi::Connection;

/// What a null is hashed as: one byte that UTF-8 never holds.
const NULL: &[u8] = &[0xff];

/// Registers it for every connection of the database.
pub fn register(connection: &Connection, key: [u8; 32]) -> Result<(), Error> {
    let keyed = Hmac::<Sha256>::new_from_slice(&key).map_err(Error::internal)?;
    let digest = move |value: Option<&str>| {
        let mut mac = keyed.clone();
        mac.update(value.map_or(NULL, str::as_bytes));
        hex::encode(mac.finalize().into_bytes())
    };
    connection.register("sluice_mask_hash", Box::new(digest))
}
