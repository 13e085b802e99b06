use chrono::Duration;
use serde_json::{Value, json};

use crate::testing::{TestApp, bearer};
use crate::worlds::World;

/// An organization of the tier `cloud` and its owner.
async fn world() -> (TestApp, Value) {
    let app = TestApp::start().await;
    let owner = app.signup("olga", "Acme").await;
    app.set_tier("cloud").await;
    (app, owner)
}

async fn invited(app: &TestApp, by: &Value, name: &str, role: &str) -> Value {
    let body = json!({"email": format!("{name}@example.com"), "name": name, "role": role});
    app.post(&app.org(by, "/users"), &bearer(by), body).await.expect(201)
}

fn user(app: &TestApp, by: &Value, user: &Value, rest: &str) -> String {
    app.org(by, &format!("/users/{}{rest}", user["user_id"].as_str().unwrap()))
}

async fn set_role(app: &TestApp, by: &Value, of: &Value, role: &str) -> crate::testing::Answer {
    app.put(&user(app, by, of, "/role"), &bearer(by), json!({"role": role})).await
}

#[tokio::test]
async fn an_invited_user_joins_with_the_token() {
    let (app, owner) = world().await;
    let body = json!({"email": "ann@example.com", "role": "analyst"});
    let invited = app.post(&app.org(&owner, "/users/invite"), &bearer(&owner), body).await.expect(201);
    assert_eq!(
        (&invited["status"], &invited["role"], &invited["id"]),
        (&json!("invited"), &json!("analyst"), &invited["user_id"])
    );
    let accept = json!({"token": invited["invitation_token"], "password": app.password(), "name": "Ann"});
    let opened = app.post("/v1/auth/accept-invitation", "", accept.clone()).await.expect(200);
    assert_eq!((&opened["user"]["id"], &opened["user"]["name"]), (&invited["user_id"], &json!("Ann")));
    assert_eq!(app.get("/v1/auth/me", &bearer(&opened)).await.expect(200)["role"], "analyst");
    assert_eq!(app.post("/v1/auth/accept-invitation", "", accept).await.code(), (401, "UNAUTHORIZED"));
    let events: Vec<_> = app.events(&owner).await.into_iter().map(|(event_type, _)| event_type).collect();
    assert_eq!(events, ["org.created", "user.invited", "user.accepted"]);
}

