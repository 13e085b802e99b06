use chrono::Duration;
use contract::Role;
use serde_json::{Value, json};

use crate::domain::environments;
use crate::server::jobs;
use crate::testing::{self, Answer, TestApp};
use crate::worlds::World;

fn bearer(text: &Value) -> String {
    format!("ApiKey {}", text.as_str().unwrap())
}

#[tokio::test]
async fn a_key_is_shown_once_and_works() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"], "expires_in_days": 30})).await;
    assert!(made["key"].as_str().unwrap().starts_with(made["prefix"].as_str().unwrap()));
    assert!(made["prefix"].as_str().unwrap().starts_with("svc_test_"));
    assert_eq!((made["status"].as_str(), made["revoked"].as_bool()), (Some("active"), Some(false)));
    let listed = world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await.expect(200);
    let row = listed["data"].as_array().unwrap().iter().find(|row| row["name"] == "ci").unwrap();
    assert!(row.get("key").is_none() && row["last_used_at"].is_string(), "{row}");
}

#[tokio::test]
async fn what_a_key_is_made_from_is_checked() {
    let world = World::start().await;
    world.create_key(json!({"name": "taken", "scopes": ["query:read"]})).await;
    for (change, status, field) in [
        (json!({"scopes": []}), 400, "scopes"),
        (json!({"scopes": ["query:*", "nosuch:read"]}), 400, "scopes"),
        (json!({"ip_allowlist": ["10.0.0.0/8", "10.0.0.0/33"]}), 400, "ip_allowlist[1]"),
        (json!({"ip_allowlist": ["::ffff:0:0/90"]}), 400, "ip_allowlist[0]"),
        (json!({"name": "tak\u{200B}en"}), 400, "name"),
        (json!({"expires_in_days": 0}), 400, "expires_in_days"),
        (json!({"name": ""}), 400, "name"),
        (json!({"name": "taken"}), 409, ""),
        (json!({"user_id": "nobody"}), 400, "user_id"),
        (json!({"attributes": {"role": "owner"}}), 400, "attributes.role"),
        (json!({"agent_framework": "langchain"}), 400, "agent_framework"),
    ] {
        let mut body = json!({"name": "new", "scopes": ["query:read"]});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = world.app.post(&world.env("api-keys"), &world.owner, body).await;
        assert_eq!(answer.status, status, "{change} {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"].as_str().unwrap_or_default(), field);
    }
}

#[tokio::test]
async fn addresses_of_a_key_are_kept_in_their_one_form() {
    let world = World::start().await;
    let given = json!(["192.0.2.7", "2001:DB8::1", "::ffff:127.0.0.0/104", "10.1.2.3/8"]);
    let made = world.create_key(json!({"name": "k", "scopes": ["key:read"], "ip_allowlist": given})).await;
    assert_eq!(made["ip_allowlist"], json!(["192.0.2.7/32", "2001:db8::1/128", "127.0.0.0/8", "10.0.0.0/8"]));
    let key = format!("ApiKey {}", made["key"].as_str().unwrap());
    world.app.get(&world.env("api-keys"), &key).await.expect(200);
}

#[tokio::test]
async fn a_revoked_key_fails_at_once_and_gives_its_name_back() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"]})).await;
    let path = world.env(&format!("api-keys/{}", made["key_id"].as_str().unwrap()));
    world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await.expect(200);
    let revoked = world.app.delete(&path, &world.owner).await.expect(200);
    assert_eq!(revoked["revoked"], true);
    assert_eq!(world.app.delete(&path, &world.owner).await.expect(200), revoked);
    assert_eq!(world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await.code(), (401, "UNAUTHORIZED"));
    let rotated = world.app.post(&format!("{path}/rotate"), &world.owner, json!({})).await;
    assert_eq!(rotated.code(), (409, "CONFLICT"));
    world.create_key(json!({"name": "ci", "scopes": ["key:read"]})).await;
}

