//! A part of the tools, for a model that has no room for all of them: `/mcp?tools=sql,store_memory`.

use std::collections::BTreeSet;

use axum::extract::Query;
use axum::http::Uri;
use serde::Deserialize;

use super::{TABLE, ToolDefinition, all};
use crate::Error;
use crate::limits::invalid;

#[derive(Debug, Deserialize)]
struct WantedTools {
    tools: Option<String>,
}

/// Groups and names of the tools that a client wants; of one that does not say, all.
#[derive(Debug, Clone, Default)]
pub struct ToolChoice(Option<BTreeSet<String>>);

impl ToolChoice {
    /// By `tools` of the URL, groups or names with commas between.
    pub fn of(url: &Uri) -> Result<Self, Error> {
        let asked = Query::<WantedTools>::try_from_uri(url).map_err(|_| refused("what it is cannot be read"))?;
        let Some(tools) = asked.0.tools else { return Ok(Self::default()) };
        let wanted: BTreeSet<String> = tools.split(',').map(|word| word.trim().to_owned()).collect();
        match wanted.iter().find(|word| !TABLE.iter().any(|row| is(row, word))) {
            Some(unknown) => Err(refused(&format!("none is named `{unknown}`"))),
            None => Ok(Self(Some(wanted))),
        }
    }

    pub fn holds(&self, row: &ToolDefinition) -> bool {
        self.0.as_ref().is_none_or(|wanted| wanted.iter().any(|word| is(row, word)))
    }
}

fn is(row: &ToolDefinition, word: &str) -> bool {
    row.group == word || row.tool.name == word
}

fn refused(why: &str) -> Error {
    let groups: BTreeSet<_> = all().map(|row| row.group).collect();
    let groups = groups.into_iter().collect::<Vec<_>>().join(", ");
    invalid("tools", format!("`tools` of the URL is names of tools or groups of them ({groups}): {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str) -> Option<Vec<String>> {
        let choice = ToolChoice::of(&url.parse().unwrap()).ok()?;
        Some(all().filter(|row| choice.holds(row)).map(|row| row.tool.name.to_string()).collect())
    }

    #[test]
    fn tools_are_chosen_by_group_and_by_name() {
        let counted = |url: &str| chosen(url).map(|names| names.len());
        for (url, count) in [
            ("/mcp", 24),
            ("/mcp?other=1", 24),
            ("/mcp?tools=sql", 7),
            ("/mcp?tools=memory", 5),
            ("/mcp?tools=reasoning", 3),
            ("/mcp?tools=triggers", 4),
            ("/mcp?tools=branches", 5),
            ("/mcp?tools=sql,memory", 12),
        ] {
            assert_eq!(counted(url), Some(count), "{url}");
        }
        assert_eq!(chosen("/mcp?tools=store_memory,%20run_sql").unwrap(), ["run_sql", "store_memory"]);
        for url in ["/mcp?tools=", "/mcp?tools=sql,", "/mcp?tools=slq", "/mcp?tools=sql&tools=memory"] {
            assert_eq!(chosen(url), None, "{url}");
        }
    }
}
