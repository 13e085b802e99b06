//! Settings stand and fall with the transaction that they are set in, and more isolation than there is is taken as what
//! there is.

use tokio_postgres::{Client, IsolationLevel};

use super::{refused, simple, wired};

/// Settings of every kind: one with an effect, one without, one that the client is told of, a variable, the agent's name.
const NAMES: [&str; 5] =
    ["statement_timeout", "lock_timeout", "application_name", "my.variable", "default_transaction_read_only"];

async fn shown(client: &Client, name: &str) -> String {
    simple(client, &format!("show {name}")).await.remove(0)
}

/// How a transaction ends, and whether it leaves what was set after its savepoint `a` for the session.
const ENDS: [(&str, bool); 6] = [
    ("commit", true),
    ("rollback", false),
    ("select * from nowhere; commit", false),
    ("release a; commit", true),
    ("rollback to a; commit", false),
    ("rollback to a; release a; rollback", false),
];

#[tokio::test]
async fn what_is_set_in_a_transaction_follows_its_end() {
    let wired = wired().await;
    for name in NAMES {
        for (end, stands) in ENDS {
            for (set, is_local) in [
                (format!("set {name} = 'off'"), false),
                (format!("set session {name} to 'off'"), false),
                (format!("select set_config('{name}', 'off', false)"), false),
                (format!("set local {name} = 'off'"), true),
                (format!("select set_config('{name}', 'off', true)"), true),
            ] {
                let (before, inside) = if name.ends_with("timeout") { ("7s", "9s") } else { ("on", "off") };
                let set = set.replace("'off'", &format!("'{inside}'"));
                let client = wired.owner().await;
                simple(&client, &format!("set {name} = '{before}'")).await;
                simple(&client, "begin read write; savepoint a").await;
                simple(&client, &set).await;
                assert_eq!(shown(&client, name).await, inside, "{set}");
                let mut ended = Ok(Vec::new());
                for step in end.split("; ") {
                    ended = client.simple_query(step).await;
                }
                ended.unwrap_or_else(|error| panic!("{end}: {error:?}"));
                let expected = if stands && !is_local { inside } else { before };
                assert_eq!(shown(&client, name).await, expected, "{set}; {end}");
            }
        }
    }
    wired.stop().await;
}

