//! Databases that are attached: their tables are read in a schema of their name, governed as any, and never changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contract::policy::MaskFunction;
use contract::storage_integration::{DatabaseUser, SslMode, StorageCredentials, StorageKind};
use contract::{Redacted, Role, StorageIntegration};
use dataplane::storage::stage_files::ReachableHosts;
use dataplane::testing::{analyst_key, demo_key};
use dataplane::{Ask, testing};
use serde_json::json;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::JoinSet;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

use crate::agents_router::{called, router};
use crate::world::{World, world};

const TABLES: &str = "
    create table orders (
        id integer primary key, customer text, amount numeric(10,2), paid boolean, day date, made timestamptz,
        tags text[], big numeric, note jsonb, bytes bytea, code char(4), region text
    );
    insert into orders values
        (1, 'Ada, \"the first\"', 10.50, true, '2024-01-02', '2024-01-02 03:04:05+00', '{a}', 1, '{\"a\": 1}',
         '\\x00ff', 'ab', 'EU'),
        (2, '\\N', -0.25, false, '2024-02-03', '2024-02-03 00:00:00+02', null, 2, '{\"b\": 2}', '', 'cd', 'US'),
        (3, null, null, null, null, null, null, null, null, null, null, 'EU'),
        (4, E'two\\nlines', 7, true, '2024-03-04', now(), '{}', 4, '[]', '\\x41', 'efgh', 'EU');
    create table hidden (id integer);
    create table \"Twice\" (id integer);
    create table twice (id integer);
    create view totals as select region, sum(amount)::numeric(12,2) as total from orders group by region;
";

/// A PostgreSQL of the test run behind an address of this machine, and a world that it is attached to.
struct Shop {
    world: World,
    client: Client,
    relay: Relay,
    _driven: JoinSet<()>,
}

/// Takes connections at an address and passes them on to a server's socket.
struct Relay {
    port: u16,
    taken: JoinSet<()>,
}

