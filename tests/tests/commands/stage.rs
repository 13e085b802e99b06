//! `sluice stage`: files from a terminal into a stage, and back.

use serde_json::json;
use tests::World;

use super::{command, run, sluice};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_into_a_stage_and_comes_back_as_it_was() {
    let world = World::new().await;
    world.rows(&world.key, "create stage files").await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let cities = path("cities.csv");
    std::fs::write(&cities, "id,name\n1,Bonn\n").unwrap();
    let put = sluice(&world, &["stage", "put", &cities, "@files/2026/", "-o", "json"]).await.json();
    assert_eq!((&put["path"], &put["bytes"]), (&json!("2026/cities.csv"), &json!(15)));
    run(command(&world, &world.key, &["stage", "put", "-", "@main.files/b c"]), "piped").await.ok();
    let listed = sluice(&world, &["stage", "ls", "@files", "-o", "json"]).await.json();
    let paths: Vec<_> = listed.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["2026/cities.csv", "b c"]);
    assert_eq!(sluice(&world, &["stage", "get", "@files/b c", "-"]).await.ok(), "piped");
    let copy = path("copy.csv");
    sluice(&world, &["stage", "get", "@files/2026/cities.csv", &copy]).await.ok();
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&cities).unwrap());
    let again = sluice(&world, &["stage", "get", "@files/b c", &copy]).await;
    assert!(again.code == 2 && again.err.contains("is there already"), "{again:?}");
    sluice(&world, &["stage", "rm", "@files/b c"]).await.ok();
    let missing = sluice(&world, &["stage", "get", "@files/b c", &path("none")]).await;
    assert!(missing.code != 0 && missing.err.contains("the stage has no file b c"), "{missing:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left of what was not taken");
    world.end().await;
}