#[tokio::test]
async fn the_last_of_local_and_session_is_in_force_and_the_sessions_stays() {
    let wired = wired().await;
    let client = wired.owner().await;
    for (sets, inside, after) in [
        ("set x = 1; set local x = 2", "2", "1"),
        ("set local x = 1; set x = 2", "2", "2"),
        ("set x = 1; savepoint a; set local x = 2; release a", "2", "1"),
        ("set x = 1; savepoint a; set x = 2; savepoint b; set x = 3; rollback to a", "1", "1"),
        ("set local x = 5; reset x; set x = 6", "6", "6"),
    ] {
        simple(&client, &format!("set x = 0; begin; {sets}")).await;
        assert_eq!(shown(&client, "x").await, inside, "{sets}");
        simple(&client, "commit").await;
        assert_eq!(shown(&client, "x").await, after, "{sets}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn the_statements_of_one_query_are_one_transaction_for_settings_too() {
    let wired = wired().await;
    let client = wired.owner().await;
    refused(&client, "set x = 1; select * from nowhere").await;
    assert_eq!(refused(&client, "show x").await.code().code(), "42704");
    assert_eq!(simple(&client, "set local x = 1; show x").await, ["(0)", "1", "(0)"]);
    assert_eq!(refused(&client, "show x").await.code().code(), "42704");
    assert_eq!(wired.noticed().len(), 0);
    simple(&client, "set x = 1; begin; set x = 2; rollback").await;
    assert_eq!(refused(&client, "show x").await.code().code(), "42704", "PostgreSQL takes both back");
    wired.stop().await;
}

#[tokio::test]
async fn a_local_setting_outside_a_transaction_is_warned_of_and_ends_at_once() {
    let wired = wired().await;
    let client = wired.owner().await;
    for set in ["set local statement_timeout = '9s'", "set transaction read only"] {
        simple(&client, set).await;
        let told = wired.noticed();
        assert_eq!(told.iter().map(|told| told.code().code()).collect::<Vec<_>>(), ["25P01"], "{set}");
        assert_eq!(shown(&client, "statement_timeout").await, "0");
        assert_eq!(shown(&client, "transaction_read_only").await, "off");
    }
    client.execute("set local statement_timeout = '9s'", &[]).await.unwrap();
    assert_eq!(shown(&client, "statement_timeout").await, "0");
    simple(&client, "select set_config('statement_timeout', '9s', true)").await;
    assert_eq!(shown(&client, "statement_timeout").await, "0");
    assert_eq!(refused(&client, "set local statement_timeout = 'long'").await.code().code(), "22023");
    assert_eq!(refused(&client, "select set_config('x', '1', 'perhaps')").await.code().code(), "22P02");
    wired.stop().await;
}

#[tokio::test]
async fn a_transaction_is_read_only_as_it_was_begun() {
    let wired = wired().await;
    let client = wired.owner().await;
    let insert = "insert into customer (id) values (9)";
    simple(&client, "set default_transaction_read_only = on").await;
    assert_eq!(refused(&client, insert).await.code().code(), "25006");
    simple(&client, &format!("begin read write; {insert}; rollback")).await;
    simple(&client, "begin; set transaction read write").await;
    simple(&client, insert).await;
    simple(&client, "rollback; begin; set default_transaction_read_only = off").await;
    assert_eq!(refused(&client, insert).await.code().code(), "25006", "it was begun read-only");
    simple(&client, "rollback; set session characteristics as transaction read write").await;
    simple(&client, &format!("begin; {insert}; rollback")).await;
    wired.stop().await;
}

#[tokio::test]
async fn serializable_is_taken_as_snapshots_and_said_so() {
    let wired = wired().await;
    let client = wired.owner().await;
    let forms = [
        "begin isolation level serializable",
        "start transaction isolation level serializable, read write",
        "begin; set transaction isolation level serializable",
        "set session characteristics as transaction isolation level serializable",
        "set default_transaction_isolation = 'serializable'",
        "begin; set transaction_isolation to serializable",
        "begin; set local transaction_isolation = 'SERIALIZABLE'",
    ];
    for form in forms {
        simple(&client, form).await;
        assert_eq!(shown(&client, "transaction isolation level").await, "repeatable read", "{form}");
        let told = wired.noticed();
        let told: Vec<_> = told.iter().map(|told| (told.severity(), told.code().code(), told.message())).collect();
        assert!(
            matches!(&*told, [("NOTICE", "01000", message)] if message.contains("repeatable read")),
            "{form}: {told:?}"
        );
        simple(&client, "insert into customer (id) values (9)").await;
        simple(&client, "rollback").await;
        wired.noticed();
    }
    for level in ["read uncommitted", "read committed", "repeatable read"] {
        simple(&client, &format!("begin isolation level {level}; commit")).await;
        assert!(wired.noticed().is_empty(), "{level} is kept");
    }
    wired.stop().await;
}

#[tokio::test]
async fn a_driver_that_asks_for_serializable_gets_its_transaction() {
    let wired = wired().await;
    let mut client = wired.owner().await;
    let begun = client.build_transaction().isolation_level(IsolationLevel::Serializable).start().await.unwrap();
    begun.execute("insert into customer (id) values (9)", &[]).await.unwrap();
    begun.commit().await.unwrap();
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    let mut config = wired.config("agent", dataplane::testing::demo_key());
    config.options("-c default_transaction_isolation=serializable");
    let client = wired.connect(&config).await.unwrap();
    assert_eq!(shown(&client, "default_transaction_isolation").await, "repeatable read");
    wired.stop().await;
}
