//! The names of the engine's own settings, of every version there was: a session may have a
//! variable of any other name.

/// One name a line, from the engine's `duckdb_settings()`, with those of older versions.
const NAMES: &str = include_str!("settings.txt");

/// Is this (in lower case) a setting of the engine?
pub fn is_one(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    NAMES.lines().any(|known| known == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_holds_what_matters_most() {
        assert!(NAMES.lines().is_sorted());
        for name in ["memory_limit", "threads", "lock_configuration", "max_execution_time", "global.temp_directory"] {
            assert!(is_one(name), "{name}");
        }
        assert!(!is_one("my_variable") && !is_one(""));
    }
}
