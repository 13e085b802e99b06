use std::sync::Arc;

use contract::caller::Scopes;
use contract::{EnvId, Governance, Role};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::load;
use crate::server::snapshots::publisher::Publisher;
use crate::worlds::{World, organization};

async fn snapshot(world: &World) -> Governance {
    load(world.app.app.pool(), world.app.app.keyring(), &world.env_id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_snapshot_holds_what_a_data_plane_must_know() {
    let world = World::start().await;
    world.mask("ssn").await;
    let ci =
        json!({"name": "ci", "scopes": ["query:read"], "ip_allowlist": ["10.0.0.0/8"], "attributes": {"region": "EU"}});
    let made = world.create_key(ci).await;
    let whole = snapshot(&world).await;
    assert_eq!((whole.environment.slug.as_str(), whole.organization.status.as_str()), ("demo", "active"));
    assert_eq!(whole.members[&world.owner_id].role, Role::Owner);
    assert_eq!(whole.policies[0].name, "ssn");
    let (key, secret) = whole.key_by_prefix(made["prefix"].as_str().unwrap()).unwrap();
    assert_eq!((key.attributes["region"].as_str(), key.ip_allowlist[0].to_string().as_str()), ("EU", "10.0.0.0/8"));
    assert!(contract::key::verify(made["key"].as_str().unwrap(), &secret.hash));
    assert_eq!(key.scopes, Scopes::try_from(vec!["query:read".to_owned()]).unwrap());
}

#[tokio::test]
async fn a_revoked_key_is_gone_from_the_snapshot() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["query:read"]})).await;
    let path = world.env(&format!("api-keys/{}", made["key_id"].as_str().unwrap()));
    world.app.delete(&path, &world.owner).await.expect(200);
    assert!(snapshot(&world).await.key_by_prefix(made["prefix"].as_str().unwrap()).is_none());
}

#[tokio::test]
async fn an_environment_that_is_not_there_has_no_snapshot() {
    let world = World::start().await;
    let nothing = load(world.app.app.pool(), world.app.app.keyring(), &"nowhere".into()).await.unwrap();
    assert!(nothing.is_none());
}

/// Every governed table, with a change to it that a data plane must learn of.
#[tokio::test]
async fn a_change_to_any_governed_table_moves_the_version() {
    let world = World::start().await;
    let (env, org, owner) = (&world.env_id, &world.org_id, &world.owner_id);
    for change in [
        format!("update organizations set status = 'suspended' where org_id = '{org}'"),
        format!("update organizations set tier = 'cloud' where org_id = '{org}'"),
        format!(
            "insert into users (user_id, org_id, email, role, status, created_at, updated_at) values ('u', '{org}', 'u@x', 'analyst', 'invited', now(), now())"
        ),
        "update users set role = 'developer' where user_id = 'u'".to_owned(),
        r#"update users set attributes = '{"region": "EU"}' where user_id = 'u'"#.to_owned(),
        "delete from users where user_id = 'u'".to_owned(),
        format!("update environments set query_timeout_ms = 1 where env_id = '{env}'"),
        format!("update environments set status = 'suspended' where env_id = '{env}'"),
        format!(
            "insert into api_keys (key_id, env_id, name, scopes, ip_allowlist, attributes, created_by, created_at) values ('k', '{env}', 'k', '{{}}', '{{}}', '{{}}', '{owner}', now())"
        ),
        "insert into api_key_secrets (prefix, key_id, hash, created_at) values ('p', 'k', 'h', now())".to_owned(),
        "update api_key_secrets set not_after = now() where prefix = 'p'".to_owned(),
        "update api_keys set revoked_at = now(), revoked_by = 'x' where key_id = 'k'".to_owned(),
        format!(
            "insert into policies (policy_id, env_id, name, type, enabled, rules, created_at, updated_at) values ('p', '{env}', 'p', 'column_masking', true, '[]', now(), now())"
        ),
        "update policies set enabled = false where policy_id = 'p'".to_owned(),
        "delete from policies where policy_id = 'p'".to_owned(),
        format!(
            "insert into abac_policies (policy_id, env_id, name, rules, priority, enabled, created_at) values ('a', '{env}', 'a', '[]', 1, true, now())"
        ),
        "update abac_policies set enabled = false where policy_id = 'a'".to_owned(),
        "delete from abac_policies where policy_id = 'a'".to_owned(),
        format!(
            "insert into jit_requests (request_id, env_id, requester_id, requester_email, held_role, requested_role, reason, duration_minutes, status, requested_at, decided_at, expires_at) values ('j', '{env}', 'u', 'u@x', 'analyst', 'developer', 'r', 5, 'approved', now(), now(), now())"
        ),
        "update jit_requests set expired_at = now() where request_id = 'j'".to_owned(),
        "delete from jit_requests where request_id = 'j'".to_owned(),
        format!(
            "insert into agent_grants (grant_id, env_id, agent_id, capabilities, status, granted_by, granted_at, expires_at) values ('g', '{env}', 'a', '{{\"allowed_tables\": [], \"allowed_operations\": []}}', 'active', 'u', now(), now())"
        ),
        "update agent_grants set expires_at = now() where grant_id = 'g'".to_owned(),
        "delete from agent_grants where grant_id = 'g'".to_owned(),
        format!(
            "insert into storage_integrations (storage_integration_id, env_id, name, kind, allowed_prefixes, blocked_prefixes, enabled, credential_type, created_at, updated_at) values ('s', '{env}', 's', '{{\"kind\": \"file\", \"folder\": \"/srv\"}}', '{{}}', '{{}}', true, 'anonymous', now(), now())"
        ),
        "update storage_integrations set enabled = false where storage_integration_id = 's'".to_owned(),
        "delete from storage_integrations where storage_integration_id = 's'".to_owned(),
    ] {
        let before = world.version().await;
        world.sql(&change).await;
        assert!(world.version().await > before, "{change}");
    }
}

