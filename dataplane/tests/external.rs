//! External stages in SQL, in a folder of the host: held against their integration when they are made and at each use.

mod aliases;
mod ambient;
mod azure;
mod bucket;
mod columns;
mod holes;
mod whole_files;

use std::fs;

use contract::StorageIntegration;
use contract::storage_integration::{StorageCredentials, StorageKind};

use crate::world::{World, world};

struct Disk {
    world: World,
    folder: tempfile::TempDir,
}

impl Disk {
    async fn new() -> Self {
        let (world, folder) = (world().await, tempfile::tempdir().unwrap());
        let disk = Self { world, folder };
        disk.allows(&["in/", "out/"], true);
        disk
    }

    fn url(&self, path: &str) -> String {
        format!("file://{}/{path}", self.folder.path().display())
    }

    /// From now on the integration allows these folders, if any.
    fn allows(&self, folders: &[&str], enabled: bool) {
        let integration = StorageIntegration {
            name: "disk".to_owned(),
            kind: StorageKind::File { folder: self.folder.path().to_str().unwrap().to_owned() },
            allowed_prefixes: folders.iter().map(|folder| self.url(folder)).collect(),
            blocked_prefixes: vec![self.url("in/secret/")],
            enabled,
            credentials: StorageCredentials::Anonymous,
        };
        self.world.change(|rules| rules.storage_integrations = vec![integration]);
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    async fn stage(&self, name: &str, path: &str) -> String {
        let url = self.url(path);
        self.tried(&format!("create stage {name} url = '{url}' storage_integration = disk")).await
    }

    async fn ran(&self, sql: &str) -> String {
        self.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
    }

    /// What it answers, or why it does not.
    async fn tried(&self, sql: &str) -> String {
        match self.world.run(sql).await {
            Ok(got) => got.json,
            Err(error) => error.to_string(),
        }
    }
}

#[tokio::test]
async fn the_files_of_an_external_stage_are_listed_selected_loaded_and_removed() {
    let disk = Disk::new().await;
    disk.put("in/a.csv", "1,x\n2,y\n");
    disk.put("in/secret/s.csv", "3,z\n");
    disk.stage("s", "in").await;
    let listed = disk.ran("list @s").await;
    assert!(listed.contains("s/a.csv") && !listed.contains("secret"), "{listed}");
    assert_eq!(disk.ran("select $2 from @s order by 1").await, r#"["x"],["y"]"#);
    disk.ran("create table t (id integer, note varchar)").await;
    assert!(disk.ran("copy into t from @s").await.contains("LOADED"));
    assert!(disk.ran("copy into t from @s").await.contains("0 files"), "a file is loaded once");
    disk.put("in/a.csv", "7,q\n");
    assert!(disk.ran("copy into t from @s").await.contains("LOADED"), "another of its name is another file");
    assert_eq!(disk.world.count("select count(*) from t").await, 3);
    disk.put("in/p.csv", "9,p\n");
    disk.ran("copy into t from @s/p.csv purge = true").await;
    assert!(!disk.folder.path().join("in/p.csv").exists(), "it is loaded, and gone");
    assert!(disk.ran("remove @s/a").await.contains("removed"));
    assert!(!disk.folder.path().join("in/a.csv").exists() && disk.folder.path().join("in/secret/s.csv").exists());
    let shown = disk.ran("show stages").await;
    assert!(shown.contains("EXTERNAL") && shown.contains("\"disk\"") && shown.contains("/in/"), "{shown}");
    disk.world.stop().await;
}

#[tokio::test]
async fn rows_are_unloaded_to_an_external_stage_whole_or_not_at_all() {
    let disk = Disk::new().await;
    disk.stage("s", "out/").await;
    let unload = "copy into @s/r from (select id, name from customer) file_format = (type = csv compression = none)";
    disk.ran(unload).await;
    let place = disk.folder.path().join("out/r_0_0_0.csv");
    assert_eq!(fs::read_to_string(&place).unwrap().lines().count(), 3);
    let refused = disk.tried(unload).await;
    assert!(refused.contains("already"), "{refused}");
    disk.ran(&format!("{unload} overwrite = true")).await;
    let failed =
        "copy into @s/f from (select 1 / (id - 3) from customer) file_format = (type = csv compression = none)";
    disk.tried(failed).await;
    let several = "copy into @s/many/ from (select id, name from customer) max_file_size = 1 \
                   file_format = (type = csv compression = none) overwrite = true";
    disk.tried(several).await;
    let left: Vec<_> = fs::read_dir(disk.folder.path().join("out")).unwrap().flatten().collect();
    assert_eq!(left.iter().filter(|entry| entry.file_name().to_str().unwrap().starts_with('.')).count(), 0);
    disk.world.stop().await;
}

#[tokio::test]
async fn an_external_stage_reaches_what_its_integration_allows_at_each_use() {
    let disk = Disk::new().await;
    disk.put("in/a.csv", "1\n");
    disk.put("other/o.csv", "sesame\n");
    for (path, words) in [("other/", "does not allow"), ("", "does not allow"), ("in/secret/", "blocks")] {
        let said = disk.stage("s", path).await;
        assert!(said.contains(words), "{path}: {said}");
    }
    let said = disk.stage("s", "in/../other/").await;
    assert!(said.contains(". or .."), "{said}");
    let url = disk.url("in/");
    let said = disk.tried(&format!("create stage s url = '{url}' storage_integration = nope")).await;
    assert!(said.contains("there is no storage integration nope"), "{said}");
    let said = disk.tried(&format!("create stage s url = '{url}'")).await;
    assert!(said.contains("without STORAGE_INTEGRATION"), "{said}");
    disk.stage("s", "in/").await;
    disk.ran("create table t (id integer)").await;
    let uses = [
        "list @s",
        "select $1 from @s",
        "copy into t from @s",
        "remove @s/a",
        "copy into @s from customer file_format = (type = csv compression = none)",
    ];
    let changes: [(&[&str], bool, &str); 3] =
        [(&["other/"], true, "does not allow"), (&[], true, "does not allow"), (&["in/"], false, "is disabled")];
    for (folders, enabled, words) in changes {
        disk.allows(folders, enabled);
        for sql in uses {
            let said = disk.tried(sql).await;
            assert!(said.contains(words), "{sql}: {said}");
        }
    }
    disk.world.change(|rules| rules.storage_integrations.clear());
    for sql in uses {
        let said = disk.tried(sql).await;
        assert!(said.contains("there is no storage integration disk"), "{sql}: {said}");
    }
    assert!(disk.folder.path().join("in/a.csv").exists());
    disk.world.stop().await;
}

#[tokio::test]
async fn a_store_on_a_private_address_is_not_asked_and_no_secret_is_told() {
    let world = world().await;
    let key = contract::storage_integration::AccessKey {
        access_key_id: contract::Redacted::new("AKIDSESAME".to_owned()),
        secret_access_key: contract::Redacted::new("open-sesame".to_owned()),
        session_token: contract::Redacted::new(None),
    };
    // whoever is asked there would have a connection to take
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for endpoint in
        [format!("http://127.0.0.1:{port}"), format!("https://localhost:{port}"), "http://[::1]:1".to_owned()]
    {
        let integration = StorageIntegration {
            name: "lake".to_owned(),
            kind: StorageKind::S3 {
                endpoint: Some(endpoint.clone()),
                region: "eu-west-1".to_owned(),
                path_style: true,
            },
            allowed_prefixes: vec!["*".to_owned()],
            blocked_prefixes: vec![],
            enabled: true,
            credentials: StorageCredentials::AccessKey(key.clone()),
        };
        world.change(|rules| rules.storage_integrations = vec![integration]);
        world.run("create or replace stage s url = 's3://lake/in/' storage_integration = lake").await.unwrap();
        for sql in ["list @s", "select $1 from @s"] {
            let said = world.run(sql).await.unwrap_err().to_string();
            assert!(
                said.contains("lake") && !said.contains("127.0.0.1") && !said.contains("ESAME"),
                "{endpoint}: {said}"
            );
        }
    }
    assert!(listener.accept().is_err(), "nobody has connected");
    world.stop().await;
}

#[tokio::test]
async fn credentials_that_stay_sealed_reach_nothing_and_their_integration_is_named() {
    let world = world().await;
    let lake = StorageIntegration {
        name: "lake".to_owned(),
        kind: StorageKind::S3 { endpoint: None, region: "eu-west-1".to_owned(), path_style: false },
        allowed_prefixes: vec!["*".to_owned()],
        blocked_prefixes: vec![],
        enabled: true,
        credentials: StorageCredentials::Anonymous,
    };
    world.change(|rules| rules.storage_integrations = vec![lake]);
    let made = "create stage s url = 's3://lake/in/' storage_integration = lake";
    world.run(made).await.unwrap();
    world.change(|rules| {
        rules.storage_integrations[0].credentials = StorageCredentials::Sealed { text: "5e5a3e".to_owned() };
    });
    for sql in [
        "list @s",
        "select $1 from @s",
        "copy into customer from @s",
        "copy into @s from customer file_format = (type = csv)",
        made,
    ] {
        let refused = world.run(sql).await.unwrap_err();
        let told = refused.to_string();
        assert!(refused.code().http() == 503 && told.contains("lake") && !told.contains("5e5a3e"), "{sql}: {told}");
    }
    world.stop().await;
}
