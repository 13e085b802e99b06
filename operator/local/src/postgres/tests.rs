//! With the real server. `SLUICE_PG`, or what `./dev prepare` fetched, says where it is.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// A folder for one test's server, which [`NOBODY`] may own.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn places(&self) -> Places {
        Places::within(&installation(), self.folder.path())
    }

    async fn start(&self) -> Postgres {
        Postgres::start(self.places(), Durability::ForTests).await.unwrap()
    }
}

fn installation() -> PathBuf {
    std::env::var_os("SLUICE_PG").map_or_else(|| PathBuf::from("../../.sluice/pg"), PathBuf::from)
}

async fn sql(server: &Postgres, statement: &str) -> String {
    let psql = Command::new(installation().join("bin/psql"))
        .args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, &server.url("postgres")])
        .output()
        .await
        .unwrap();
    assert!(psql.status.success(), "{}", String::from_utf8_lossy(&psql.stderr));
    String::from_utf8(psql.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_dropped_lock_is_free_while_a_copy_of_its_descriptor_is_open() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lock");
    let held = lock(&path).unwrap();
    let _inherited = held.0.try_clone().unwrap();
    drop(held);
    lock(&path).unwrap();
}

#[tokio::test]
async fn what_was_written_is_there_after_a_stop_and_a_start() {
    let world = World::new();
    let server = world.start().await;
    sql(&server, "create table t as select 42 as answer").await;
    server.stop().await.unwrap();
    assert_eq!(sql(&world.start().await, "select answer from t").await, "42");
}

#[tokio::test]
async fn it_sorts_and_folds_the_same_on_every_machine() {
    let world = World::new();
    let server = world.start().await;
    let said = "select upper('é'), 'a' < 'B' collate \"default\", current_setting('timezone')";
    assert_eq!(sql(&server, said).await, "É|f|UTC");
}

#[tokio::test]
async fn another_server_asks_for_a_password_at_its_port_and_trusts_nobody_there() {
    let world = World::new();
    let _own = world.start().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let another = Postgres::start(world.places().another("attached", port), Durability::ForTests).await.unwrap();
    let made = "create role reader login password 'open-sesame'; create table t as select 42 as answer; \
                grant select on t to reader;";
    another.run(made).await.unwrap();
    let answered = async |user: &str, password: &str| {
        let url = format!("postgresql://{user}@127.0.0.1:{port}/postgres");
        let mut psql = Command::new(installation().join("bin/psql"));
        psql.args(["-X", "-A", "-t", "-w", "-c", "select answer from t", &url]).env("PGPASSWORD", password);
        String::from_utf8(psql.output().await.unwrap().stdout).unwrap()
    };
    assert_eq!(answered("reader", "open-sesame").await, "42\n");
    for (user, password) in [("reader", "other"), ("reader", ""), (USER, ""), (USER, "open-sesame")] {
        assert_eq!(answered(user, password).await, "", "{user} with {password:?}");
    }
    let refused = another.run("alter role nobody_here password 'open-sesame'").await.unwrap_err().to_string();
    assert!(refused.contains("nobody_here") && !refused.contains("sesame"), "{refused}");
    another.stop().await.unwrap();
}

#[tokio::test]
async fn it_listens_on_no_port() {
    let world = World::new();
    let server = world.start().await;
    assert_eq!(sql(&server, "show listen_addresses").await, "");
}

#[tokio::test]
async fn a_folder_in_use_is_refused() {
    let world = World::new();
    let _server = world.start().await;
    let second = Postgres::start(world.places(), Durability::ForTests).await;
    assert!(matches!(second, Err(Error::InUse(_))), "{second:?}");
}

#[tokio::test]
async fn a_server_that_lost_its_owner_is_stopped_and_its_rows_are_kept() {
    let world = World::new();
    world.start().await.stop().await.unwrap();
    let mut orphan = spawn(&world.places(), Durability::Kept).unwrap();
    while !readiness::answers(&world.places().socket(PORT), USER).await {
        sleep(POLL).await;
    }
    let server = world.start().await;
    assert!(orphan.wait().await.unwrap().success());
    assert_eq!(sql(&server, "select 1").await, "1");
}

#[tokio::test]
async fn a_left_pid_file_that_names_somebody_else_is_no_hindrance() {
    let world = World::new();
    world.start().await.stop().await.unwrap();
    let file = world.places().data.join("postmaster.pid");
    fs::write(file, format!("{}\n", std::process::id())).unwrap();
    assert_eq!(sql(&world.start().await, "select 1").await, "1");
}

#[tokio::test]
async fn a_killed_server_is_noticed_and_recovers_what_was_acknowledged() {
    let world = World::new();
    let mut server = Postgres::start(world.places(), Durability::Kept).await.unwrap();
    sql(&server, "create table t as select 42 as answer").await;
    kill(server.pid().unwrap(), Signal::SIGKILL).unwrap();
    assert!(!server.ended().await.unwrap().success());
    drop(server);
    assert_eq!(sql(&world.start().await, "select answer from t").await, "42");
}

#[tokio::test]
async fn files_that_were_never_finished_are_made_anew() {
    let world = World::new();
    world.places().prepare().unwrap();
    let unfinished = world.places().data.with_extension("new");
    fs::create_dir(&unfinished).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "1").unwrap();
    assert_eq!(sql(&world.start().await, "select 1").await, "1");
}

#[tokio::test]
async fn a_broken_start_shows_the_servers_own_words() {
    let world = World::new();
    world.start().await.stop().await.unwrap();
    fs::write(world.places().data.join("postgresql.conf"), "no such setting").unwrap();
    let error = Postgres::start(world.places(), Durability::Kept).await.unwrap_err();
    assert!(error.to_string().contains("syntax error in file"), "{error}");
}

#[tokio::test]
async fn a_path_no_socket_can_have_is_refused_before_anything_is_made() {
    let world = World::new();
    let deep = world.folder.path().join("x".repeat(120));
    let places = Places::within(&installation(), &deep);
    let error = Postgres::start(places, Durability::ForTests).await.unwrap_err();
    assert!(matches!(error, Error::PathTooLong(_)), "{error}");
    assert!(!deep.exists());
}

#[tokio::test]
async fn without_an_installation_it_says_how_to_get_one() {
    let world = World::new();
    let places = Places::within(&world.folder.path().join("nothing"), world.folder.path());
    let error = Postgres::start(places, Durability::ForTests).await.unwrap_err();
    assert!(error.to_string().contains("./dev prepare"), "{error}");
}

#[tokio::test]
async fn a_removed_state_folder_takes_its_data_along() {
    let world = World::new();
    let state = world.folder.path().join("state");
    let mut own = PathBuf::new();
    for _ in 0..2 {
        fs::create_dir(&state).unwrap();
        let places = Places::of(&installation(), &state).unwrap();
        places.data.parent().unwrap().clone_into(&mut own);
        let server = Postgres::start(places, Durability::ForTests).await.unwrap();
        sql(&server, "create table t ()").await; // the second time it would be there already
        server.stop().await.unwrap();
        fs::remove_dir_all(&state).unwrap();
    }
    let _ = fs::remove_dir_all(own); // outside the state folder when root
}

#[tokio::test]
async fn the_same_state_folder_finds_its_data_again() {
    let world = World::new();
    let first = Places::of(&installation(), world.folder.path()).unwrap();
    first.prepare().unwrap();
    fs::create_dir(&first.data).unwrap();
    let second = Places::of(&installation(), world.folder.path()).unwrap();
    assert!(second.data == first.data && second.data.is_dir());
    fs::remove_dir_all(first.data.parent().unwrap()).unwrap();
}
