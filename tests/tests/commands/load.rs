//! `sluice load`: a file from a terminal into a table, and back.

use serde_json::json;
use tests::World;

use super::{command, run, sluice};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_becomes_a_table_and_is_added_to() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cities = path("cities.csv", "id,name,since\n1,Bonn,0011-01-01\n2,\"Köln, am Rhein\",\n");
    let shown = sluice(&world, &["load", &cities, "--dry-run"]).await;
    assert!(shown.err.contains("nothing loaded"), "{shown:?}");
    let shown = shown.ok();
    assert!(shown.starts_with("id BIGINT   name VARCHAR     since DATE\n1           Bonn"), "{shown}");
    let loaded = sluice(&world, &["load", &cities, "-o", "json"]).await.json();
    assert_eq!((&loaded["table"], &loaded["rows_loaded"]), (&json!("main.cities"), &json!(2)));
    let more = path("more.jsonl", "{\"id\": 3, \"name\": \"Ulm\"}\n");
    let added = sluice(&world, &["load", &more, "--table", "cities", "--mode", "append"]).await.ok();
    assert!(added.contains("main.cities"), "{added}");
    let piped = &["load", "-", "--format", "csv", "--table", "cities", "--mode", "append", "-o", "json"];
    assert_eq!(run(command(&world, &world.key, piped), "name,id\nTrier,4\n").await.json()["rows_loaded"], 1);
    let rows = world.rows(&world.key, "select id, name from cities order by id").await;
    assert_eq!(rows, json!([[1, "Bonn"], [2, "Köln, am Rhein"], [3, "Ulm"], [4, "Trier"]]));
    let broken = path("broken.csv", "id,name\n5,Hof\n6\n");
    let refused = sluice(&world, &["load", &broken, "--table", "cities", "--mode", "append"]).await;
    assert!(refused.code == 2 && refused.err.contains("line 3 of the file"), "{refused:?}");
    assert_eq!(world.rows(&world.key, "select count(*) from cities").await, json!([[4]]));
    let again = sluice(&world, &["load", &cities]).await;
    assert!(again.code != 0 && again.err.contains("CONFLICT"), "{again:?}");
    world.end().await;
}
