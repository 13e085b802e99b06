//! The comparison of a live object with the wanted one.
//!
//! Server-side apply fills in defaults and others add what is theirs, so a live object is larger
//! than the one that was applied. It agrees when everything wanted is in it. What is *no longer*
//! wanted cannot be seen this way; for that each applied object carries a hash of itself. Where an
//! addition changes what the whole means, as in a selector, nothing may be added.

use serde_json::Value;

use super::quantity::Quantity;

/// Fields whose texts are quantities, or maps of them.
const AMOUNTS: [&str; 5] = ["requests", "limits", "capacity", "storage", "sizeLimit"];
/// Where one more label or rule is another selector or policy. The API server keeps each as one value too, so that
/// to apply ours takes away what was added.
const WHOLE: [&str; 4] = ["spec.selector", "spec.podSelector", "spec.ingress", "spec.egress"];
/// Not shown by the API server when it is false.
const SHOWN_WHEN_TRUE: [&str; 1] = ["spec.paused"];
/// What tells the items of a list apart, where the API server merges lists by item.
const ITEM_KEYS: [&str; 3] = ["name", "uid", "topologyKey"];

/// The first place where `live` is not what is wanted, as `path: live → wanted`.
pub fn difference(wanted: &Value, live: &Value) -> Option<String> {
    compare(wanted, live, &mut Path::default())
}

#[derive(Default)]
struct Path {
    segments: Vec<String>,
    /// How many of the innermost segments lie in a field that holds amounts.
    amounts: usize,
}

impl Path {
    fn is_of(&self, places: &[&str]) -> bool {
        let same = |place: &&str| place.split('.').eq(self.segments.iter().map(String::as_str));
        places.iter().any(same)
    }

    fn within<T>(&mut self, segment: String, visit: impl FnOnce(&mut Self) -> T) -> T {
        let counts = self.amounts > 0 || AMOUNTS.contains(&segment.as_str());
        self.segments.push(segment);
        self.amounts += usize::from(counts);
        let found = visit(self);
        self.amounts -= usize::from(counts);
        self.segments.pop();
        found
    }
}

fn compare(wanted: &Value, live: &Value, path: &mut Path) -> Option<String> {
    match (wanted, live) {
        (Value::Bool(false), Value::Null) if path.is_of(&SHOWN_WHEN_TRUE) => None,
        (Value::Object(_) | Value::Array(_), _) if path.is_of(&WHOLE) => unlike(wanted, live, path),
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().find_map(|(name, value)| {
            path.within(name.clone(), |path| compare(value, live.get(name).unwrap_or(&Value::Null), path))
        }),
        (Value::Array(wanted), Value::Array(live)) => items(wanted, live, path),
        (Value::String(a), Value::String(b)) if a != b && path.amounts > 0 && same_amount(a, b) => None,
        _ => unlike(wanted, live, path),
    }
}

fn unlike(wanted: &Value, live: &Value, path: &Path) -> Option<String> {
    (wanted != live).then(|| format!("{}: {} → {}", path.segments.join("."), shown(live), shown(wanted)))
}

fn same_amount(a: &str, b: &str) -> bool {
    Quantity::parse(a).is_some_and(|a| Some(a) == Quantity::parse(b))
}

/// Items with a key may have others between them; a list of anything else is one value.
fn items(wanted: &[Value], live: &[Value], path: &mut Path) -> Option<String> {
    let key = ITEM_KEYS.into_iter().find(|key| wanted.iter().all(|item| item.get(key).is_some()));
    if let Some(key) = key {
        return wanted.iter().find_map(|item| {
            let same = |other: &&Value| other.get(key) == item.get(key);
            let found = live.iter().find(same).unwrap_or(&Value::Null);
            path.within(shown(item.get(key).unwrap_or(&Value::Null)), |path| compare(item, found, path))
        });
    }
    if wanted.len() != live.len() {
        return Some(format!("{}: {} items → {}", path.segments.join("."), live.len(), wanted.len()));
    }
    wanted
        .iter()
        .zip(live)
        .enumerate()
        .find_map(|(place, (wanted, live))| path.within(place.to_string(), |path| compare(wanted, live, path)))
}

/// Short enough for a line of `status.plannedChanges`.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_added_is_not_a_difference() {
        let wanted = json!({"spec": {"ports": [{"name": "psql", "port": 5439}]}});
        let live = json!({"spec": {"clusterIP": "10.0.0.1", "ports": [
            {"name": "debug", "port": 1}, {"name": "psql", "port": 5439, "protocol": "TCP"}]}});
        assert_eq!(difference(&wanted, &live), None);
    }

    #[test]
    fn nothing_is_added_to_a_selector_or_a_policy() {
        for (field, wanted, live) in [
            ("selector", json!({"a": "1"}), json!({"a": "1", "b": "2"})),
            (
                "podSelector",
                json!({"matchLabels": {"a": "1"}}),
                json!({"matchLabels": {"a": "1"}, "matchExpressions": [1]}),
            ),
            ("ingress", json!([{"ports": [1]}]), json!([{"ports": [1], "from": [2]}])),
            ("egress", json!([]), json!([{"to": [1]}])),
        ] {
            let of = |value: &Value| json!({"spec": {field: value}});
            assert_eq!(difference(&of(&wanted), &of(&wanted)), None);
            assert!(difference(&of(&wanted), &of(&live)).is_some(), "{field}");
        }
    }

    #[test]
    fn a_pause_that_is_not_shown_is_none() {
        let of = |paused: Value| json!({"spec": {"replicas": 1, "paused": paused}});
        assert_eq!(difference(&of(json!(false)), &json!({"spec": {"replicas": 1}})), None);
        assert!(difference(&of(json!(false)), &of(json!(true))).is_some());
    }

    #[test]
    fn amounts_are_compared_by_value_and_only_amounts() {
        let of = |field: &str, text: &str| json!({field: {"memory": text}});
        assert_eq!(difference(&of("limits", "1024Mi"), &of("limits", "1Gi")), None);
        assert!(difference(&of("limits", "1024Mi"), &of("limits", "2Gi")).is_some());
        assert!(difference(&of("labels", "1024Mi"), &of("labels", "1Gi")).is_some());
    }

    #[test]
    fn a_difference_names_its_place() {
        let cases = [
            (json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), "a.b: 2 → 1"),
            (json!({"a": [{"name": "x", "v": 1}]}), json!({"a": []}), "a.x: nothing → {\"name\":\"x\",\"v\":1}"),
            (json!({"a": ["1", "2"]}), json!({"a": ["1"]}), "a: 1 items → 2"),
            (json!({"a": ["1", "2"]}), json!({"a": ["1", "3"]}), "a.1: 3 → 2"),
            (json!({"a": false}), json!({}), "a: nothing → false"),
        ];
        for (wanted, live, expected) in cases {
            assert_eq!(difference(&wanted, &live).as_deref(), Some(expected));
        }
    }
}
