use futures::FutureExt;

use super::*;
use crate::server::callbacks::CALLBACKS;
use crate::testing::TestApp;

/// One that hears of others what a test lets it hear.
fn alone() -> Arc<Publisher> {
    let pool = PgPool::connect_lazy("postgresql://nobody@localhost/none").unwrap();
    Arc::new(Publisher::new(pool, Keyring::new([7; 32]), Arc::default(), "this".to_owned()))
}

fn peers() -> [SocketAddr; 2] {
    ["10.0.0.1:1", "10.0.0.2:1"].map(|peer| peer.parse().unwrap())
}

fn waits(publisher: &Publisher, env_id: &EnvId, version: u64) -> bool {
    publisher.attached.in_force(env_id, version).now_or_never().is_none()
}

#[tokio::test]
async fn a_change_is_in_force_when_all_who_follow_have_applied_it() {
    let publisher = alone();
    let env_id = EnvId::from("e");
    let [old, parked] = peers();
    let is_in_force = || !waits(&publisher, &env_id, 5);
    assert!(is_in_force(), "nobody follows: nobody is waited for");
    let _first = publisher.attach(&env_id, old, 4);
    let second = publisher.attach(&env_id, parked, 4);
    publisher.applied(&env_id, parked, 5);
    assert!(!is_in_force(), "the old one still rules by the rules before");
    publisher.applied(&env_id, old, 5);
    publisher.applied(&env_id, old, 3);
    assert!(is_in_force(), "a late word of an older version takes nothing back");
    let third = publisher.attach(&env_id, parked, 2);
    assert!(!is_in_force());
    drop((second, third));
    assert!(is_in_force(), "who is gone is not waited for");
}

#[tokio::test]
async fn a_replica_that_falls_silent_is_waited_for_once() {
    let publisher = alone();
    let env_id = EnvId::from("e");
    let _here = publisher.attach(&env_id, peers()[0], 9);
    let hear = |text: &str| publisher.replica.hear(&publisher.attached, text);
    hear(r#"{"replica": "other", "word": "followed", "env_id": "e", "least": 4}"#);
    assert!(waits(&publisher, &env_id, 5));
    publisher.attached.in_force(&env_id, 5).await;
    assert!(!waits(&publisher, &env_id, 6), "it is forgotten, those who follow here are not");
    assert!(waits(&publisher, &env_id, 10));
    hear(r#"{"replica": "other", "word": "followed", "env_id": "e", "least": 5}"#);
    assert!(waits(&publisher, &env_id, 6), "until it says something");
    hear(r#"{"replica": "other", "word": "leaves"}"#);
    assert!(!waits(&publisher, &env_id, 6));
    hear(r#"{"replica": "this", "word": "followed", "env_id": "e", "least": 4}"#);
    hear(r#"{"replica": "other", "word": "sings"}"#);
    hear("not for us");
    assert!(!waits(&publisher, &env_id, 6), "its own echo and what it cannot read are nothing to it");
}

/// Until it is so, however long that takes here.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// Another control plane over the same database; it ends with the token.
fn replica(app: &TestApp) -> (Arc<Publisher>, CancellationToken) {
    let other = App::new(app.app.config().clone(), app.parts(), CALLBACKS, app.app.pool().clone()).unwrap();
    (run(&other), other.shutdown().clone())
}

fn run(app: &App) -> Arc<Publisher> {
    let (publisher, shutdown) = (Publisher::of(app), app.shutdown().clone());
    let running = Arc::clone(&publisher);
    app.tasks().spawn(async move { running.run(shutdown).await });
    publisher
}

#[tokio::test]
async fn a_change_at_one_replica_waits_for_the_data_plane_that_follows_another() {
    let app = TestApp::start().await;
    let (follows, changes) = (run(&app.app), replica(&app));
    let changes = &changes.0;
    let env_id = EnvId::from("e");
    let [old, successor] = peers();
    let stream = follows.attach(&env_id, old, 4);
    until(|| waits(changes, &env_id, 5)).await;
    follows.applied(&env_id, old, 5);
    until(|| !waits(changes, &env_id, 5)).await;
    assert!(waits(changes, &env_id, 6), "it is the version that was said, and no later one");
    let parked = follows.attach(&env_id, successor, 3);
    until(|| waits(changes, &env_id, 4)).await;
    drop((stream, parked));
    until(|| !waits(changes, &env_id, 4)).await;
    assert!(!waits(&follows, &env_id, 4));
    app.app.shutdown().cancel();
}

#[tokio::test]
async fn who_begins_asks_who_follows_and_who_ends_says_so() {
    let app = TestApp::start().await;
    let (follows, ends) = replica(&app);
    let env_id = EnvId::from("e");
    let _stream = follows.attach(&env_id, peers()[0], 4);
    let (early, _) = replica(&app);
    until(|| waits(&early, &env_id, 5)).await;
    let (late, _) = replica(&app);
    until(|| waits(&late, &env_id, 5)).await;
    ends.cancel();
    until(|| !waits(&early, &env_id, 5) && !waits(&late, &env_id, 5)).await;
}
