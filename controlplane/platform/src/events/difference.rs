//! The difference that an event records of a change: members that changed, and nothing else.

use serde_json::{Map, Value};

/// The members that differ, as they were and as they are.
pub fn different(before: Value, after: Value) -> (Map<String, Value>, Map<String, Value>) {
    let (Value::Object(mut was), Value::Object(mut is)) = (before, after) else {
        return (Map::new(), Map::new());
    };
    let same: Vec<String> =
        was.iter().filter(|(name, value)| is.get(*name) == Some(*value)).map(|(n, _)| n.clone()).collect();
    for name in same {
        was.remove(&name);
        is.remove(&name);
    }
    (was, is)
}
