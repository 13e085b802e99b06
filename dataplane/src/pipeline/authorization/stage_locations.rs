//! External stages by where their files are: the same files may have several names, and rules hold for all of them.
//!
//! Two stages share files where the URL of one is that of the other or below it, whatever their storage integrations: two
//! integrations may lead to one store, which nothing here can tell.

use std::sync::Arc;

use contract::policy::abac::StorageUse;
use sql::{StageLocation, StagePlace};

use crate::governance::table_path::table_ref;

/// The external stages that there are, and the tables over them.
#[derive(Debug, Clone, Default)]
pub(in crate::pipeline) struct ExternalStages(Vec<ExternalStage>);

#[derive(Debug, Clone)]
struct ExternalStage {
    /// `schema.@stage`; of a table, `schema.table`.
    path: String,
    /// None where it cannot be read: then it may be anywhere.
    location: Option<StageLocation>,
}

impl ExternalStages {
    pub fn of(known: &sql::Catalog) -> Self {
        let stages = sql::external_stages(known);
        let over = |table: &Arc<sql::Table>| {
            let kept = table.external.as_ref()?;
            let location = stages.iter().find(|stage| stage.id == kept.stage_id)?.location.clone();
            Some(ExternalStage { path: table.path(), location })
        };
        let tables: Vec<ExternalStage> = known.tables().filter_map(over).collect();
        let stage = |StagePlace { path, location, .. }: &StagePlace| ExternalStage {
            path: path.clone(),
            location: location.clone(),
        };
        Self(stages.iter().map(stage).chain(tables).collect())
    }

    /// The same, with a stage that is made at this location, under each path that its name may mean.
    pub fn with_made(self: &Arc<Self>, location: Option<&StageLocation>, paths: &[String]) -> Arc<Self> {
        let Some(location) = location else { return Arc::clone(self) };
        let stages = paths.iter().filter(|path| table_ref(path).stage().is_some());
        let made = stages.map(|path| ExternalStage { path: path.clone(), location: Some(location.clone()) });
        Arc::new(Self(self.0.iter().cloned().chain(made).collect()))
    }

    /// How whoever uses these tables and stages reaches files outside of the environment.
    pub fn used(&self, paths: &[String]) -> StorageUse<'_> {
        let locations = self.at(paths).filter_map(|stage| stage.location.as_ref());
        StorageUse {
            integrations: locations.map(|location| location.integration.as_str()).collect(),
            sharing: self.sharing(paths).map(table_ref).collect(),
        }
    }

    /// The paths of other stages whose files are also those of one of these.
    pub fn sharing(&self, paths: &[String]) -> impl Iterator<Item = &str> {
        // a table over a stage is ruled by its own name
        let own: Vec<&ExternalStage> = self.at(paths).filter(|one| one.is_stage()).collect();
        let others = self.0.iter().filter(|other| other.is_stage());
        let others = others.filter(move |other| own.iter().any(|one| !one.is(&other.path) && one.shares(other)));
        others.map(|other| other.path.as_str())
    }

    fn at(&self, paths: &[String]) -> impl Iterator<Item = &ExternalStage> {
        self.0.iter().filter(move |stage| paths.iter().any(|path| stage.is(path)))
    }
}

impl ExternalStage {
    fn is_stage(&self) -> bool {
        table_ref(&self.path).stage().is_some()
    }

    fn is(&self, path: &str) -> bool {
        self.path.eq_ignore_ascii_case(path)
    }

    fn shares(&self, other: &Self) -> bool {
        match (&self.location, &other.location) {
            // each ends with a slash, so no name is taken for the beginning of another
            (Some(one), Some(other)) => one.url.starts_with(&other.url) || other.url.starts_with(&one.url),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(all: &[(&str, Option<&str>)]) -> ExternalStages {
        let stage = |(path, url): &(&str, Option<&str>)| ExternalStage {
            path: (*path).to_owned(),
            location: url.map(|url| StageLocation { url: url.to_owned(), integration: format!("of {path}") }),
        };
        ExternalStages(all.iter().map(stage).collect())
    }

    fn sharing(stages: &ExternalStages, path: &str) -> String {
        stages.sharing(&[path.to_owned()]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn stages_share_files_where_one_is_at_the_other_or_below_it() {
        let stages = stages(&[
            ("main.@all", Some("s3://lake/")),
            ("main.@in", Some("s3://lake/in/")),
            ("raw.@in", Some("s3://lake/in/")),
            ("main.@inner", Some("s3://lake/in/a/")),
            ("main.@inn", Some("s3://lake/inn/")),
            ("main.@other", Some("s3://other/in/")),
        ]);
        for (path, shared) in [
            ("main.@IN", "main.@all raw.@in main.@inner"),
            ("main.@inner", "main.@all main.@in raw.@in"),
            ("main.@inn", "main.@all"),
            ("main.@other", ""),
            ("main.@internal", ""),
            ("main.in", ""),
        ] {
            assert_eq!(sharing(&stages, path), shared, "{path}");
        }
    }

    #[test]
    fn a_stage_that_cannot_be_read_may_have_any_files() {
        let stages = stages(&[("main.@a", Some("s3://lake/a/")), ("main.@lost", None)]);
        assert_eq!(["main.@a", "main.@lost"].map(|path| sharing(&stages, path)), ["main.@lost", "main.@a"]);
    }

    #[test]
    fn a_stage_that_is_made_over_another_shares_its_files_before_it_is_there() {
        let there = Arc::new(stages(&[("main.@a", Some("s3://lake/a/"))]));
        let location = StageLocation { url: "s3://lake/".to_owned(), integration: "lake".to_owned() };
        let paths = ["main.@copy".to_owned(), "main.t".to_owned()];
        let made = there.with_made(Some(&location), &paths);
        assert_eq!(sharing(&made, "main.@copy"), "main.@a");
        assert_eq!(made.used(&paths).integrations, ["lake"]);
        assert!(there.with_made(None, &paths).used(&paths).integrations.is_empty());
    }
}
