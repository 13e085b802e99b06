//! The settings of an environment that reach its data plane: one list, with defaults and bounds.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Heal;

/// A setting that is not within its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is from {least} to {most}")]
pub struct OutOfBounds {
    pub name: &'static str,
    pub least: i64,
    pub most: i64,
}

macro_rules! environment_settings {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $default:expr $(, from $least:literal to $most:literal)?;)+) => {
        /// Settings of an environment, as REST answers them, a snapshot carries them and a row keeps them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(description = "")]
        pub struct EnvironmentSettings { $($(#[$attribute])* pub $name: $type),+ }

        /// Settings that are given, or that differ; `None` stays.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "EnvironmentSettingsInput", description = "")]
        #[serde(deny_unknown_fields)]
        pub struct EnvironmentSettingsChange { $(pub $name: Option<$type>),+ }

        impl Default for EnvironmentSettings {
            fn default() -> Self { Self { $($name: $default),+ } }
        }

        impl EnvironmentSettings {
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];
            /// The settings that have bounds, and these.
            pub const BOUNDS: &'static [OutOfBounds] =
                &[$($(OutOfBounds { name: stringify!($name), least: $least, most: $most },)?)+];

            /// The settings after a change.
            pub fn with(&self, change: &EnvironmentSettingsChange) -> Result<Self, OutOfBounds> {
                $($(if change.$name.is_some_and(|given| !($least..=$most).contains(&given)) {
                    return Err(OutOfBounds { name: stringify!($name), least: $least, most: $most });
                })?)+
                Ok(Self { $($name: change.$name.unwrap_or(self.$name)),+ })
            }

            /// What of these settings is another than before.
            pub fn since(&self, before: &Self) -> EnvironmentSettingsChange {
                EnvironmentSettingsChange { $($name: (self.$name != before.$name).then_some(self.$name)),+ }
            }
        }

        impl From<EnvironmentSettings> for EnvironmentSettingsChange {
            fn from(settings: EnvironmentSettings) -> Self { Self { $($name: Some(settings.$name)),+ } }
        }
    };
}

environment_settings! {
    query_timeout_ms: i64 = 30_000, from 1 to 300_000;
    max_concurrent_queries: i32 = 100, from 1 to 10_000;
    cache_enabled: bool = true;
    /// How far a statement that fails may be corrected and run.
    #[serde(default)]
    #[schemars(!default)]
    heal: Heal = Heal::default();
    test_mode: bool = false;
}

impl EnvironmentSettings {
    /// How long a query may run, unless it asks for less.
    pub fn query_timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.query_timeout_ms).unwrap_or_default())
    }

    /// How many queries run at the same time.
    pub fn slots(&self) -> u32 {
        u32::try_from(self.max_concurrent_queries).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_outside_of_its_bounds_is_refused() {
        for OutOfBounds { name, least, most } in EnvironmentSettings::BOUNDS {
            for (given, is_taken) in [(least - 1, false), (*least, true), (*most, true), (most + 1, false)] {
                let change: EnvironmentSettingsChange =
                    serde_json::from_value(serde_json::json!({*name: given})).unwrap();
                let changed = EnvironmentSettings::default().with(&change);
                assert_eq!(changed.is_ok(), is_taken, "{name} {given}");
                if let Ok(changed) = changed {
                    assert_eq!(serde_json::json!(changed)[name], serde_json::json!(given));
                }
            }
        }
        let most = EnvironmentSettings::BOUNDS.iter().find(|bounds| bounds.name == "query_timeout_ms").unwrap().most;
        assert_eq!(u64::try_from(most), Ok(crate::wire::TIMEOUT_MS_MAX));
    }

    #[test]
    fn what_changes_is_what_differs() {
        let before = EnvironmentSettings::default();
        assert_eq!(before.since(&before), EnvironmentSettingsChange::default());
        let change = EnvironmentSettingsChange { heal: Some(Heal::Off), ..EnvironmentSettingsChange::default() };
        let after = before.with(&change).unwrap();
        assert_eq!((after.heal, after.since(&before)), (Heal::Off, change));
        assert_eq!(before.with(&after.into()).unwrap(), after);
    }
}
