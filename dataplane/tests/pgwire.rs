//! The PostgreSQL wire with a real client over TCP and a real engine.

mod cursors;
mod drivers;
mod first_bytes;
mod savepoints;
mod settings;
mod strings;
mod transactions;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connections::{ConnectionTimeouts, Limits};
use contract::policy::MaskFunction;
use dataplane::agents::memory::Memories;
use dataplane::agents::reasoning::Thoughts;
use dataplane::protocols::pgwire::{self, PgWireContext};
use dataplane::protocols::rest;
use dataplane::testing::{analyst_key, demo_key, filtering, masking};
use dataplane::{Ending, Sessions};
use futures::{StreamExt, stream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage};
use tokio_util::task::TaskTracker;

use crate::world::{World, world};

pub struct Wired {
    pub world: World,
    address: SocketAddr,
    tasks: TaskTracker,
    pub ending: Ending,
    notices: Arc<Mutex<Vec<DbError>>>,
}

pub async fn wired() -> Wired {
    wired_with(None, true).await
}

async fn wired_with(tls: Option<Arc<rustls::ServerConfig>>, local: bool) -> Wired {
    wired_in(world().await, tls, local).await
}

pub async fn wired_in(world: World, tls: Option<Arc<rustls::ServerConfig>>, local: bool) -> Wired {
    wired_by(ConnectionTimeouts::DEFAULT.limits(), world, tls, local).await
}

async fn wired_by(limits: Limits, world: World, tls: Option<Arc<rustls::ServerConfig>>, local: bool) -> Wired {
    let tls = tls.map(|tls| watch::channel(tls).1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tasks, ending) = (TaskTracker::new(), Ending::default());
    let pipeline = Arc::clone(&world.pipeline);
    let sessions = Sessions::new(pipeline.snapshots.clone(), pipeline.clock.clone(), &pipeline.entropy);
    let rest = rest::RestContext {
        env_id: "env-1".into(),
        pipeline: Arc::clone(&pipeline),
        memories: Memories::default(),
        thoughts: Thoughts::default(),
        triggers: world.triggers.clone(),
        ending: ending.clone(),
        limits,
    };
    let http = rest::own_routes(rest, sessions.clone());
    let context = PgWireContext { pipeline, sessions, tls, local, local_trust: None, http, limits };
    tasks.spawn(pgwire::serve(listener, context, ending.clone()));
    Wired { world, address, tasks, ending, notices: Arc::default() }
}

impl Wired {
    pub fn config(&self, user: &str, password: &str) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.address.port()).user(user).password(password).dbname("demo");
        config
    }

    pub async fn connect(&self, config: &Config) -> Result<Client, tokio_postgres::Error> {
        let (client, mut connection) = config.connect(NoTls).await?;
        let notices = Arc::clone(&self.notices);
        self.tasks.spawn(async move {
            let mut messages = stream::poll_fn(move |cx| connection.poll_message(cx));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notice(notice) = message {
                    notices.lock().unwrap().push(notice);
                }
            }
        });
        Ok(client)
    }

    /// A connection on which nobody has said anything yet.
    pub async fn knock(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Notices since this was asked last.
    pub fn noticed(&self) -> Vec<DbError> {
        std::mem::take(&mut *self.notices.lock().unwrap())
    }

    pub async fn owner(&self) -> Client {
        self.connect(&self.config("agent", demo_key())).await.unwrap()
    }

    pub async fn analyst(&self) -> Client {
        self.connect(&self.config("agent", analyst_key())).await.unwrap()
    }

    pub async fn stop(self) {
        self.ending.leaving.cancel();
        self.ending.drain(Duration::ZERO, Duration::from_secs(5), || false).await;
        self.ending.farewell().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.world.stop().await;
    }
}

/// Rows of a simple query as text, then the tags' row counts.
pub async fn simple(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {:?}", error.as_db_error()));
    let shown = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join("|"))
        }
        SimpleQueryMessage::CommandComplete(rows) => Some(format!("({rows})")),
        _ => None,
    });
    shown.collect()
}

pub async fn refused(client: &Client, sql: &str) -> DbError {
    client.simple_query(sql).await.expect_err(sql).as_db_error().expect("an error of the server").clone()
}

#[tokio::test]
async fn the_key_is_the_password_and_the_user_name_may_not_be_anothers() {
    let wired = wired().await;
    wired.connect(&wired.config("u-owner", demo_key())).await.unwrap();
    for (user, password) in
        [("agent", "wrong"), ("u-analyst", demo_key()), ("agent", &demo_key().replace("svc_test", "svc_live"))]
    {
        let error = wired.connect(&wired.config(user, password)).await.expect_err(user);
        assert_eq!(error.code(), Some(&SqlState::INVALID_PASSWORD), "{user}");
        assert_eq!(error.as_db_error().unwrap().detail(), Some("SVC_ERR_401_INVALID_KEY"));
    }
    wired.stop().await;
}

