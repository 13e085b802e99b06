//! Settings in JSON, of which no unknown field is dropped silently.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::agreement;

/// Longest text that is taken.
pub const LONGEST: usize = 8 * 1024;

/// A value whose type has a place for each member of the text: what would be dropped is refused by name.
pub fn whole<T: Serialize + DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let given: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let read: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kept = serde_json::to_value(&read).map_err(|error| error.to_string())?;
    let dropped = given.iter().filter(|(_, value)| !is_empty(value)).find_map(|(name, value)| {
        let kept = kept.get(name).unwrap_or(&Value::Null);
        agreement::difference(value, kept).map(|place| format!("{name}.{place}"))
    });
    // `a.b: nothing → 7`, of which the place is told
    let place = dropped.as_deref().map(|dropped| dropped.split(": ").next().unwrap_or_default());
    place.map_or(Ok(read), |place| Err(format!("there is no field {place}")))
}

/// What is empty may be left out.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
