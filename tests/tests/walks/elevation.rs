//! An approved request raises a role over every protocol, on open sessions too, and its end drops it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

const SEE: &str = "select ssn from customers where id = 1";
const WRITE: &str = "update customers set name = 'Alicia' where id = 1";

/// What the open session sees, and whether it may write.
async fn at_the_wire(session: &tokio_postgres::Client) -> (String, bool) {
    let seen = session.query_one(SEE, &[]).await.unwrap().get(0);
    (seen, session.execute(WRITE, &[]).await.is_ok())
}

async fn over_rest(world: &World, key: &str) -> (String, bool) {
    let seen = world.rows(key, SEE).await[0][0].as_str().unwrap().to_owned();
    (seen, world.query(key, WRITE).await.status == 200)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_elevation_is_in_force_when_it_is_answered_and_over_when_its_time_is() {
    let world = World::new().await;
    let mask = json!([{"table": "customers", "column": "ssn", "function": "full", "exempt_roles": ["developer"]}]);
    world.policy("column_masking", mask).await;
    let analyst = world.user("analyst", json!({})).await;
    let session = world.psql(&analyst.key).await.unwrap();
    let (low, high) = (("***".to_owned(), false), ("123-45-6789".to_owned(), true));
    assert_eq!((at_the_wire(&session).await, over_rest(&world, &analyst.key).await), (low.clone(), low.clone()));

    let path = format!("/v1/environments/{}/jit-access", world.env_id);
    let wish = json!({"requested_role": "developer", "reason": "mend a name", "duration_minutes": 30});
    let asked = world.ok(Method::POST, &path, &format!("ApiKey {}", analyst.key), wish).await;
    let path = format!("{path}/{}", asked["request_id"].as_str().unwrap());
    world.ok(Method::POST, &format!("{path}/approve"), &world.owner, Value::Null).await;
    assert_eq!((at_the_wire(&session).await, over_rest(&world, &analyst.key).await), (high.clone(), high));

    world.clock.advance(Duration::from_mins(30));
    assert_eq!((at_the_wire(&session).await, over_rest(&world, &analyst.key).await), (low.clone(), low));
    // The clock alone has ended it; that it is over is said in a moment.
    let trail = format!("/v1/environments/{}/audit/admin?limit=1", world.env_id);
    let said = async || {
        let newest = world.ok(Method::GET, &trail, &world.owner, Value::Null).await;
        (newest["data"][0]["event_type"] == "jit.expired").then_some(())
    };
    world.until(said).await;
    world.end().await;
}
