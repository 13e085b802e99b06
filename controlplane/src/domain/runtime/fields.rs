//! Fields that several requests of the runtime have, and their limits.

use platform::http::text;
use platform::{Error, Result};
use serde_json::{Map, Value};

/// Names and outside ids: agents, branches, models, projects, kinds.
pub const NAME_MAX: usize = 200;
/// A `work_item_key`, an `artifact_key`.
pub const KEY_MAX: usize = 256;
/// Prose: reasons and notes.
pub const PROSE_MAX: usize = 4_000;
/// A JSON object, as text.
pub const OBJECT_BYTES_MAX: usize = 64 * 1024;

pub type Object = Map<String, Value>;

pub fn name(field: &'static str, given: &str) -> Result<String> {
    text::checked(field, given, NAME_MAX)
}

pub fn maybe_name(field: &'static str, given: Option<&str>) -> Result<Option<String>> {
    given.map(|given| name(field, given)).transpose()
}

/// Text that may have lines.
pub fn prose(field: &'static str, given: &str) -> Result<String> {
    let given = given.trim();
    let strange = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if !(1..=PROSE_MAX).contains(&given.chars().count()) || given.chars().any(strange) {
        let message = format!("`{field}` is a text of 1 to {PROSE_MAX} characters");
        return Err(Error::invalid(field, format!("1..{PROSE_MAX} characters"), message));
    }
    Ok(given.to_owned())
}

pub fn maybe_prose(field: &'static str, given: Option<&str>) -> Result<Option<String>> {
    given.map(|given| prose(field, given)).transpose()
}

pub fn object(field: &'static str, given: Object) -> Result<Value> {
    let value = Value::Object(given);
    if value.to_string().len() > OBJECT_BYTES_MAX {
        let message = format!("`{field}` is an object of at most 64 KB");
        return Err(Error::invalid(field, "64 KB", message));
    }
    Ok(value)
}

pub fn maybe_object(field: &'static str, given: Option<Object>) -> Result<Option<Value>> {
    given.map(|given| object(field, given)).transpose()
}

/// An integer within these bounds, both included.
pub fn integer(field: &'static str, given: i64, least: i32, most: i32) -> Result<i32> {
    let fitting = i32::try_from(given).ok().filter(|given| (least..=most).contains(given));
    fitting.ok_or_else(|| {
        let message = format!("`{field}` is an integer from {least} to {most}");
        Error::invalid(field, format!("{least}..{most}"), message)
    })
}

/// A number from 0 to 1.
pub fn share(field: &'static str, given: f64) -> Result<f64> {
    let fits = (0.0..=1.0).contains(&given);
    fits.then_some(given).ok_or_else(|| Error::invalid(field, "0..1", format!("`{field}` is a number from 0 to 1")))
}

/// Largest sum of money and largest count that one record may claim.
const AMOUNT_MAX: f64 = 1e9;
const COUNT_MAX: i64 = 1_000_000_000_000;

/// A sum of money.
pub fn amount(field: &'static str, given: f64) -> Result<f64> {
    let fits = (0.0..=AMOUNT_MAX).contains(&given);
    fits.then_some(given).ok_or_else(|| Error::invalid(field, "0..", format!("`{field}` is a number of at least 0")))
}

pub fn count(field: &'static str, given: i64) -> Result<i64> {
    let fits = (0..=COUNT_MAX).contains(&given);
    fits.then_some(given).ok_or_else(|| Error::invalid(field, "0..", format!("`{field}` is an integer of at least 0")))
}
