//! Files of a stage under rules: no list, no name and no error tells whom the rules bind what these hide.

use contract::policy::MaskFunction;
use contract::{Code, Role};
use dataplane::testing::{analyst_id, filtering, masking};

use crate::copied::{put, ran, staged};
use crate::stage_files::by;
use crate::world::{World, world};

/// A stage with a file for each of two regions, and its id. Beside the owner there is a developer.
async fn regions() -> (World, String) {
    let world = world().await;
    let id = staged(&world, "create stage s file_format = (type = csv)").await;
    put(&world, &id, "EU/a.csv", "1,x\n");
    put(&world, &id, "US/b.csv", "secret,y\n");
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    (world, id)
}

#[tokio::test]
async fn files_are_listed_and_removed_by_nobody_whom_a_rule_of_their_stage_binds() {
    let (world, _) = regions().await;
    assert_eq!(world.analyst("list @s").await.unwrap().json.matches(".csv").count(), 2, "no rule binds them yet");
    for policy in [
        masking("main.@s", "$2", MaskFunction::Full),
        masking("@s", "METADATA$FILENAME", MaskFunction::Full),
        filtering("main.@s", "false"),
    ] {
        world.change(|rules| rules.policies = vec![policy.clone()]);
        for sql in ["list @s", "ls @s/EU", "list @s pattern = '.*US.*'", "remove @s", "rm @s/none"] {
            let refused = world.analyst(sql).await.unwrap_err();
            assert_eq!(refused.code(), Code::TableDenied, "{sql}: {refused}");
        }
        for (method, path) in [("GET", "files"), ("GET", "files/EU%2Fa.csv"), ("DELETE", "files/EU%2Fa.csv")] {
            let (status, told) = by(&world, analyst_id(), method, &format!("s/{path}"), "").await;
            let told = String::from_utf8_lossy(&told);
            assert!(status == 403 && !told.contains("md5"), "{method} {path}: {status} {told}");
        }
        assert_eq!(ran(&world, "list @s").await.matches(".csv").count(), 2, "the owner is exempt");
    }
    world.stop().await;
}

