//! Every protocol gives the same verdict, rows, masks and code for the same caller and SQL.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;
use tests::world::Analyst;

/// The answer of a protocol: rows as text, or the stable code.
type Outcome = Result<Vec<Vec<Option<String>>>, String>;

async fn rest(world: &World, caller: &Analyst, sql: &str) -> Outcome {
    let reply = world.query(&caller.key, sql).await;
    if reply.status != 200 {
        return Err(reply.body["error"]["details"]["stable_code"].as_str().unwrap().to_owned());
    }
    let cell = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    Ok(reply.body["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_array().unwrap().iter().map(cell).collect())
        .collect())
}

async fn simple(world: &World, caller: &Analyst, sql: &str) -> Outcome {
    let session = world.psql(&caller.key).await.unwrap();
    let messages = session.simple_query(sql).await.map_err(|error| stable(&error))?;
    let rows = messages.iter().filter_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

async fn extended(world: &World, caller: &Analyst, sql: &str) -> Outcome {
    let session = world.psql(&caller.key).await.unwrap();
    let rows = session.query(sql, &[]).await.map_err(|error| stable(&error))?;
    Ok(rows.iter().map(|row| (0..row.len()).map(|at| text(row, at)).collect()).collect())
}

fn text(row: &tokio_postgres::Row, at: usize) -> Option<String> {
    match row.columns()[at].type_().name() {
        "int4" => row.get::<_, Option<i32>>(at).map(|n| n.to_string()),
        "int8" => row.get::<_, Option<i64>>(at).map(|n| n.to_string()),
        _ => row.get::<_, Option<String>>(at),
    }
}

/// The stable code stands first in the detail field.
fn stable(error: &tokio_postgres::Error) -> String {
    let detail = error.as_db_error().and_then(|error| error.detail()).unwrap_or_default();
    detail.split_whitespace().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocols_agree() {
    let world = World::new().await;
    let analyst = world.user("analyst", json!({"region": "EU"})).await;
    world
        .policy(
            "row_level_security",
            json!([{"table": "customers", "filter": "region = '{region}'", "exempt_roles": ["owner"]}]),
        )
        .await;
    let masks = json!([
        {"table": "customers", "column": "ssn", "function": "hash", "exempt_roles": ["owner"]},
        {"table": "customers", "column": "email", "function": "partial", "visible_chars": 4, "exempt_roles": ["owner"]},
        {"table": "customers", "column": "salary", "function": "null", "exempt_roles": ["owner"]},
        {"table": "customers", "column": "name", "function": "full", "exempt_roles": ["owner"]},
    ]);
    world.policy("column_masking", masks).await;
    world
        .until(async || {
            (world.rows(&analyst.key, "select count(*) from customers").await == json!([[2]])).then_some(())
        })
        .await;
    let statements = [
        "select id, name, email, ssn, salary from customers order by id",
        "select count(*) from customers",
        "select o.id from orders o join customers c on c.id = o.customer_id order by o.id",
        "with customers as (select * from customers) select count(*) from customers",
        "select upper(email) as shout from customers order by 1",
        "select id from customers where ssn = '123-45-6789'",
        "select max(salary) from customers",
        "select nvl(email, 'none'), iff(id > 1, 'big', 'small') from customers qualify row_number() over (order by id) = 1",
        "select * from nowhere",
        "select nosuch from customers",
        "delete from customers",
        "create table mine (n integer)",
        "slct 1",
        "select id form customers order by id",
        "select naem from customers",
        "select id from custmers",
        "select error('x')",
        "explain select * from customers",
        "select * from information_schema.tables where 1 = (select pg_sleep(1))",
    ];
    for sql in statements {
        let first = rest(&world, &analyst, sql).await;
        assert_eq!(simple(&world, &analyst, sql).await, first, "simple: {sql}");
        assert_eq!(extended(&world, &analyst, sql).await, first, "extended: {sql}");
    }
    let seen = rest(&world, &analyst, statements[0]).await.unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0][1].as_deref(), Some("***"));
    assert_eq!(seen[0][2].as_deref(), Some("***.com"));
    assert_eq!(seen[0][3].as_ref().map(String::len), Some(64));
    assert_eq!(seen[0][4], None);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocols_agree_on_what_an_agent_was_granted() {
    let world = World::new().await;
    let bot = world.key_for(&world.env_id, json!({"scopes": ["query:read", "query:write"], "agent_id": "bot"})).await;
    let capabilities = json!({
        "allowed_tables": ["main.customers"],
        "allowed_operations": ["select"],
        "max_rows_per_query": 2,
        "column_restrictions": {"main.customers": {"denied_columns": ["ssn"]}},
    });
    let path = format!("/v1/environments/{}/agent-capabilities", world.env_id);
    let wish = json!({"agent_id": "bot", "capabilities": capabilities, "expires_at": "2099-01-01T00:00:00Z"});
    let granted = world.ok(Method::POST, &path, &world.owner, wish).await;
    for (sql, expected) in [
        ("select id from customers order by id limit 2", Ok(2)),
        ("select id from customers", Err("POLICY_DENIED")),
        ("select ssn from customers limit 1", Err("POLICY_DENIED")),
        ("select * from customers limit 1", Err("POLICY_DENIED")),
        ("select id from orders", Err("SVC_ERR_403_TABLE_DENIED")),
        ("select id from nowhere", Err("SVC_ERR_403_TABLE_DENIED")),
        ("delete from customers", Err("POLICY_DENIED")),
    ] {
        for outcome in
            [rest(&world, &bot, sql).await, simple(&world, &bot, sql).await, extended(&world, &bot, sql).await]
        {
            assert_eq!(outcome.map(|rows| rows.len()), expected.map_err(str::to_owned), "{sql}");
        }
    }
    // Counted in stage 5: what passed (3), what met the row limit (3), and what stage 6 refused for its
    // columns (2 × 2). The extended protocol was refused those when it described them, uncounted.
    let used = async || {
        let listed = world.ok(Method::GET, &path, &world.owner, Value::Null).await;
        (listed["data"][0]["usage"]["total_queries"] == 10).then_some(())
    };
    world.until(used).await;
    let path = format!("{path}/{}", granted["grant_id"].as_str().unwrap());
    world.ok(Method::DELETE, &path, &world.owner, Value::Null).await;
    for outcome in [rest(&world, &bot, "select 1").await, simple(&world, &bot, "select 1").await] {
        assert_eq!(outcome.unwrap_err(), "POLICY_DENIED");
    }
    world.end().await;
}
