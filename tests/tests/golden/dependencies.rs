//! Who may depend on whom (ARCHITECTURE.md, crates).

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Direct dependencies of each of our packages, those of tests left out.
fn direct() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = MetadataCommand::new()
        .manifest_path("../Cargo.toml")
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap();
    metadata
        .packages
        .iter()
        .map(|package| {
            let names = package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Development)
                .map(|dependency| dependency.name.clone());
            (package.name.to_string(), names.collect())
        })
        .collect()
}

fn users_of(library: &str) -> BTreeSet<String> {
    direct().into_iter().filter(|(_, uses)| uses.contains(library)).map(|(package, _)| package).collect()
}

#[test]
fn only_the_engine_links_duckdb() {
    assert_eq!(users_of("duckdb"), BTreeSet::from(["engine".to_owned()]));
}

#[test]
fn only_the_control_plane_speaks_to_postgresql_through_sqlx() {
    assert_eq!(users_of("sqlx"), BTreeSet::from(["controlplane".to_owned(), "platform".to_owned()]));
}

#[test]
fn servers_of_tests_are_linked_into_no_program() {
    assert_eq!(users_of("test-servers"), BTreeSet::new());
}

#[test]
fn kubernetes_stays_where_it_belongs() {
    let allowed = ["cluster", "crds", "operator", "controlplane", "kubernetes", "sluice", "tests"];
    for package in users_of("kube").union(&users_of("k8s-openapi")) {
        assert!(allowed.contains(&package.as_str()), "{package}");
    }
}

#[test]
fn what_both_planes_share_has_no_async_runtime() {
    let direct = direct();
    for package in ["contract", "sql", "crds"] {
        for runtime in ["tokio", "futures", "async-trait", "axum", "tonic"] {
            assert!(!direct[package].contains(runtime), "{package} uses {runtime}");
        }
    }
}

#[test]
fn the_planes_do_not_depend_on_each_other() {
    let direct = direct();
    let ours: BTreeSet<_> = direct.keys().cloned().collect();
    let of_ours = |package: &str| direct[package].intersection(&ours).cloned().collect::<Vec<_>>();
    assert_eq!(of_ours("contract"), Vec::<String>::new());
    assert_eq!(of_ours("sql"), ["contract"]);
    assert_eq!(of_ours("engine"), Vec::<String>::new());
    assert_eq!(of_ours("crds"), Vec::<String>::new());
    assert_eq!(of_ours("dashboard"), Vec::<String>::new());
    assert_eq!(of_ours("connections"), Vec::<String>::new());
    assert_eq!(of_ours("controlplane"), ["contract", "crds", "platform", "telemetry"]);
    assert_eq!(of_ours("platform"), ["connections", "contract", "telemetry"]);
    assert_eq!(of_ours("controlplane-program"), ["controlplane", "dashboard", "sql"]);
    assert_eq!(of_ours("dataplane"), ["connections", "contract", "engine", "sql", "telemetry"]);
    assert_eq!(of_ours("telemetry"), ["contract"]);
}
