//! An API key → who it stands for.

use std::net::IpAddr;

use contract::Code;

use crate::authentication::Known;
use crate::{App, Error, Result};

#[expect(clippy::unused_async, reason = "asks the database once there are keys")]
/// The caller behind a key that is presented from `peer`.
pub async fn known(_app: &App, _text: &str, _peer: IpAddr) -> Result<Known> {
    Err(Error::BadCredential(Code::InvalidKey))
}
