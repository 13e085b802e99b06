//! The sample tables, made by a process of its own before the engine serves them.

use std::path::Path;
use std::process::Command;

use crate::world::{in_folder, write};

#[tokio::test]
async fn each_table_of_the_sample_has_the_primary_key_that_tpc_h_says() {
    let folder = tempfile::tempdir().unwrap();
    let extensions = std::env::var_os("SLUICE_EXTENSIONS").expect("SLUICE_EXTENSIONS, as ./dev sets it");
    let extension = Path::new(&extensions).join("tpch.duckdb_extension");
    let mut seeding = Command::new(env!("CARGO_BIN_EXE_engine"));
    seeding.arg(folder.path().join("data")).arg(extension).arg("0.01");
    assert!(seeding.status().unwrap().success(), "TPC-H could not be generated");
    let world = in_folder(folder).await;
    let catalog = world.catalog().await.unwrap();
    let keys = catalog.tables.iter().map(|table| (table.name.as_str(), table.primary_key.join(", ")));
    let keys: Vec<_> = keys.map(|(name, key)| format!("{name} ({key})")).collect();
    assert_eq!(
        keys,
        [
            "customer (c_custkey)",
            "lineitem (l_orderkey, l_linenumber)",
            "nation (n_nationkey)",
            "orders (o_orderkey)",
            "part (p_partkey)",
            "partsupp (ps_partkey, ps_suppkey)",
            "region (r_regionkey)",
            "supplier (s_suppkey)",
        ]
    );
    let mut session = world.session().await.unwrap();
    let twice = write(&mut session, "insert into nation select * from nation where n_nationkey = 7").await;
    assert!(twice.is_err(), "GERMANY is there once");
}