#[tokio::test]
async fn an_old_key_works_until_its_grace_ends() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"]})).await;
    let path = world.env(&format!("api-keys/{}/rotate", made["key_id"].as_str().unwrap()));
    let rotated = world.app.post(&path, &world.owner, json!({"grace_period_hours": 48})).await.expect(200);
    assert_eq!(rotated["grace_period_hours"], 48);
    let works = async |key: &Value| world.app.get(&world.env("api-keys"), &bearer(key)).await.status.as_u16();
    assert_eq!((works(&made["key"]).await, works(&rotated["new_key"]).await), (200, 200));
    assert_eq!(jobs::run_due(&world.app.app).await.unwrap(), 0);
    world.app.advance(Duration::hours(24));
    assert_eq!(jobs::run_due(&world.app.app).await.unwrap(), 1);
    let trail = world.app.get(&world.env("audit/admin?limit=1"), &world.owner).await.expect(200);
    assert_eq!(trail["data"][0]["event_type"], "key.expiring");
    world.app.advance(Duration::hours(24));
    assert_eq!((works(&made["key"]).await, works(&rotated["new_key"]).await), (401, 200));
}

#[tokio::test]
async fn a_grace_is_no_longer_than_the_key_lives() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"], "expires_in_days": 1})).await;
    let path = world.env(&format!("api-keys/{}/rotate", made["key_id"].as_str().unwrap()));
    let rotated = world.app.post(&path, &world.owner, json!({"grace_period_hours": 168})).await.expect(200);
    assert_eq!(rotated["old_key_expires_at"], made["expires_at"]);
}

#[tokio::test]
async fn a_second_rotation_ends_old_keys_together_at_the_earlier_time() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"]})).await;
    let path = world.env(&format!("api-keys/{}/rotate", made["key_id"].as_str().unwrap()));
    let first = world.app.post(&path, &world.owner, json!({"grace_period_hours": 10})).await.expect(200);
    let second = world.app.post(&path, &world.owner, Value::Null).await.expect(200);
    assert_eq!(second["old_key_expires_at"], first["old_key_expires_at"]);
    let third = world.app.post(&path, &world.owner, json!({"grace_period_hours": 0})).await.expect(200);
    let works = async |key: &Value| world.app.get(&world.env("api-keys"), &bearer(key)).await.status.as_u16();
    for dead in [&made["key"], &first["new_key"], &second["new_key"]] {
        assert_eq!(works(dead).await, 401);
    }
    assert_eq!(works(&third["new_key"]).await, 200);
    let too_long = world.app.post(&path, &world.owner, json!({"grace_period_hours": 169})).await;
    assert_eq!(too_long.code(), (400, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn expiry_address_and_environment_bind_a_key() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "a", "scopes": ["key:read"], "expires_in_days": 1})).await;
    let far = world.create_key(json!({"name": "b", "scopes": ["key:read"], "ip_allowlist": ["10.0.0.0/8"]})).await;
    assert_eq!(world.app.get(&world.env("api-keys"), &bearer(&far["key"])).await.code(), (403, "FORBIDDEN"));
    let elsewhere = world.app.get("/v1/environments/other/api-keys", &bearer(&made["key"])).await;
    assert_eq!(elsewhere.body["error"]["details"]["stable_code"], "SVC_ERR_403_ENV_MISMATCH");
    world.app.advance(Duration::days(1));
    let expired = world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await;
    assert_eq!(expired.body["error"]["details"]["stable_code"], "SVC_ERR_401_EXPIRED_KEY");
}

