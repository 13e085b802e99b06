//! `sluice org`: what whoever runs the installation changes rules at once, and is in the chain.

use reqwest::Method;
use serde_json::Value;
use tests::World;
use tests::world::program;
use tokio::process::Command;

async fn org(world: &World, arguments: &[&str]) -> (bool, String) {
    let ran = Command::new(program())
        .arg("org")
        .args(arguments)
        .env("SLUICE_STATE", world.state())
        .env("DATABASE_URL", &world.database().url)
        .env("RUST_LOG", "off")
        .output()
        .await
        .unwrap();
    (ran.status.success(), String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspension_stops_queries_until_it_ends_and_a_tier_rules_the_quotas() {
    let world = World::new().await;
    let (done, said) = org(&world, &["suspend", &world.org_id]).await;
    assert!(done && said.contains("suspended"), "{said}");
    let refused =
        world.until(async || Some(world.query(&world.key, "select 1").await).filter(|reply| reply.status != 200)).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let (again, said) = org(&world, &["suspend", &world.org_id]).await;
    assert!(!again && said.contains("suspended"), "{said}");
    assert!(org(&world, &["resume", &world.org_id]).await.0);
    world.until(async || Some(world.query(&world.key, "select 1").await).filter(|reply| reply.status == 200)).await;
    assert!(org(&world, &["set-tier", &world.org_id, "growth"]).await.0);
    let quotas = format!("/v1/organizations/{}/billing/quotas", world.org_id);
    let quotas = world.ok(Method::GET, &quotas, &world.owner, Value::Null).await;
    assert_eq!((&quotas["tier"], &quotas["quotas"]["monthly_credit_limit"]), (&"growth".into(), &100_000.into()));
    let chain = format!("/v1/environments/{}/audit/admin/verify-chain", world.env_id);
    assert_eq!(world.ok(Method::GET, &chain, &world.owner, Value::Null).await["chain_valid"], true);
    world.end().await;
}
