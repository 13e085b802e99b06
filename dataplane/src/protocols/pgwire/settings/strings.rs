//! How the strings of a client's texts are read: as the standard has them, or with the warehouse's escapes.

use std::borrow::Cow;

use contract::StandardStrings;

use super::SessionSettings;
use crate::protocols::pgwire::failure::ErrorResponse;

impl SessionSettings {
    /// What a backslash in `'…'` is.
    pub fn strings(&self) -> StandardStrings {
        self.in_force.strings
    }

    /// A text of the client with standard strings, as everything behind reads it.
    pub fn standard<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, ErrorResponse> {
        if self.strings() == StandardStrings::On {
            return Ok(Cow::Borrowed(text));
        }
        sql::standard_strings(text).map(Cow::Owned).map_err(|error| ErrorResponse::from(&crate::Error::from(error)))
    }
}

/// The word for what switches something on or off.
pub(super) fn switched(value: String) -> String {
    match value.as_str() {
        "true" | "yes" | "1" => "on".to_owned(),
        "false" | "no" | "0" => "off".to_owned(),
        _ => value,
    }
}