#[tokio::test]
async fn nobody_makes_a_key_that_may_do_more_than_they_may() {
    let world = World::start().await;
    let small = world.key(&["key:write", "query:read"]).await;
    let wide = world.app.post(&world.env("api-keys"), &small, json!({"name": "x", "scopes": ["policy:*"]})).await;
    assert_eq!(wide.body["error"]["details"]["stable_code"], "SVC_ERR_403_SCOPE_VIOLATION");
    let as_owner = json!({"name": "x", "scopes": ["query:read"], "user_id": world.owner_id});
    assert_eq!(world.app.post(&world.env("api-keys"), &small, as_owner.clone()).await.code(), (403, "FORBIDDEN"));
    let ada = world.user("ada@acme.example", "admin").await;
    let made = world.create_key(json!({"name": "ada", "scopes": ["key:*", "query:*"], "user_id": ada})).await;
    assert_eq!(
        world.app.post(&world.env("api-keys"), &bearer(&made["key"]), as_owner).await.code(),
        (403, "FORBIDDEN")
    );
}

#[tokio::test]
async fn a_key_follows_the_user_it_acts_for() {
    let world = World::start().await;
    let ann = world.user("ann@acme.example", "admin").await;
    let made = world.create_key(json!({"name": "ann", "scopes": ["key:*"], "user_id": ann})).await;
    let list = async || world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await.status.as_u16();
    assert_eq!(list().await, 200);
    world.sql(&format!("update users set role = '{}' where user_id = '{ann}'", Role::Analyst)).await;
    assert_eq!(list().await, 403);
    world.sql(&format!("update users set status = 'suspended' where user_id = '{ann}'")).await;
    assert_eq!(list().await, 401);
}

#[tokio::test]
async fn a_tier_has_so_many_keys_and_revoked_ones_do_not_count() {
    let world = World::start().await;
    world.set_tier("free").await;
    for n in 0..3 {
        world.create_key(json!({"name": format!("k{n}"), "scopes": ["query:read"]})).await;
    }
    let last = world.create_key(json!({"name": "k4", "scopes": ["query:read"]})).await;
    let over =
        world.app.post(&world.env("api-keys"), &world.owner, json!({"name": "k5", "scopes": ["query:read"]})).await;
    assert_eq!(over.body["error"]["details"]["quota"], "max_api_keys_per_environment");
    let path = world.env(&format!("api-keys/{}", last["key_id"].as_str().unwrap()));
    world.app.delete(&path, &world.owner).await.expect(200);
    world.create_key(json!({"name": "k5", "scopes": ["query:read"]})).await;
}

/// Every endpoint of an environment that keys have a scope for, with its ids filled in.
fn endpoints(world: &World) -> Vec<(axum::http::Method, String, contract::Scope)> {
    let rows = crate::server::endpoints::rows().iter().filter(|row| row.path.contains("{env_id}"));
    let path = |path: &str| {
        let path = path.replace("{env_id}", world.env_id.as_str()).replace("{org_id}", world.org_id.as_str());
        path.replace(['{', '}'], "")
    };
    rows.filter_map(|row| Some((row.method.clone(), path(row.path), row.scope?))).collect()
}

#[tokio::test]
async fn no_endpoint_takes_a_key_without_its_scope() {
    let world = World::start().await;
    for scope in contract::Scope::ALL {
        let others: Vec<&str> = contract::Scope::ALL.iter().filter(|s| *s != scope).map(|s| s.as_str()).collect();
        let authorization = world.key(&others).await;
        for (method, path, _) in endpoints(&world).into_iter().filter(|(_, _, needed)| needed == scope) {
            let answer = world.app.call(method.clone(), &path, &authorization, Value::Null).await;
            assert_eq!(answer.status, 403, "{scope}: {method} {path}");
        }
    }
}

