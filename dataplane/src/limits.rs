//! Limits on arguments of tools and routes, each refusal naming its field.

pub mod json_depth;

use crate::Error;

const NAME_CHARS_MAX: usize = 256;

pub fn invalid(field: &str, message: impl Into<String>) -> Error {
    Error::InvalidArgument { field: field.to_owned(), message: message.into() }
}

/// No larger than this.
pub fn sized(field: &str, bytes: usize, most: usize) -> Result<(), Error> {
    if bytes <= most { Ok(()) } else { Err(invalid(field, format!("{field} is larger than {most} bytes"))) }
}

/// A name: some characters, none of them for control.
pub fn named(field: &str, text: &str) -> Result<(), Error> {
    let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(invalid(field, format!("{field} is 1 to {NAME_CHARS_MAX} characters"))) }
}

/// From 0 to 1.
pub fn fraction(field: &str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(invalid(field, format!("{field} is from 0 to 1"))) }
}

/// From 1 to this.
pub fn counted(field: &str, count: usize, most: usize) -> Result<(), Error> {
    if (1..=most).contains(&count) { Ok(()) } else { Err(invalid(field, format!("{field} is from 1 to {most}"))) }
}

/// Microseconds of a moment in ISO 8601.
pub fn moment(field: &str, text: Option<&str>) -> Result<Option<i64>, Error> {
    let Some(text) = text else { return Ok(None) };
    match chrono::DateTime::parse_from_rfc3339(text) {
        Ok(moment) => Ok(Some(moment.timestamp_micros())),
        Err(_) => Err(invalid(field, format!("{field} is a moment of ISO 8601, as 2026-01-31T12:00:00Z"))),
    }
}
