//! The cursor of a listing from the newest: after which moment and which name the next page begins.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use contract::Timestamp;

use crate::Error;
use crate::limits::invalid;

/// Where the page after this one begins.
pub fn cursor(at: Timestamp, id: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{}:{id}", at.timestamp_micros()))
}

/// Microseconds and name; nothing without a cursor.
pub(super) fn read(cursor: Option<&str>) -> Result<(Option<i64>, Option<String>), Error> {
    let part = |text: &str| {
        let read = BASE64_URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
        let (micros, id) = read.split_once(':')?;
        Some((micros.parse().ok()?, id.to_owned()))
    };
    let read = cursor.map(|text| part(text).ok_or_else(|| invalid("cursor", "the cursor is not one of ours")));
    Ok(read.transpose()?.unzip())
}