#[tokio::test]
async fn no_endpoint_takes_a_key_that_is_revoked_expired_or_of_another_environment() {
    let world = World::start().await;
    let revoked = world.create_key(json!({"name": "revoked", "scopes": ["key:*"]})).await;
    let path = world.env(&format!("api-keys/{}", revoked["key_id"].as_str().unwrap()));
    world.app.delete(&path, &world.owner).await.expect(200);
    let all: Vec<String> = contract::caller::Scopes::all().into();
    let expired = world.create_key(json!({"name": "expired", "scopes": all, "expires_in_days": 1})).await;
    let elsewhere = world.elsewhere().await;
    world.app.advance(Duration::days(1));
    for (method, path, _) in endpoints(&world) {
        for (authorization, status) in
            [(bearer(&revoked["key"]), 401), (bearer(&expired["key"]), 401), (elsewhere.clone(), 403)]
        {
            let answer = world.app.call(method.clone(), &path, &authorization, Value::Null).await;
            assert_eq!(answer.status, status, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn nobody_takes_a_key_that_may_do_more_than_they_may() {
    let world = World::start().await;
    let made = async |body: Value| world.create_key(body).await;
    let owners = made(json!({"name": "o", "scopes": ["query:read"], "user_id": world.owner_id})).await;
    let plain = made(json!({"name": "p", "scopes": ["query:read"]})).await;
    let bound = json!({"name": "b", "scopes": ["key:write", "query:read"], "attributes": {"region": "EU"},
        "agent_id": "bot", "ip_allowlist": ["127.0.0.0/8"], "expires_in_days": 3});
    let bound = made(bound).await;
    let rotate = async |key: &Value, by: &str| {
        let path = world.env(&format!("api-keys/{}/rotate", key["key_id"].as_str().unwrap()));
        world.app.post(&path, by, json!({})).await.status.as_u16()
    };
    let admin = world.key_of(&world.user("adam@acme.example", "admin").await).await;
    assert_eq!(rotate(&owners, &admin).await, 403, "the owner's, by an admin");
    assert_eq!(rotate(&plain, &admin).await, 200);
    assert_eq!(rotate(&plain, &bearer(&bound["key"])).await, 403, "without its attributes");
    let billing = made(json!({"name": "m", "scopes": ["billing:read"]})).await;
    assert_eq!(rotate(&billing, &bearer(&bound["key"])).await, 403, "beyond its scopes");
    assert_eq!(rotate(&billing, &admin).await, 403, "billing is the owner's");
    let wanted = json!({"name": "n", "scopes": ["billing:*"]});
    assert_eq!(world.app.post(&world.env("api-keys"), &admin, wanted).await.code(), (403, "FORBIDDEN"));
    assert_eq!(rotate(&owners, &world.owner).await, 200);

    let ci = made(json!({"name": "ci", "scopes": ["key:write", "query:read"]})).await;
    let posing = json!({"name": "posing", "scopes": ["query:read"], "agent_id": "bot"});
    let posing = world.app.post(&world.env("api-keys"), &bearer(&ci["key"]), posing).await;
    assert_eq!(posing.code(), (403, "FORBIDDEN"), "rows of an agent, for who is none");
    let bots = made(json!({"name": "bots", "scopes": ["query:read"], "agent_id": "bot"})).await;
    assert_eq!(rotate(&bots, &bearer(&ci["key"])).await, 403, "nor a text of its key");
    assert_eq!(rotate(&plain, &bearer(&ci["key"])).await, 200);

    let create = async |more: Value| {
        let mut body = json!({"name": "child", "scopes": ["query:read"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.app.post(&world.env("api-keys"), &bearer(&bound["key"]), body).await
    };
    for wider in [
        json!({"attributes": {"region": "US"}}),
        json!({"attributes": {"region": "EU", "team": "x"}}),
        json!({"agent_id": "another"}),
        json!({"ip_allowlist": ["0.0.0.0/0"]}),
        json!({"expires_in_days": 4}),
    ] {
        assert_eq!(create(wider.clone()).await.code(), (403, "FORBIDDEN"), "{wider}");
    }
    let child = create(json!({"expires_in_days": 2})).await.expect(201);
    assert_eq!(child["attributes"], json!({"region": "EU"}));
    assert_eq!((child["agent_id"].as_str(), &child["ip_allowlist"]), (Some("bot"), &json!(["127.0.0.0/8"])));
    assert!(create(json!({"name": "other"})).await.expect(201)["expires_at"].is_string());
    assert_eq!(rotate(&child, &bearer(&bound["key"])).await, 200, "one of its own");
}

#[tokio::test]
async fn what_others_made_for_the_new_owner_ends_with_the_transfer() {
    let world = World::start().await;
    let adam = world.user("adam@acme.example", "admin").await;
    let eve = world.key_of(&world.user("eve@acme.example", "admin").await).await;
    let body = json!({"name": "e", "scopes": ["key:read"], "user_id": adam});
    let made = world.app.post(&world.env("api-keys"), &eve, body).await.expect(201);
    let works = async || world.app.get(&world.env("api-keys"), &bearer(&made["key"])).await.status.as_u16();
    assert_eq!(works().await, 200);
    world.app.post(&world.org("transfer-ownership"), &world.owner, json!({"user_id": adam})).await.expect(200);
    assert_eq!(works().await, 401);
}

/// Whoever made, rotated or came by a key of the new owner's in other ways than the owner's own session may know it.
#[tokio::test]
async fn what_others_may_know_of_the_new_owners_ends_with_the_transfer() {
    let app = TestApp::start().await;
    let owner = app.signup("olga", "Acme").await;
    app.set_tier("cloud").await;
    let [adam, eve] = [app.join(&owner, "adam", "admin").await, app.join(&owner, "eve", "admin").await];
    let demo = environments::EnvironmentSeed { name: "Demo".to_owned(), slug: "demo".to_owned(), test_mode: true };
    let org_id = owner["org"]["id"].as_str().unwrap().into();
    let env_id = environments::record(&app.app, &org_id, &demo).await.unwrap();
    let keys = format!("/v1/environments/{env_id}/api-keys");
    let make = async |by: &str, name: &str| {
        let body = json!({"name": name, "scopes": ["key:*"], "user_id": adam["user"]["id"]});
        app.post(&keys, by, body).await.expect(201)
    };
    let rotate = async |by: &str, key: &Value, hours: i64| {
        let path = format!("{keys}/{}/rotate", key["key_id"].as_str().unwrap());
        app.post(&path, by, json!({"grace_period_hours": hours})).await.expect(200)
    };
    let works = async |text: &Value| app.get(&keys, &bearer(text)).await.status.as_u16();
    let [by_adam, by_eve] = [testing::bearer(&adam), testing::bearer(&eve)];

    let own = make(&by_adam, "own").await;
    let taken_back = make(&by_eve, "made by eve, rotated by adam").await;
    let taken_back = rotate(&by_adam, &taken_back, 0).await;
    let graced = make(&by_eve, "of which eve still has the old text").await;
    let graced = rotate(&by_adam, &graced, 1).await;
    let given = make(&by_eve, "made by eve").await;
    let child = make(&bearer(&given["key"]), "made by eve, by that").await;
    let stolen = make(&by_adam, "made by adam, rotated by eve").await;
    let stolen = (stolen["key"].clone(), rotate(&by_eve, &stolen, 24).await);

    let body = json!({"user_id": adam["user"]["id"]});
    app.post(&app.org(&owner, "/transfer-ownership"), &testing::bearer(&owner), body).await.expect(200);
    assert_eq!(works(&own["key"]).await, 200);
    assert_eq!(works(&taken_back["new_key"]).await, 200);
    for ended in [&graced["new_key"], &given["key"], &child["key"], &stolen.0, &stolen.1["new_key"]] {
        assert_eq!(works(ended).await, 401);
    }
    let revoked = app.events(&owner).await.into_iter().filter(|(event_type, _)| event_type == "key.revoked").count();
    assert_eq!(revoked, 4);
}

#[tokio::test]
async fn a_key_of_an_agent_gives_away_no_other_framework() {
    let world = World::start().await;
    let bound =
        json!({"name": "b", "scopes": ["key:write", "query:read"], "agent_id": "bot", "agent_framework": "langchain"});
    let bound = world.create_key(bound).await;
    let create = async |more: Value| -> Answer {
        let mut body = json!({"name": more.to_string(), "scopes": ["query:read"], "agent_id": "bot"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.app.post(&world.env("api-keys"), &bearer(&bound["key"]), body).await
    };
    assert_eq!(create(json!({"agent_framework": "crewai"})).await.code(), (403, "FORBIDDEN"));
    assert_eq!(create(json!({})).await.expect(201)["agent_framework"], "langchain");
    assert_eq!(create(json!({"agent_framework": "langchain"})).await.expect(201)["agent_id"], "bot");
}

#[tokio::test]
async fn a_key_of_somebody_suspended_is_rotated_when_they_are_back() {
    let world = World::start().await;
    let ann = world.user("ann@acme.example", "analyst").await;
    let made = world.create_key(json!({"name": "ann", "scopes": ["query:read"], "user_id": ann})).await;
    let path = world.env(&format!("api-keys/{}/rotate", made["key_id"].as_str().unwrap()));
    world.sql(&format!("update users set status = 'suspended' where user_id = '{ann}'")).await;
    assert_eq!(world.app.post(&path, &world.owner, json!({})).await.code(), (409, "CONFLICT"));
    world.sql(&format!("update users set status = 'active' where user_id = '{ann}'")).await;
    world.app.post(&path, &world.owner, json!({})).await.expect(200);
}

#[test]
fn whoever_is_given_a_text_has_shown_a_code_of_the_last_minutes() {
    let gives = |row: &&platform::http::route::Route| row.path.contains("/api-keys") && row.secret.is_some();
    let rows: Vec<_> = crate::server::endpoints::rows().iter().filter(gives).collect();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.step_up));
}

#[tokio::test]
async fn the_texts_of_a_key_are_bounded_and_a_rotation_without_grace_ends_them() {
    let world = World::start().await;
    let made = world.create_key(json!({"name": "k", "scopes": ["query:read"]})).await;
    let key_id = made["key_id"].as_str().unwrap();
    let now = world.app.app.now();
    let old = async |name: &str, count: i64, not_after: contract::Timestamp| {
        let rows = format!(
            "alter table api_key_secrets disable trigger user; -- each row would raise the version
             insert into api_key_secrets (prefix, key_id, hash, created_at, not_after)
             select '{name}-' || n, '{key_id}', 'x', '{now}'::timestamptz - n * interval '1 minute', '{not_after}'
             from generate_series(1, {count}) n;
             alter table api_key_secrets enable trigger user;"
        );
        world.sql(&rows).await;
    };
    old("ended", 50, now).await;
    old("standing", 30, now + Duration::hours(1)).await;
    let rotate = async |hours: i64| {
        let path = world.env(&format!("api-keys/{key_id}/rotate"));
        world.app.post(&path, &world.owner, json!({"grace_period_hours": hours})).await
    };
    let count = async |of: &str| world.count(&format!("select count(*) from api_key_secrets where {of}")).await;
    rotate(1).await.expect(200);
    assert!(count("prefix like 'ended-%'").await <= 8, "of ended ones a few are kept");
    let full = rotate(1).await;
    assert_eq!((full.code().0, &full.body["error"]["details"]["reason"]), (409, &json!("too_many")));
    rotate(0).await.expect(200);
    let standing = format!("key_id = '{key_id}' and (not_after is null or not_after > '{now}')");
    assert_eq!(count(&standing).await, 1);
    rotate(1).await.expect(200);
    old("many", 20_000, now + Duration::hours(1)).await;
    let more = json!({"name": "one more", "scopes": ["query:read"]});
    assert_eq!(world.app.post(&world.env("api-keys"), &world.owner, more).await.code(), (409, "CONFLICT"));
    rotate(0).await.expect(200);
}