#[tokio::test]
async fn no_name_number_or_error_tells_of_records_that_a_filter_of_their_stage_hides() {
    let (world, id) = regions().await;
    world.change(|rules| rules.policies = vec![filtering("main.@s", "starts_with(\"METADATA$FILENAME\", 'EU/')")]);
    for (sql, expected) in [
        ("select metadata$filename, $1 from @s", r#"["EU/a.csv","1"]"#),
        ("select metadata$file_row_number is null from @s", "[true]"),
        ("select max(metadata$filename) from @s", r#"["EU/a.csv"]"#),
        ("select count(*) from @s where metadata$filename like 'US/%'", "[0]"),
        ("select count(*) from @s (pattern => '.*US.*')", "[0]"),
        ("select $1::integer from @s", "[1]"),
    ] {
        let got = world.analyst(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(got.json, expected, "{sql}");
    }
    assert!(world.run("select $1::integer from @s").await.is_err(), "the owner reads all of it");
    put(&world, &id, "US/c.csv", "4,z\n\n");
    let told = world.run("select $1 from @s").await.unwrap_err().to_string();
    assert!(told.starts_with("line 2 of US/c.csv"), "the owner is told of a broken file: {told}");
    for sql in ["select $1 from @s", "select count(*) from @s where metadata$filename like 'EU/%'"] {
        let told = world.analyst(sql).await.unwrap_err().to_string();
        assert!(told.contains("stage main.@s") && !told.contains("US") && !told.contains("line"), "{sql}: {told}");
    }
    world.stop().await;
}

#[tokio::test]
async fn no_sum_or_time_of_a_file_is_told_to_whom_a_rule_of_its_stage_binds() {
    let (world, _) = regions().await;
    let facts = ["metadata$file_content_key", "METADATA$FILE_LAST_MODIFIED", "\"METADATA$START_SCAN_TIME\""];
    for policy in [
        masking("main.@s", "$2", MaskFunction::Full),
        masking("@s", "METADATA$FILENAME", MaskFunction::Full),
        filtering("main.@s", "starts_with(\"METADATA$FILENAME\", 'EU/')"),
    ] {
        world.change(|rules| rules.policies = vec![policy.clone()]);
        for fact in facts {
            for sql in [format!("select {fact} from @s"), format!("select count(*) from @s where {fact} is null")] {
                let refused = world.analyst(&sql).await.unwrap_err();
                assert_eq!(refused.code(), Code::PolicyDenied, "{sql}: {refused}");
            }
            ran(&world, &format!("select count({fact}) from @s")).await;
        }
        world.analyst("select count(*), 'metadata$filename' from @s").await.unwrap();
    }
    world.change(|rules| rules.policies.clear());
    assert_eq!(world.analyst("select distinct length(metadata$file_content_key) from @s").await.unwrap().json, "[32]");
    world.stop().await;
}

#[tokio::test]
async fn no_load_by_a_query_names_or_removes_files_to_whom_a_rule_of_their_stage_binds() {
    let (world, _) = regions().await;
    ran(&world, "create table t (note varchar)").await;
    for policy in [
        masking("main.@s", "$1", MaskFunction::Full),
        masking("@s", "METADATA$FILENAME", MaskFunction::Full),
        filtering("main.@s", "true"),
    ] {
        world.change(|rules| rules.policies = vec![policy.clone()]);
        for options in ["", "on_error = continue", "purge = true"] {
            let sql = format!("copy into t from (select $2 from @s) {options}");
            let refused = world.analyst(&sql).await.unwrap_err();
            assert_eq!(refused.code(), Code::TableDenied, "{sql}: {refused}");
        }
    }
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    assert_eq!(ran(&world, "list @s").await.matches(".csv").count(), 2);
    ran(&world, "copy into t from (select $2 from @s)").await;
    assert_eq!(world.count("select count(*) from raw.main.t").await, 2, "the owner is exempt");
    world.stop().await;
}

#[tokio::test]
async fn a_column_that_counts_records_counts_none_that_a_filter_of_its_external_table_hides() {
    let (world, _) = regions().await;
    let made = "create external table numbered (region varchar as (split_part(metadata$filename, '/', 1)), \
                line bigint as (metadata$file_row_number)) location = @s auto_refresh = false file_format = (type = csv)";
    ran(&world, made).await;
    world.change(|rules| rules.policies = vec![filtering("numbered", "region = 'EU'")]);
    let seen = world.analyst("select region, line from numbered").await.unwrap();
    assert_eq!(seen.json, r#"["EU",null]"#);
    assert_eq!(ran(&world, "select count(line) from numbered").await, "[2]", "the owner is exempt");
    world.stop().await;
}

#[tokio::test]
async fn no_path_or_pattern_confirms_a_guess_at_names_that_are_masked() {
    let (world, _) = regions().await;
    world.change(|rules| rules.policies = vec![masking("@s", "METADATA$FILENAME", MaskFunction::Full)]);
    assert_eq!(world.analyst("select count(*) from @s").await.unwrap().json, "[2]");
    let compared = "select count(*) from @s where metadata$filename like 'US%'";
    assert_eq!(world.analyst(compared).await.unwrap().json, "[0]", "a condition compares what is shown");
    for sql in [
        "select count(*) from @s/US",
        "select count(*) from @s/US/none.csv",
        "select count(*) from @s (pattern => '.*US.*')",
    ] {
        let refused = world.analyst(sql).await.unwrap_err();
        assert_eq!(refused.code(), Code::PolicyDenied, "{sql}: {refused}");
    }
    world.run("select count(*) from @s/US").await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn no_unload_tells_whether_a_hidden_file_is_there() {
    let (world, _) = regions().await;
    world.change(|rules| rules.policies = vec![filtering("main.@s", "false")]);
    let unload = |path: &str, how: &str| {
        format!("copy into @s/{path} from (select 1 as a) file_format = (type = csv compression = none) {how}")
    };
    for path in ["US/b.csv", "US/none.csv"] {
        let refused = world.analyst(&unload(path, "single = true")).await.unwrap_err();
        assert_eq!(refused.code(), Code::PolicyDenied, "{path}: {refused}");
    }
    world.analyst(&unload("US/b", "include_query_id = true")).await.unwrap();
    world.analyst(&unload("US/b.csv", "single = true overwrite = true")).await.unwrap();
    assert_eq!(ran(&world, "list @s").await.matches(".csv").count(), 3);
    world.stop().await;
}

#[tokio::test]
async fn a_stage_of_another_environment_has_no_name_here() {
    let (world, _) = regions().await;
    ran(&world, "create file format f type = csv").await;
    ran(&world, "create table t (id varchar, note varchar)").await;
    for sql in [
        "list @other.main.s",
        "remove @other.main.s",
        "describe stage other.main.s",
        "select $1 from @other.main.s",
        "copy into t from @other.main.s",
        "copy into t from (select $1, $2 from @other.main.s)",
        "copy into @other.main.s/x from customer file_format = (type = csv)",
        "create external table e location = @other.main.s file_format = (type = csv)",
        "select * from table(infer_schema(location => '@other.main.s', file_format => 'f'))",
    ] {
        let refused = world.run(sql).await.err().unwrap_or_else(|| panic!("{sql}: it is answered"));
        assert!((400..500).contains(&refused.code().http()), "{sql}: {refused}");
    }
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    world.stop().await;
}