#[tokio::test]
async fn an_invitation_ends_after_seven_days() {
    let (app, owner) = world().await;
    let invited = invited(&app, &owner, "ann", "analyst").await;
    app.advance(Duration::days(7));
    let accept = json!({"token": invited["invitation_token"], "password": app.password()});
    assert_eq!(app.post("/v1/auth/accept-invitation", "", accept).await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn somebody_with_an_account_joins_with_its_password_only() {
    let (app, owner) = world().await;
    app.signup("ann", "Elsewhere").await;
    let invited = invited(&app, &owner, "ann", "developer").await;
    let accept = |password: &str| json!({"token": invited["invitation_token"], "password": password});
    assert_eq!(app.post("/v1/auth/accept-invitation", "", accept("another password")).await.code().0, 401);
    app.post("/v1/auth/accept-invitation", "", accept(app.password())).await.expect(200);
}

#[tokio::test]
async fn rule_1_only_an_owner_makes_admins() {
    let (app, owner) = world().await;
    let admin = app.join(&owner, "adam", "admin").await;
    let body = json!({"email": "eve@example.com", "role": "admin"});
    assert_eq!(app.post(&app.org(&admin, "/users"), &bearer(&admin), body).await.code(), (403, "FORBIDDEN"));
    let dev = invited(&app, &admin, "dan", "developer").await;
    assert_eq!(set_role(&app, &admin, &dev, "admin").await.code(), (403, "FORBIDDEN"));
    set_role(&app, &owner, &dev, "admin").await.expect(200);
}

#[tokio::test]
async fn rules_2_and_3_nobody_assigns_the_role_owner() {
    let (app, owner) = world().await;
    let admin = app.join(&owner, "adam", "admin").await;
    for by in [&owner, &admin] {
        let body = json!({"email": "eve@example.com", "role": "owner"});
        assert_eq!(app.post(&app.org(by, "/users"), &bearer(by), body).await.code(), (400, "VALIDATION_ERROR"));
        assert_eq!(set_role(&app, by, &admin["user"], "owner").await.code(), (400, "VALIDATION_ERROR"));
    }
    assert_eq!(set_role(&app, &admin, &owner["user"], "analyst").await.code(), (403, "FORBIDDEN"));
    assert_eq!(set_role(&app, &owner, &owner["user"], "admin").await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn rule_4_the_last_admin_does_not_demote_themselves() {
    let (app, owner) = world().await;
    let admin = app.join(&owner, "adam", "admin").await;
    let answer = set_role(&app, &admin, &admin["user"], "analyst").await;
    assert_eq!((answer.code(), &answer.body["error"]["details"]["reason"]), ((409, "CONFLICT"), &json!("last_admin")));
    let path = user(&app, &admin, &admin["user"], "");
    assert_eq!(app.delete(&path, &bearer(&admin)).await.code(), (409, "CONFLICT"));
    // One who is only invited cannot act.
    invited(&app, &owner, "anna", "admin").await;
    assert_eq!(set_role(&app, &admin, &admin["user"], "analyst").await.code(), (409, "CONFLICT"));
    app.join(&owner, "alma", "admin").await;
    let change = set_role(&app, &admin, &admin["user"], "analyst").await.expect(200);
    assert_eq!((&change["previous_role"], &change["role"]), (&json!("admin"), &json!("analyst")));
}

#[tokio::test]
async fn rule_4_holds_when_two_last_admins_leave_at_once() {
    let (app, owner) = world().await;
    let (adam, alma) = (app.join(&owner, "adam", "admin").await, app.join(&owner, "alma", "admin").await);
    let (one, two) =
        tokio::join!(set_role(&app, &adam, &adam["user"], "analyst"), set_role(&app, &alma, &alma["user"], "analyst"));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[tokio::test]
async fn rule_5_the_owner_cannot_be_removed() {
    let (app, owner) = world().await;
    let admin = app.join(&owner, "adam", "admin").await;
    for by in [&owner, &admin] {
        assert_eq!(app.delete(&user(&app, by, &owner["user"], ""), &bearer(by)).await.code(), (403, "FORBIDDEN"));
    }
}

#[tokio::test]
async fn rule_6_a_role_change_is_recorded_with_what_was() {
    let (app, owner) = world().await;
    let ann = invited(&app, &owner, "ann", "analyst").await;
    set_role(&app, &owner, &ann, "developer").await.expect(200);
    set_role(&app, &owner, &ann, "developer").await.expect(200);
    let changes: Vec<_> = app.events(&owner).await.into_iter().filter(|(t, _)| t == "user.role_changed").collect();
    let expected = json!({"before": {"role": "analyst"}, "after": {"role": "developer"}});
    assert_eq!(changes, [("user.role_changed".to_owned(), expected)]);
}

#[tokio::test]
async fn rule_7_an_email_is_one_user_of_an_organization() {
    let (app, owner) = world().await;
    invited(&app, &owner, "ann", "analyst").await;
    let body = json!({"email": "ANN@example.com", "role": "developer"});
    assert_eq!(app.post(&app.org(&owner, "/users/invite"), &bearer(&owner), body).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn a_removed_user_is_gone_at_once() {
    let (app, owner) = world().await;
    let ann = app.join(&owner, "ann", "analyst").await;
    app.login("ann").await;
    let removal = app.delete(&user(&app, &owner, &ann["user"], ""), &bearer(&owner)).await.expect(200);
    assert_eq!(
        (&removal["sessions_terminated"], &removal["api_keys_revoked"], &removal["deleted"]),
        (&json!(2), &json!(0), &json!(true))
    );
    assert_eq!(removal["removed_by"], owner["user"]["id"]);
    assert_eq!(app.get("/v1/auth/me", &bearer(&ann)).await.code(), (401, "UNAUTHORIZED"));
    assert_eq!(app.delete(&user(&app, &owner, &ann["user"], ""), &bearer(&owner)).await.code(), (404, "NOT_FOUND"));
    invited(&app, &owner, "ann", "analyst").await;
}

#[tokio::test]
async fn a_suspended_user_is_out_until_reactivated() {
    let (app, owner) = world().await;
    let ann = app.join(&owner, "ann", "analyst").await;
    let suspend = user(&app, &owner, &ann["user"], "/suspend");
    let suspended = app.post(&suspend, &bearer(&owner), Value::Null).await.expect(200);
    assert_eq!(suspended["status"], "suspended");
    assert_eq!(app.post(&suspend, &bearer(&owner), Value::Null).await.code(), (409, "CONFLICT"));
    assert_eq!(app.get("/v1/auth/me", &bearer(&ann)).await.code(), (401, "UNAUTHORIZED"));
    let login = json!({"email": "ann@example.com", "password": app.password()});
    assert_eq!(app.post("/v1/auth/login", "", login).await.code(), (403, "FORBIDDEN"));
    let reactivate = user(&app, &owner, &ann["user"], "/reactivate");
    assert_eq!(app.post(&reactivate, &bearer(&owner), Value::Null).await.expect(200)["status"], "active");
    app.login("ann").await;
    assert_eq!(
        app.post(&user(&app, &owner, &owner["user"], "/suspend"), &bearer(&owner), Value::Null).await.code().0,
        403
    );
}

#[tokio::test]
async fn a_demoted_user_loses_the_role_in_the_same_session() {
    let (app, owner) = world().await;
    let adam = app.join(&owner, "adam", "admin").await;
    app.get(&app.org(&adam, "/users"), &bearer(&adam)).await.expect(200);
    set_role(&app, &owner, &adam["user"], "analyst").await.expect(200);
    assert_eq!(app.get(&app.org(&adam, "/users"), &bearer(&adam)).await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn a_suspended_admin_comes_back_by_the_owner_alone() {
    let (app, owner) = world().await;
    let adam = app.join(&owner, "adam", "admin").await;
    let eve = app.join(&owner, "eve", "admin").await;
    app.post(&user(&app, &owner, &adam["user"], "/suspend"), &bearer(&owner), Value::Null).await.expect(200);
    let reactivate = user(&app, &owner, &adam["user"], "/reactivate");
    assert_eq!(app.post(&reactivate, &bearer(&eve), Value::Null).await.code(), (403, "FORBIDDEN"));
    assert_eq!(app.post(&reactivate, &bearer(&owner), Value::Null).await.expect(200)["status"], "active");
}

#[tokio::test]
async fn no_key_of_nobody_and_no_suspended_admin_brings_an_admin_back() {
    let world = World::start().await;
    let adam = world.user("adam@acme.example", "admin").await;
    let dan = world.user("dan@acme.example", "developer").await;
    let (own, bare) = (world.key_of(&adam).await, world.key(&["user:write"]).await);
    for user_id in [&adam, &dan] {
        world.app.post(&world.org(&format!("users/{user_id}/suspend")), &world.owner, Value::Null).await.expect(200);
    }
    let back = async |user_id, by: &str| {
        world.app.post(&world.org(&format!("users/{user_id}/reactivate")), by, Value::Null).await.status.as_u16()
    };
    assert_eq!((back(&adam, &bare).await, back(&adam, &own).await), (403, 401));
    assert_eq!((back(&dan, &bare).await, back(&adam, &world.owner).await), (200, 200));
}

#[tokio::test]
async fn ownership_is_given_away_by_the_owner_alone() {
    let (app, owner) = world().await;
    let adam = app.join(&owner, "adam", "admin").await;
    let path = app.org(&owner, "/transfer-ownership");
    let to_adam = json!({"user_id": adam["user"]["id"]});
    assert_eq!(app.post(&path, &bearer(&adam), to_adam.clone()).await.code(), (403, "FORBIDDEN"));
    let waiting = invited(&app, &owner, "ann", "admin").await;
    assert_eq!(app.post(&path, &bearer(&owner), json!({"user_id": waiting["id"]})).await.code(), (409, "CONFLICT"));
    assert_eq!(app.post(&path, &bearer(&owner), json!({"user_id": "nobody"})).await.code(), (404, "NOT_FOUND"));
    let transfer = app.post(&path, &bearer(&owner), to_adam).await.expect(200);
    assert_eq!((&transfer["owner"]["role"], &transfer["previous_owner"]["role"]), (&json!("owner"), &json!("admin")));
    let changed = app.events(&owner).await.into_iter().filter(|(t, _)| t == "user.role_changed").count();
    assert_eq!(changed, 2);
}

#[tokio::test]
async fn attributes_are_set_whole_and_read_back() {
    let (app, owner) = world().await;
    let ann = invited(&app, &owner, "ann", "analyst").await;
    let path = user(&app, &owner, &ann, "/attributes");
    let set = app.put(&path, &bearer(&owner), json!({"region": "EMEA", "team": "a"})).await.expect(200);
    assert_eq!(set["attributes"], json!({"region": "EMEA", "team": "a"}));
    app.put(&path, &bearer(&owner), json!({"region": "APAC"})).await.expect(200);
    let listed = app.get(&app.org(&owner, "/users?role=analyst"), &bearer(&owner)).await.expect(200);
    assert_eq!(listed["data"][0]["attributes"], json!({"region": "APAC"}));
    let many: serde_json::Map<_, _> = (0..33).map(|n| (format!("a{n}"), json!("x"))).collect();
    for bad in [
        json!({"Region": "x"}),
        json!({"1a": "x"}),
        json!({"role": "x"}),
        json!({"a": 1}),
        json!([]),
        json!({"a": "x".repeat(1001)}),
        many.into(),
    ] {
        assert_eq!(app.put(&path, &bearer(&owner), bad.clone()).await.code(), (400, "VALIDATION_ERROR"), "{bad}");
    }
}

#[tokio::test]
async fn the_list_is_paged_and_filtered() {
    let (app, owner) = world().await;
    for n in 0..5 {
        invited(&app, &owner, &format!("u{n}"), if n % 2 == 0 { "analyst" } else { "auditor" }).await;
    }
    let mut emails = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = app.org(&owner, &format!("/users?limit=2{cursor}"));
        let page = app.get(&path, &bearer(&owner)).await.expect(200);
        assert_eq!(page["pagination"]["total"], 6);
        emails.extend(page["data"].as_array().unwrap().iter().map(|user| user["email"].as_str().unwrap().to_owned()));
        match page["pagination"]["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let mut unique = emails.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((emails.len(), unique.len()), (6, 6));
    for (query, total) in [("role=auditor", 2), ("status=invited", 5), ("role=owner&status=invited", 0)] {
        let page = app.get(&app.org(&owner, &format!("/users?{query}")), &bearer(&owner)).await.expect(200);
        assert_eq!(page["pagination"]["total"], total, "{query}");
    }
    for query in ["role=king", "status=gone", "limit=0", "cursor=x"] {
        assert_eq!(
            app.get(&app.org(&owner, &format!("/users?{query}")), &bearer(&owner)).await.code(),
            (400, "VALIDATION_ERROR"),
            "{query}"
        );
    }
}

/// Whoever was there all the time is listed once, whoever comes or goes between two pages: all are of one moment.
#[tokio::test]
async fn a_list_that_changes_between_its_pages_leaves_out_nobody_and_repeats_nobody() {
    let (app, owner) = world().await;
    app.set_tier("enterprise").await;
    let mut there = vec![owner["user"]["id"].clone()];
    let mut leaving = Vec::new();
    for n in 0..9 {
        let one = invited(&app, &owner, &format!("u{n}"), "analyst").await;
        if n % 3 == 0 { leaving.push(one) } else { there.push(one["user_id"].clone()) }
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    for page_number in 0.. {
        let path = app.org(&owner, &format!("/users?limit=2{cursor}"));
        let page = app.get(&path, &bearer(&owner)).await.expect(200);
        listed.extend(page["data"].as_array().unwrap().iter().map(|one| one["user_id"].clone()));
        let Some(next) = page["pagination"]["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        invited(&app, &owner, &format!("late{page_number}"), "analyst").await;
        if let Some(gone) = leaving.pop() {
            let path = app.org(&owner, &format!("/users/{}", gone["user_id"].as_str().unwrap()));
            app.delete(&path, &bearer(&owner)).await.expect(200);
        }
        assert!(page_number < 30, "it has no end");
    }
    for one in there {
        assert_eq!(listed.iter().filter(|listed| **listed == one).count(), 1, "{one}");
    }
    let all = listed.len();
    listed.sort_by_key(Value::to_string);
    listed.dedup();
    assert_eq!(listed.len(), all);
}

#[tokio::test]
async fn a_tier_bounds_the_users() {
    let app = TestApp::start().await;
    let owner = app.signup("olga", "Acme").await;
    for name in ["ann", "ben"] {
        invited(&app, &owner, name, "analyst").await;
    }
    let body = json!({"email": "cid@example.com", "role": "analyst"});
    let answer = app.post(&app.org(&owner, "/users"), &bearer(&owner), body).await;
    assert_eq!((answer.code(), &answer.body["error"]["details"]["reason"]), ((403, "FORBIDDEN"), &json!("tier_limit")));
}
