//! Settings of an environment in its resource: read and written, each by its name there.

use contract::{EnvironmentSettings, EnvironmentSettingsChange, Heal};
use serde_json::{Value, json};

/// What a resource says.
pub fn read(said: &crds::EnvironmentSettings) -> EnvironmentSettings {
    let crds::EnvironmentSettings { query_timeout_ms, max_concurrent_queries, cache_enabled, heal, test_mode } = *said;
    EnvironmentSettings {
        query_timeout_ms: query_timeout_ms.into(),
        max_concurrent_queries,
        cache_enabled,
        heal: match heal {
            crds::Heal::Never => Heal::Off,
            crds::Heal::Safe => Heal::Safe,
            crds::Heal::Auto => Heal::Auto,
        },
        test_mode,
    }
}

/// What REST decides, for a resource; null is not decided.
pub fn decided(change: &EnvironmentSettingsChange) -> Value {
    let EnvironmentSettingsChange { query_timeout_ms, max_concurrent_queries, cache_enabled, heal, test_mode } = change;
    let heal = heal.map(|heal| match heal {
        Heal::Off => crds::Heal::Never,
        Heal::Safe => crds::Heal::Safe,
        Heal::Auto => crds::Heal::Auto,
    });
    json!({
        "queryTimeoutMs": query_timeout_ms, "maxConcurrentQueries": max_concurrent_queries,
        "cacheEnabled": cache_enabled, "heal": heal, "testMode": test_mode,
    })
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;

    use super::*;

    /// Settings of which none is as it is by default.
    fn others() -> EnvironmentSettings {
        let usual = EnvironmentSettings::default();
        EnvironmentSettings {
            query_timeout_ms: usual.query_timeout_ms + 1,
            max_concurrent_queries: usual.max_concurrent_queries + 1,
            cache_enabled: !usual.cache_enabled,
            heal: Heal::Off,
            test_mode: !usual.test_mode,
        }
    }

    #[test]
    fn settings_of_a_resource_are_read_as_they_are_written() {
        for settings in [others(), EnvironmentSettings::default()] {
            for heal in Heal::ALL {
                let settings = EnvironmentSettings { heal: *heal, ..settings };
                let said = serde_json::from_value(decided(&settings.into())).unwrap();
                assert_eq!(read(&said), settings);
            }
        }
        let change = others().since(&EnvironmentSettings::default());
        assert_eq!(change, others().into(), "each is another than by default");
    }

    #[test]
    fn settings_of_a_resource_have_the_defaults_and_bounds_of_the_api() {
        assert_eq!(read(&crds::EnvironmentSettings::default()), EnvironmentSettings::default());
        let resource = json!(crds::Environment::crd());
        let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/settings/properties";
        let schema = resource.pointer(schema).unwrap();
        assert_eq!(schema.as_object().unwrap().len(), EnvironmentSettings::NAMES.len());
        let undecided = decided(&EnvironmentSettingsChange::default());
        for bounds in EnvironmentSettings::BOUNDS {
            let change = serde_json::from_value(json!({bounds.name: bounds.most})).unwrap();
            let decided = decided(&change);
            let mut members = decided.as_object().unwrap().iter();
            let (name, _) = members.find(|(name, value)| undecided[*name] != **value).unwrap();
            let bound = |end: &str| format!("{:.0}", schema[name][end].as_f64().unwrap());
            let expected = (bounds.least.to_string(), bounds.most.to_string());
            assert_eq!((bound("minimum"), bound("maximum")), expected, "{name}");
        }
    }
}
