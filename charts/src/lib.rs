//! The chart and manifests that a platform team installs, as far as they are made from the types of the product.
//!
//! Printed and compared, never edited: the roles, from the tables of requests that operator and
//! control plane make; the custom resource definitions; the values with their schema and their
//! table; the samples; dashboards and the page of metrics. The templates of the chart and its alerts are written by
//! hand. `chartgen` writes what is printed, a test compares it with what is committed.
#![forbid(unsafe_code)]

mod alerts;
mod dashboards;
mod definitions;
mod measured;
mod roles;
mod samples;
mod schema;
#[cfg(test)]
mod tests;
pub mod values;

use std::path::Path;

pub use values::Values;

/// A file that is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// From the root of the repository.
    pub path: &'static str,
    pub text: String,
}

/// A file cannot be printed, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    #[error("{0} has the characters that begin a template's action")]
    Braces(&'static str),
    #[error("the schema has no {0}")]
    Schema(&'static str),
    #[error("{0}: {1}")]
    File(&'static str, std::io::Error),
}

/// Every file that is printed.
pub fn printed() -> Result<Vec<Printed>, Error> {
    let file = |path, text| Printed { path, text };
    let mut files = vec![
        file("charts/sluice/templates/crds.yaml", definitions::template()?),
        file("charts/sluice/templates/_rules.tpl", roles::template()),
        file("charts/sluice/values.schema.json", schema::json()?),
        file("charts/sluice/values.yaml", schema::values()?),
        file("charts/sluice/VALUES.md", schema::table()?),
        file("charts/sluice/METRICS.md", measured::page()?),
    ];
    for (path, text) in dashboards::all()?.into_iter().chain(samples::all()?) {
        files.push(file(path, text));
    }
    Ok(files)
}

/// The printed files that are missing below this root, or are not what they would be.
pub fn stale(root: &Path) -> Result<Vec<&'static str>, Error> {
    let committed = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    Ok(printed()?
        .into_iter()
        .filter(|file| committed(file.path).as_ref() != Some(&file.text))
        .map(|f| f.path)
        .collect())
}

/// Writes what is stale, and says what that was.
pub fn write(root: &Path) -> Result<Vec<&'static str>, Error> {
    let stale = stale(root)?;
    for file in printed()?.into_iter().filter(|file| stale.contains(&file.path)) {
        let path = root.join(file.path);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).map_err(|error| Error::File(file.path, error))?;
        std::fs::write(&path, file.text).map_err(|error| Error::File(file.path, error))?;
    }
    Ok(stale)
}

/// YAML of anything, by way of JSON text: only there is a number of arbitrary precision a number.
fn yaml(value: &impl serde::Serialize) -> Result<String, Error> {
    let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&serde_json::to_string(value)?)?;
    Ok(serde_yaml_ng::to_string(&value)?)
}