#[tokio::test]
async fn parameters_and_rows_are_typed() {
    let wired = wired().await;
    let client = wired.owner().await;
    let statement = client
        .prepare("select id, name, id * 2.5::double as d, id > 1 as b from customer where id = $1")
        .await
        .unwrap();
    assert_eq!(statement.params().len(), 1);
    let row = client.query_one(&statement, &[&2_i32]).await.unwrap();
    let values: (i32, &str, f64, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(values, (2, "Bob", 5.0, true));
    let text = client.query_typed("select $1", &[(&7_i32, tokio_postgres::types::Type::INT4)]).await.unwrap();
    assert_eq!(text.len(), 1);
    let changed = client.execute("update customer set name = $1 where id = $2", &[&"Bo", &2_i32]).await.unwrap();
    assert_eq!(changed, 1);
    assert_eq!(simple(&client, "select name from customer where id = 2").await, ["Bo", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn every_type_has_its_text() {
    let wired = wired().await;
    let client = wired.owner().await;
    let cases = [
        ("true", "t"),
        ("cast(-7 as smallint)", "-7"),
        ("cast(18446744073709551615 as ubigint)", "18446744073709551615"),
        ("cast(-99999999999999999999999999999999999999 as hugeint)", "-99999999999999999999999999999999999999"),
        ("12.50::decimal(12,2)", "12.50"),
        ("0.1::double", "0.1"),
        ("'a''b'", "a'b"),
        ("date '2024-02-29'", "2024-02-29"),
        ("time '01:02:03.5'", "01:02:03.5"),
        ("timestamp '2024-01-02 03:04:05.25'", "2024-01-02 03:04:05.25"),
        ("cast('2024-01-02 03:04:05+00' as timestamptz)", "2024-01-02 03:04:05+00"),
        ("cast('550e8400-e29b-41d4-a716-446655440000' as uuid)", "550e8400-e29b-41d4-a716-446655440000"),
        ("array[1, null, 3]", "{1,NULL,3}"),
        ("array['a b', 'c']", "{\"a b\",c}"),
        ("[1, null, 3]", "[1,null,3]"),
        ("['a b', 'c']", "[\"a b\",\"c\"]"),
        ("cast(null as integer)", "NULL"),
    ];
    for (sql, expected) in cases {
        assert_eq!(simple(&client, &format!("select {sql} as v")).await, [expected, "(1)"], "{sql}");
        let rows = client.query(&format!("select {sql} as v"), &[]).await;
        assert_eq!(rows.unwrap_or_else(|error| panic!("{sql}: {error:?}")).len(), 1, "{sql}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn masked_columns_are_text_and_told_of() {
    let wired = wired().await;
    wired.world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Partial), filtering("customer", "region = {region}")];
    });
    let client = wired.analyst().await;
    assert_eq!(
        simple(&client, "select name, ssn from customer order by id").await,
        ["Ada|***1120", "Cleo|***5462", "(2)"]
    );
    let notices = wired.notices.lock().unwrap().clone();
    let masked = notices.iter().find(|notice| notice.detail() == Some("SVC_ERR_403_COLUMN_MASKED")).unwrap();
    assert_eq!((masked.code().code(), masked.message()), ("01000", "columns masked: ssn"));
    wired.stop().await;
}

#[tokio::test]
async fn errors_have_their_sqlstate_their_code_and_their_place() {
    let wired = wired().await;
    let client = wired.owner().await;
    let cases = [
        ("slct 1", "42601", "SVC_ERR_400_BAD_SQL"),
        ("select * from nowhere", "42P01", "SVC_ERR_404_TABLE_NOT_FOUND"),
        ("select cast('x' as integer)", "22P02", "SVC_ERR_400_BAD_SQL"),
        ("set role admin", "42501", "FORBIDDEN"),
        ("set memory_limit = '1TB'", "42501", "FORBIDDEN"),
        ("savepoint a", "25P01", "SVC_ERR_400_INVALID_PARAMS"),
        ("rollback to savepoint a", "25P01", "SVC_ERR_400_INVALID_PARAMS"),
        ("show nothing_such", "42704", "NOT_FOUND"),
    ];
    for (sql, state, code) in cases {
        let error = refused(&client, sql).await;
        assert_eq!((error.code().code(), error.detail()), (state, Some(code)), "{sql}: {error}");
    }
    let error = refused(&client, "select 1; slct 2").await;
    assert_eq!(error.position(), Some(&tokio_postgres::error::ErrorPosition::Original(11)), "{error:?}");
    assert_eq!(simple(&client, "select 1").await, ["1", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_view_is_renamed_with_what_it_reads() {
    let wired = wired().await;
    let client = wired.owner().await;
    for sql in [
        "create view named as select id, nvl(name, '') as name from customer where id = 1",
        "begin; alter view demo.main.named rename to kept; create view named as select 1 as one; commit",
        "alter table named rename to \"Other\"",
    ] {
        simple(&client, sql).await;
    }
    assert_eq!(simple(&client, "select * from kept").await, ["1|Ada", "(1)"]);
    assert_eq!(simple(&client, "select * from \"Other\"").await, ["1", "(1)"]);
    for (sql, state) in [
        ("select * from named", "42P01"),
        ("alter view named rename to x", "42P01"),
        ("alter view kept rename to \"Other\"", "42P07"),
        ("alter table kept add column x integer", "0A000"),
    ] {
        assert_eq!(refused(&client, sql).await.code().code(), state, "{sql}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn a_table_made_of_a_query_tells_how_many_rows_it_has() {
    let wired = wired().await;
    let client = wired.owner().await;
    assert_eq!(simple(&client, "create table copied as select id from customer").await, ["(3)"]);
    let created = client.execute("create table again as select id from customer where id > $1", &[&1_i32]).await;
    assert_eq!(created.unwrap(), 2);
    simple(&client, "create table declared (word varchar, worth number(8,1)) as select id, balance from customer")
        .await;
    assert_eq!(
        simple(&client, "select word || ':', worth from declared order by word limit 1").await,
        ["1:|10.5", "(1)"]
    );
    assert_eq!(simple(&client, "create table empty (id integer)").await, ["(0)"]);
    for sql in [
        "alter table empty add column a integer",
        "create view seen as select 1 as a",
        "drop view seen",
        "drop table empty",
    ] {
        let statement = client.prepare(sql).await.unwrap();
        assert!(statement.columns().is_empty(), "{sql}");
        assert_eq!(client.execute(&statement, &[]).await.unwrap(), 0, "{sql}");
    }
    assert_eq!(simple(&client, "drop table copied; select count(*) from again").await, ["(0)", "2", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn commands_of_the_session_are_neither_billed_nor_audited() {
    let wired = wired().await;
    let client = wired.owner().await;
    let before = wired.world.entries().len();
    simple(&client, "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;").await;
    simple(&client, "set acme_request_id = 'r-1'; set search_path = 'main'; set timezone = 'Europe/Berlin'").await;
    assert_eq!(simple(&client, "show timezone").await, ["Europe/Berlin", "(0)"]);
    assert_eq!(simple(&client, "select current_schema(), current_database()").await, ["main|demo", "(1)"]);
    simple(&client, "select version(); discard all; deallocate all").await;
    assert_eq!(wired.world.entries().len(), before);
    simple(&client, "set acme_request_id = 'r-2'").await;
    simple(&client, "set acme_agent_id = 'a-7'; select 1").await;
    let (started, _) = wired.world.last();
    assert_eq!((started.request_id.as_str(), started.agent.unwrap().agent_id.as_deref()), ("r-2", Some("a-7")));
    wired.stop().await;
}

#[tokio::test]
async fn a_cancel_request_ends_what_runs_and_not_the_session() {
    let wired = wired().await;
    let client = wired.owner().await;
    let cancel = client.cancel_token();
    let long = "select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3";
    let running = async { client.simple_query(long).await.expect_err("cancelled") };
    let cancelling = async {
        // The request must meet the statement: it is sent until that ends.
        loop {
            cancel.cancel_query(NoTls).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let error = tokio::select! {
        error = running => error,
        () = cancelling => unreachable!("never ends"),
    };
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(simple(&client, "select 1").await, ["1", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    let wired = wired().await;
    let (idle, mut busy) = (wired.owner().await, wired.owner().await);
    let transaction = busy.transaction().await.unwrap();
    let long =
        transaction.simple_query("select count(*) from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3");
    let revoke = async {
        while wired.world.entries().is_empty() {
            tokio::task::yield_now().await;
        }
        wired.world.change(|rules| rules.keys.clear());
    };
    let (ran, ()) = tokio::join!(long, revoke);
    assert_eq!(ran.expect_err("revoked").code(), Some(&SqlState::INVALID_PASSWORD));
    let error = idle.simple_query("select 1").await.expect_err("revoked");
    assert!(error.is_closed() || error.code() == Some(&SqlState::INVALID_PASSWORD), "{error:?}");
    drop(transaction);
    wired.stop().await;
}

#[tokio::test]
async fn a_session_variable_stands_for_its_literal() {
    let wired = wired().await;
    let client = wired.connect(&wired.config("agent", demo_key())).await.unwrap();
    client.batch_execute("set low = 2; set (who, nothing) = ('Bob'' or 1=1 --', -1.5)").await.unwrap();
    let text = |rows: Vec<SimpleQueryMessage>| {
        let row = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or("")).collect::<Vec<_>>().join("|"))
            }
            _ => None,
        });
        row.unwrap_or_default()
    };
    let asked =
        client.simple_query("select count(*), $who, 1 + $nothing from customer where id >= $LOW").await.unwrap();
    assert_eq!(text(asked), "2|Bob' or 1=1 --|-0.5");
    let named = "select id from customer where name = $1 and id = $low";
    assert_eq!(client.query(named, &[&"Bob"]).await.unwrap().len(), 1);
    assert_eq!(text(client.simple_query("show variables").await.unwrap()), "low|2|fixed");
    client.batch_execute("unset low").await.unwrap();
    for sql in ["select $low", "set computed = (select max(ssn) from customer)"] {
        assert!(client.simple_query(sql).await.is_err(), "{sql}");
    }
    drop(client);
    wired.stop().await;
}