#[tokio::test]
async fn what_governs_nothing_moves_nothing() {
    let world = World::start().await;
    let elsewhere = organization(&world.app, "other", "free").await;
    let before = world.version().await;
    world.sql("update users set last_login = now(), name = 'Olga'").await;
    world.sql("insert into api_key_uses select key_id, now() from api_keys on conflict do nothing").await;
    world.sql("update environments set pg_port = 1, name = 'Renamed'").await;
    world.sql(&format!("update organizations set status = 'suspended' where org_id = '{elsewhere}'")).await;
    assert_eq!(world.version().await, before);
}

/// Publishes until the token is cancelled.
fn publish(world: &World) -> (Arc<Publisher>, CancellationToken, JoinHandle<()>) {
    let (publisher, stop) = (Publisher::of(&world.app.app), CancellationToken::new());
    let (running, stopped) = (Arc::clone(&publisher), stop.clone());
    let publishing = world.app.app.tasks().spawn(async move { running.run(stopped).await });
    (publisher, stop, publishing)
}

#[tokio::test]
async fn whoever_follows_gets_the_news_and_only_newer_ones() {
    let world = World::start().await;
    let (publisher, stop, publishing) = publish(&world);
    let mut receiver = publisher.follow(&world.env_id).await.unwrap().unwrap();
    let first = receiver.borrow_and_update().version;
    world.mask("ssn").await;
    let news = receiver.wait_for(|governance| !governance.policies.is_empty()).await.unwrap().clone();
    assert!(news.version > first);
    assert!(publisher.follow(&EnvId::from("nowhere")).await.unwrap().is_none());
    stop.cancel();
    publishing.await.unwrap();
}

#[tokio::test]
async fn a_listening_connection_that_breaks_loses_no_news() {
    let world = World::start().await;
    let (publisher, stop, publishing) = publish(&world);
    let mut receiver = publisher.follow(&world.env_id).await.unwrap().unwrap();
    world.mask("before").await;
    receiver.wait_for(|governance| governance.policies.len() == 1).await.unwrap();
    let broken = "select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity
                  where datname = current_database() and query ilike 'listen%'";
    assert_eq!(world.count(broken).await, 1);
    world.mask("after").await;
    receiver.wait_for(|governance| governance.policies.len() == 2).await.unwrap();
    stop.cancel();
    publishing.await.unwrap();
}