impl Relay {
    async fn to(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut taken = JoinSet::new();
        taken.spawn(async move {
            let mut passed = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let socket = socket.clone();
                passed.spawn(async move {
                    let mut far = UnixStream::connect(&socket).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        Self { port, taken }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test run's one setting")]
fn administrator() -> Config {
    let url = std::env::var("SLUICE_TEST_POSTGRES")
        .expect("SLUICE_TEST_POSTGRES names a PostgreSQL for tests: run ./dev test integration");
    url.parse().unwrap()
}

async fn connected(settings: &Config, driven: &mut JoinSet<()>) -> Client {
    let (client, connection) = settings.connect(NoTls).await.unwrap();
    driven.spawn(async move {
        let _ = connection.await;
    });
    client
}

impl Shop {
    async fn new() -> Self {
        static SHOPS: AtomicU64 = AtomicU64::new(0);
        let name = format!("attached_{}_{}", std::process::id(), SHOPS.fetch_add(1, Ordering::Relaxed));
        let (mut settings, mut driven) = (administrator(), JoinSet::new());
        let made = format!("create database {name}");
        connected(&settings, &mut driven).await.batch_execute(&made).await.unwrap();
        let user = settings.get_user().unwrap().to_owned();
        let Some(Host::Unix(folder)) = settings.get_hosts().first().cloned() else { panic!("no socket") };
        let port = settings.get_ports().first().copied().unwrap_or(5432);
        let relay = Relay::to(folder.join(format!(".s.PGSQL.{port}"))).await;
        let client = connected(settings.dbname(&name), &mut driven).await;
        client.batch_execute(TABLES).await.unwrap();
        let mut world = world().await;
        let address = format!("127.0.0.1:{}", relay.port);
        Arc::get_mut(&mut world.pipeline).unwrap().storage_hosts = ReachableHosts::new([address]);
        let integration = StorageIntegration {
            name: "shop".to_owned(),
            kind: StorageKind::Postgres {
                host: "127.0.0.1".to_owned(),
                port: relay.port,
                database: name,
                ssl_mode: SslMode::Disable,
            },
            allowed_prefixes: vec!["postgres://public/".to_owned()],
            blocked_prefixes: vec!["postgres://public/hidden".to_owned()],
            enabled: true,
            credentials: StorageCredentials::Password(DatabaseUser {
                user: Redacted::new(user),
                password: Redacted::new("open-sesame".to_owned()),
            }),
        };
        world.change(|rules| rules.attached = vec![integration]);
        Self { world, client, relay, _driven: driven }
    }

    async fn ran(&self, sql: &str) -> String {
        self.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
    }

    async fn refused(&self, sql: &str) -> String {
        self.world.run(sql).await.expect_err(sql).to_string()
    }

    async fn there(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap();
    }

    /// Waits until a question to the database is answered with true.
    async fn until(&self, sql: &str) {
        let holds = async { while !self.client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {} };
        tokio::time::timeout(Duration::from_secs(90), holds).await.expect(sql);
    }
}

#[tokio::test]
async fn the_tables_of_a_database_are_read_in_a_schema_of_its_name() {
    let shop = Shop::new().await;
    let rows = shop.ran("select id, customer from shop.orders order by id").await;
    assert_eq!(rows, r#"[1,"Ada, \"the first\""],[2,"\\N"],[3,null],[4,"two\nlines"]"#);
    for (sql, answer) in [
        ("select count(*) from shop.orders", "[4]"),
        ("select count(customer), count(code), count(bytes), count(note) from shop.orders", "[3,3,3,3]"),
        ("select id from shop.orders where amount = -0.25 and not paid and day = '2024-02-03'", "[2]"),
        ("select id from shop.orders where made = '2024-02-02 22:00:00+00'::timestamptz", "[2]"),
        ("select o.note:a::int, o.code from shop.orders o where o.id = 1", r#"[1,"ab"]"#),
        ("select total from Shop.Totals where region = 'US'", "[-0.25]"),
        ("select c.name from customer c join shop.orders o on o.id = c.id where o.region = 'US'", r#"["Bob"]"#),
        ("with o as (select * from shop.orders) select max(id) from o", "[4]"),
        ("select count(*) from shop.orders a, shop.orders b", "[16]"),
    ] {
        assert_eq!(shop.ran(sql).await, answer, "{sql}");
    }
    let transpiled = shop.world.last().0.sql_transpiled.unwrap();
    assert!(transpiled.contains("-- read shop.orders, ") && transpiled.ends_with(" bytes"), "{transpiled}");
    shop.ran("create table copied as select id, amount from shop.orders").await;
    assert_eq!(shop.world.count("select count(*) from copied").await, 4);
    shop.ran("insert into customer (id, name) select id, customer from shop.orders where id = 4").await;
    assert_eq!(shop.world.count("select count(*) from customer").await, 4);
    shop.world.stop().await;
}

#[tokio::test]
async fn a_statement_over_an_attached_table_is_described_and_takes_values() {
    let shop = Shop::new().await;
    let sql = "select amount, made, bytes from shop.orders where region = $1";
    let ask = Ask { params: vec![engine::Value::Text("US".to_owned())], ..shop.world.ask(testing::owner_id(), sql) };
    let described = shop.world.pipeline.describe(&ask).await.unwrap();
    let types: Vec<_> = described.columns.iter().map(|column| column.type_name.as_str()).collect();
    assert_eq!(types, ["DECIMAL(10,2)", "TIMESTAMP WITH TIME ZONE", "BLOB"]);
    assert_eq!(described.parameters, ["VARCHAR"]);
    let got = shop.world.whole(ask).await.unwrap();
    assert!(got.json.contains("-0.25") && !got.json.contains("10.5"), "{}", got.json);
    shop.world.stop().await;
}

#[tokio::test]
async fn a_statement_that_is_cancelled_ends_its_work_in_the_database() {
    let shop = Shop::new().await;
    shop.there("create view slow as select 1 as slept from pg_sleep(3600)").await;
    let active =
        "from pg_stat_activity where datname = current_database() and query like 'COPY %' and state = 'active'";
    let ask = shop.world.ask(testing::owner_id(), "select slept from shop.slow");
    let cancel = ask.cancel.clone();
    let cancelled = async {
        shop.until(&format!("select count(*) = 1 {active}")).await;
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(shop.world.whole(ask), cancelled);
    assert!(ran.unwrap_err().to_string().contains("cancelled"));
    shop.until(&format!("select count(*) = 0 {active}")).await;
    shop.world.stop().await;
}

#[tokio::test]
async fn what_has_no_counterpart_or_is_blocked_is_not_there() {
    let shop = Shop::new().await;
    for sql in [
        "select tags from shop.orders",
        "select big from shop.orders",
        "select * from shop.hidden",
        "select * from shop.twice",
        "select * from shop.nothing",
    ] {
        assert!(shop.refused(sql).await.contains("does not exist"), "{sql}");
    }
    let listed = "select table_name from information_schema.tables where table_schema = 'shop' order by 1";
    assert_eq!(shop.ran(listed).await, r#"["orders"],["totals"]"#);
    let columns = "select column_name from information_schema.columns where table_schema = 'shop' and \
                   table_name = 'orders' order by ordinal_position";
    let columns = shop.ran(columns).await;
    assert!(columns.starts_with(r#"["id"],["customer"],["amount"]"#) && !columns.contains("tags"), "{columns}");
    shop.world.stop().await;
}

#[tokio::test]
async fn policies_rule_attached_tables_by_their_names() {
    let shop = Shop::new().await;
    shop.world.change(|rules| {
        rules.policies = vec![
            testing::masking("shop.orders", "customer", MaskFunction::Full),
            testing::filtering("shop.orders", "region = '{region}'"),
        ];
        rules.abac_policies = vec![testing::denying("shop.totals", &[Role::Owner])];
    });
    let analyst = |sql: &'static str| shop.world.analyst(sql);
    let seen = analyst("select id, customer from shop.orders order by id").await.unwrap().json;
    assert!(seen.starts_with("[1,") && !seen.contains("Ada") && !seen.contains("[2,"), "{seen}");
    assert_eq!(analyst("select count(*) from shop.orders").await.unwrap().json, "[3]");
    let denied = analyst("select * from shop.totals").await.unwrap_err().to_string();
    assert!(denied.contains("denied"), "{denied}");
    assert_eq!(shop.ran("select count(*) from shop.orders").await, "[4]");
    let tables = "select table_name from information_schema.tables where table_schema = 'shop'";
    assert_eq!(analyst(tables).await.unwrap().json, r#"["orders"]"#);
    let within = "id in (select id from shop.orders)";
    shop.world.change(|rules| rules.policies = vec![testing::filtering("customer", within)]);
    let refused = analyst("select name from customer").await.unwrap_err().to_string();
    assert!(refused.contains("cannot read shop.orders of an attached database"), "{refused}");
    shop.world.stop().await;
}

#[tokio::test]
async fn an_attached_schema_is_never_changed() {
    let shop = Shop::new().await;
    for sql in [
        "insert into shop.orders (id) values (9)",
        "update shop.orders set paid = true",
        "delete from shop.orders",
        "merge into shop.orders o using customer c on c.id = o.id when matched then delete",
        "truncate table shop.orders",
        "drop table shop.orders",
        "drop schema shop",
        "create schema shop",
        "create table shop.made (id integer)",
        "create table shop.made as select * from shop.orders",
        "create view shop.seen as select 1 as one",
        "create view seen as select id from shop.orders",
        "create stage shop.s",
        "comment on table shop.orders is 'x'",
        "alter table shop.orders add column x integer",
    ] {
        let refused = shop.refused(sql).await;
        assert!(refused.contains("attached database"), "{sql}: {refused}");
    }
    let row = shop.client.query_one("select count(*), bool_and(paid) from orders", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1)), (4, false));
    shop.world.stop().await;
}

#[tokio::test]
async fn a_table_that_has_changed_there_is_told_of_and_read_by_the_next_statement() {
    let shop = Shop::new().await;
    shop.ran("select amount from shop.orders").await;
    shop.there("alter table orders drop column amount cascade; alter table orders add column amount text default 'x'")
        .await;
    let changed = shop.refused("select amount from shop.orders").await;
    assert!(changed.contains("other columns"), "{changed}");
    assert_eq!(shop.ran("select distinct amount from shop.orders").await, r#"["x"]"#);
    shop.there("drop table orders cascade").await;
    assert!(shop.refused("select id from shop.orders").await.contains("other columns"));
    assert!(shop.refused("select id from shop.orders").await.contains("does not exist"));
    shop.world.stop().await;
}

#[tokio::test]
async fn a_value_that_no_column_here_can_have_is_an_error_that_tells_no_value() {
    let shop = Shop::new().await;
    shop.there("insert into orders (id, amount) values (5, 'NaN')").await;
    let refused = shop.refused("select sum(amount) from shop.orders").await;
    assert!(refused.contains("a value of table shop.orders") && !refused.contains("NaN"), "{refused}");
    assert_eq!(shop.ran("select max(id) from shop.orders").await, "[5]", "of other columns nothing is read");
    shop.world.stop().await;
}

#[tokio::test]
async fn a_row_that_is_too_long_is_told_and_not_held() {
    let shop = Shop::new().await;
    shop.there("insert into orders (id, customer) values (5, repeat('x', 9000000))").await;
    let refused = shop.refused("select customer from shop.orders").await;
    assert_eq!(refused, "a row of table shop.orders cannot be read: it is longer than 4 MiB");
    assert_eq!(shop.ran("select max(id) from shop.orders").await, "[5]", "of other columns nothing is read");
    shop.world.stop().await;
}

#[tokio::test]
async fn a_database_that_is_away_stops_the_statements_that_name_it_alone() {
    let mut shop = Shop::new().await;
    shop.ran("select id from shop.orders").await;
    shop.relay.taken.shutdown().await;
    let away = shop.refused("select id from shop.orders").await;
    assert!(away.contains("database shop did not answer"), "{away}");
    assert!(!away.contains("127.0.0.1") && !away.contains("sesame"), "{away}");
    assert_eq!(shop.ran("select count(*) from customer").await, "[3]");
    shop.ran("select count(*) from information_schema.tables").await;
    shop.world.change(|rules| rules.attached[0].enabled = false);
    assert!(shop.refused("select id from shop.orders").await.contains("does not exist"));
    shop.world.stop().await;
}

#[tokio::test]
async fn a_list_of_a_database_that_is_away_says_that_it_is_of_before_to_whoever_sees_its_tables() {
    let mut shop = Shop::new().await;
    let lists = [
        "show tables",
        "select table_name from information_schema.tables where table_schema = 'shop'",
        "select column_name from information_schema.columns where table_name = 'orders'",
    ];
    let (listed, texts) = called(&router(&shop.world), demo_key(), "list_tables", json!({})).await;
    assert_eq!((&listed["structuredContent"]["warnings"], texts.len()), (&json!([]), 1), "{listed}");
    for sql in lists {
        let fresh = shop.world.run(sql).await.unwrap().answer.warnings;
        assert!(fresh.is_empty(), "{sql}: {fresh:?}");
    }
    shop.relay.taken.shutdown().await;
    let away = shop.refused("select id from shop.orders").await;
    assert!(away.contains("database shop did not answer"), "{away}");
    for sql in lists {
        let got = shop.world.run(sql).await.unwrap();
        assert!(got.json.contains("orders") || got.json.contains("customer"), "{sql}: {}", got.json);
        let [told] = got.answer.warnings.as_slice() else { panic!("{sql}: {:?}", got.answer.warnings) };
        assert!(told.contains("database shop") && !told.contains("127.0.0.1"), "{sql}: {told}");
    }
    assert!(shop.world.run("select count(*) from customer").await.unwrap().answer.warnings.is_empty());
    let (listed, texts) = called(&router(&shop.world), demo_key(), "list_tables", json!({})).await;
    let told = listed["structuredContent"]["warnings"][0].as_str().unwrap_or_else(|| panic!("{listed}"));
    assert!(told.contains("database shop") && !told.contains("127.0.0.1"), "{told}");
    assert_eq!(texts.get(1).map(String::as_str), Some(told), "it is in words, too");
    shop.world.change(|rules| {
        rules.abac_policies =
            ["shop.orders", "shop.totals"].map(|table| testing::denying(table, &[Role::Owner])).to_vec();
    });
    let (listed, _) = called(&router(&shop.world), analyst_key(), "list_tables", json!({})).await;
    assert_eq!(listed["structuredContent"]["warnings"], json!([]), "{listed}");
    let hidden = shop.world.analyst(lists[0]).await.unwrap().answer.warnings;
    assert!(hidden.is_empty(), "who sees none of its tables: {hidden:?}");
    shop.world.stop().await;
}

#[tokio::test]
async fn a_private_host_is_reached_where_the_operator_names_it_alone() {
    let mut shop = Shop::new().await;
    Arc::get_mut(&mut shop.world.pipeline).unwrap().storage_hosts = ReachableHosts::default();
    for (host, ssl_mode) in
        [("127.0.0.1", SslMode::Disable), ("localhost", SslMode::VerifyFull), ("127.0.0.1", SslMode::VerifyFull)]
    {
        shop.world.change(|rules| {
            let StorageKind::Postgres { host: of, ssl_mode: by, .. } = &mut rules.attached[0].kind else { panic!() };
            (*of, *by) = (host.to_owned(), ssl_mode);
        });
        let refused = shop.refused("select id from shop.orders").await;
        assert!(refused.contains("no host that may be reached") && !refused.contains(host), "{host}: {refused}");
    }
    shop.world.stop().await;
}
