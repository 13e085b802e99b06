//! Rights that the child gave up stay given up, whoever writes the SQL.

use engine::Kind;

use crate::world::{answer, world, write};

#[tokio::test]
async fn nothing_outside_the_database_is_read_written_or_loaded() {
    let world = world().await;
    let outside = world.path().join("outside.csv");
    std::fs::write(&outside, "a\n1\n").unwrap();
    let path = outside.display();
    let cases = [
        format!("select * from read_csv('{path}')"),
        format!("select * from '{path}'"),
        format!("select * from read_text('{path}')"),
        format!("select * from glob('{path}')"),
        "select * from read_csv('http://127.0.0.1:1/x.csv')".to_owned(),
    ];
    for sql in cases {
        let error = world.answer(&sql).await.expect_err(&sql);
        assert!(matches!(error.kind, Kind::Permission | Kind::CatalogMissing), "{sql}: {error}");
    }
    let mut session = world.session().await.unwrap();
    let writes = [
        format!("copy (select 1) to '{path}.out'"),
        format!("attach '{path}.db' as other"),
        format!("export database '{path}.dir'"),
        "install httpfs".to_owned(),
        "load httpfs".to_owned(),
        format!("load '{path}'"),
    ];
    for sql in writes {
        let error = write(&mut session, &sql).await.expect_err(&sql);
        assert!(matches!(error.kind, Kind::Permission), "{sql}: {error}");
    }
    assert_eq!(std::fs::read_dir(world.path()).unwrap().count(), 3, "data, run and the file itself");
}

/// One folder is open, and nothing by way of it. That the engine reads its own database file no setting changes.
#[tokio::test]
async fn no_path_leads_out_of_the_folder_of_files() {
    let world = world().await;
    std::fs::write(world.path().join("outside.csv"), "a\n1\n").unwrap();
    let spool = world.path().join("run/spool");
    std::fs::write(spool.join("inside.csv"), "a\n1\n").unwrap();
    std::os::unix::fs::symlink(world.path().join("outside.csv"), spool.join("link.csv")).unwrap();
    std::os::unix::fs::symlink(world.path(), spool.join("folder")).unwrap();
    let spool = spool.display();
    assert_eq!(world.answer(&format!("select * from read_csv('{spool}/inside.csv')")).await.as_deref(), Ok("1"));
    for path in [
        "../../outside.csv",
        "../spool/../../outside.csv",
        "./../../outside.csv",
        "link.csv",
        "folder/outside.csv",
        "../spill",
        "*/outside.csv",
    ] {
        let sql = format!("select content from read_text('{spool}/{path}')");
        let error = world.answer(&sql).await.expect_err(&sql);
        assert_eq!(error.kind, Kind::Permission, "{sql}: {error}");
    }
}

#[tokio::test]
async fn no_setting_can_be_changed_back() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    for sql in [
        "set global enable_external_access = true",
        "set enable_external_access = true",
        "reset global enable_external_access",
        "set global lock_configuration = false",
        "set global allowed_directories = ['/']",
        "reset global allowed_directories",
        "set memory_limit = '100GB'",
        "set threads = 64",
        "set temp_directory = '/tmp'",
        "set max_temp_directory_size = '1TB'",
        "set max_expression_depth = 100000",
        "set TimeZone = 'Europe/Berlin'",
        "set autoload_known_extensions = true",
    ] {
        assert!(write(&mut session, sql).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn the_settings_are_the_ones_that_were_meant() {
    let world = world().await;
    let settings = [
        ("TimeZone", "UTC"),
        ("memory_limit", "512.0 MiB"),
        ("max_temp_directory_size", "64.0 MiB"),
        ("threads", "2"),
        ("external_threads", "2"),
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("allow_persistent_secrets", "false"),
        ("max_expression_depth", "1000"),
        (
            "disabled_optimizers",
            "statistics_propagation,top_n_window_elimination,common_subplan,join_elimination,window_self_join",
        ),
        ("default_null_order", "NULLS_LAST_ON_ASC_FIRST_ON_DESC"),
    ];
    let mut session = world.session().await.unwrap();
    for (name, value) in settings {
        let got = answer(&mut session, &format!("select current_setting('{name}')::varchar"), &[]).await;
        assert_eq!(got.map(|got| got.to_lowercase()), Ok(value.to_lowercase()), "{name}");
    }
}

/// duckdb/duckdb#24302: a window that joined its own rows again read them twice.
#[tokio::test]
async fn a_window_over_a_random_sample_sees_one_sample() {
    let world = world().await;
    let sampled =
        "select i, sum(i) over (partition by g) s from (select 1 g, n i from range(1000) r(n) where random() < 0.5)";
    let asked = format!("select bool_and(s = t)::varchar from (select s, sum(i) over () t from ({sampled}))");
    for _ in 0..5 {
        assert_eq!(world.answer(&asked).await.as_deref(), Ok("true"));
    }
}

#[tokio::test]
async fn nothing_of_ours_is_left_open_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let world = world().await;
    for folder in ["data", "run", "run/spill", "run/spool"] {
        let mode = std::fs::metadata(world.path().join(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[tokio::test]
async fn more_than_one_statement_is_refused_before_any_runs() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let mut session = world.session().await.unwrap();
    let error = write(&mut session, "insert into t values (1); insert into t values (2)").await.unwrap_err();
    assert_eq!(error.kind, Kind::Parser);
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"));
}