/// A data plane that is sent more than it takes keeps the rules of before.
#[tokio::test]
async fn no_resource_makes_a_snapshot_larger_than_its_share() {
    let world = World::start().await;
    let bot = json!({"name": "k", "scopes": ["query:read"], "agent_id": "bot"});
    world.create_key(bot).await;
    let (env_id, now) = (world.env_id.as_str(), world.app.app.now());
    let large = "repeat('x', 8 * 1024 * 1024)";
    for seeded in [
        format!("insert into policies select 'p', '{env_id}', 'large', 'row_level_security', false,
                 jsonb_build_array(jsonb_build_object('table', 't', 'filter', {large}, 'exempt_roles', array[]::text[])), '{now}', '{now}'"),
        format!("insert into abac_policies select 'p', '{env_id}', 'large', null,
                 jsonb_build_array(jsonb_build_object('condition', 'UserIs', 'action', 'deny', 'values', array[{large}])),
                 0, false, '{now}'"),
        format!("insert into agent_grants select 'g', '{env_id}', 'bot',
                 jsonb_build_object('allowed_tables', array[{large}], 'allowed_operations', array['select']),
                 'active', 'x', '{now}', '{now}'"),
        format!("update api_keys set attributes = jsonb_build_object('a', {large}) where agent_id = 'bot'"),
        format!("update users set attributes = jsonb_build_object('a', {large})"),
    ] {
        world.sql(&seeded).await;
    }
    let filter = json!({"table": "t", "filter": "a = 1"});
    let deny = json!({"condition": "OperationIs", "values": ["drop"], "action": "deny"});
    let capabilities = json!({"allowed_tables": ["t"], "allowed_operations": ["select"]});
    let ends = now + chrono::Duration::days(1);
    for (path, body) in [
        ("policies", json!({"name": "more", "type": "row_level_security", "rules": [filter]})),
        ("abac-policies", json!({"name": "more", "rules": [deny]})),
        ("agent-capabilities", json!({"agent_id": "bot", "capabilities": capabilities, "expires_at": ends})),
        ("api-keys", json!({"name": "more", "scopes": ["query:read"], "attributes": {"a": "b"}})),
    ] {
        let answer = world.app.post(&world.env(path), &world.owner, body).await;
        assert_eq!(answer.body["error"]["details"]["reason"], "too_large", "{path}: {}", answer.body);
        assert_eq!(answer.status, 409);
    }
    let ann = world.user("ann@acme.example", "analyst").await;
    let attributes = world.org(&format!("users/{ann}/attributes"));
    let more = world.app.put(&attributes, &world.owner, json!({"a": "b"})).await;
    assert_eq!(more.body["error"]["details"]["reason"], "too_large");
    // What makes it no larger is done, and so is what makes room.
    for path in ["policies/p", "abac-policies/p"] {
        world.app.put(&world.env(path), &world.owner, json!({"name": "renamed"})).await.expect(200);
        world.app.delete(&world.env(path), &world.owner).await.expect(200);
    }
    world.mask("ssn").await;
}

#[tokio::test]
async fn integrations_of_later_kinds_travel_apart_from_those_that_data_planes_of_before_read() {
    let world = World::start().await;
    let env = &world.env_id;
    for (name, kind) in [
        ("disk", r#"{"kind": "file", "folder": "/srv"}"#),
        ("shop", r#"{"kind": "postgres", "host": "db.example.com", "database": "shop"}"#),
        ("lake", r#"{"kind": "azure", "account": "lake1"}"#),
    ] {
        let made = format!(
            "insert into storage_integrations (storage_integration_id, env_id, name, kind, allowed_prefixes,
                 blocked_prefixes, enabled, credential_type, created_at, updated_at)
             values ('{name}', '{env}', '{name}', '{kind}', '{{}}', '{{}}', true, 'anonymous', now(), now())"
        );
        world.sql(&made).await;
    }
    let carried = snapshot(&world).await;
    for (all, name) in
        [(&carried.storage_integrations, "disk"), (&carried.attached, "shop"), (&carried.later_integrations, "lake")]
    {
        assert!(matches!(all.as_slice(), [one] if one.name == name), "{name}: {all:?}");
    }
    assert!(carried.storage_integration("Lake").is_some() && carried.storage_integration("shop").is_none());
}
