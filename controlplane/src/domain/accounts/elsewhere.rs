//! The other organizations of somebody's account: a session is in one of them, and can move.
//!
//! Moving keeps what was proven and when the session ends. A provider vouches for the organization that named it
//! alone: a session that it has opened stays there, and none but its own enters where single sign-on is enforced.

use contract::caller::Credential;
use contract::{OrgId, SessionId};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use crate::domain::accounts::account;
use crate::domain::accounts::sessions::{self, SessionHolder};

/// An organization that an account belongs to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Membership {
    pub id: OrgId,
    pub org_id: OrgId,
    pub name: String,
    pub slug: String,
    pub role: String,
    /// It is entered by its own single sign-on alone.
    pub sso_enforced: bool,
    /// The session is in it.
    pub current: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::domain) struct MembershipList {
    data: Vec<Membership>,
}

/// Those that the session could be in. One that a provider has opened could be in no other.
pub(in crate::domain) async fn list(call: Call) -> Result<Json<MembershipList>> {
    let Credential::Session { session_id } = &call.caller.credential else {
        return Err(Error::Forbidden("a key is for one environment: sign in"));
    };
    let mut conn = call.app.pool().acquire().await?;
    let holder = sessions::holder(&mut conn, session_id).await?;
    let account_id = holder.as_ref().map(|holder| holder.account_id.as_str());
    let data = account::organizations(&mut conn, account_id, call.caller.user_id.as_ref(), call.org_id()).await?;
    Ok(Json(MembershipList { data }))
}

/// The session is in another organization from here on; its access tokens of before are nobody's.
pub(super) async fn moved(tx: &mut PgConnection, session_id: &SessionId, wanted: &OrgId) -> Result<SessionHolder> {
    const STAYS: Error =
        Error::Forbidden("who came by a provider stays in its organization: sign in with your account");
    let account_id = sessions::holder(tx, session_id).await?.ok_or(STAYS)?.account_id;
    let membership = account::membership(tx, &account_id, Some(wanted)).await?;
    let holder = membership.ok_or(Error::NO_MEMBERSHIP)?.enters()?;
    sessions::give(tx, session_id, &holder.user_id).await?;
    account::remember(tx, &account_id, &holder.org_id).await?;
    Ok(holder)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::testing::{TestApp, bearer};

    /// Ada's session in Acme, and the Base that she has founded.
    async fn of_two(app: &TestApp) -> (Value, Value) {
        let ada = app.signup("ada", "Acme").await;
        let base = json!({"name": "Base", "slug": "base", "billing_email": "bills@base.example"});
        let base = app.post("/v1/organizations", &bearer(&ada), base).await.expect(201);
        (ada, base["org_id"].clone())
    }

    async fn current(app: &TestApp, opened: &Value) -> Vec<(String, bool)> {
        let list = app.get("/v1/auth/organizations", &bearer(opened)).await.expect(200);
        let of = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["current"] == json!(true));
        list["data"].as_array().unwrap().iter().map(of).collect()
    }

    #[tokio::test]
    async fn a_session_moves_to_another_organization_of_its_account() {
        let app = TestApp::start().await;
        let (ada, base) = of_two(&app).await;
        assert_eq!(current(&app, &ada).await, [("Acme".to_owned(), true), ("Base".to_owned(), false)]);
        let body = json!({"refresh_token": ada["refresh_token"], "org_id": base});
        let moved = app.post("/v1/auth/token/refresh", "", body).await.expect(200);
        assert_eq!((&moved["org"]["org_id"], &moved["user"]["role"]), (&base, &json!("owner")));
        assert_eq!(app.get("/v1/auth/me", &bearer(&moved)).await.expect(200)["org_id"], base);
        assert_eq!(current(&app, &moved).await, [("Acme".to_owned(), false), ("Base".to_owned(), true)]);
        assert_eq!(app.get("/v1/auth/me", &bearer(&ada)).await.code().0, 401);
        let again =
            app.post("/v1/auth/refresh", "", json!({"refresh_token": moved["refresh_token"]})).await.expect(200);
        assert_eq!(again["org"]["org_id"], base);
    }

    #[tokio::test]
    async fn a_refresh_that_is_sent_again_for_another_organization_is_409() {
        let app = TestApp::start().await;
        let (ada, base) = of_two(&app).await;
        let refresh = |org_id: &Value| {
            let body = json!({"refresh_token": ada["refresh_token"], "org_id": org_id});
            app.post("/v1/auth/refresh", "", body)
        };
        let moved = refresh(&base).await.expect(200);
        for wanted in [&base, &Value::Null] {
            let again = refresh(wanted).await.expect(200);
            assert_eq!((&again["refresh_token"], &again["org"]["org_id"]), (&moved["refresh_token"], &base));
        }
        let other = refresh(&ada["org"]["org_id"]).await;
        let reason = &other.body["error"]["details"]["reason"];
        assert_eq!((other.code().0, reason), (409, &json!("refreshed_elsewhere")));
        app.get("/v1/auth/me", &bearer(&moved)).await.expect(200);
    }

    #[tokio::test]
    async fn refreshes_beside_a_move_leave_the_session_alive() {
        let app = TestApp::start().await;
        let (ada, base) = of_two(&app).await;
        let refresh = |org_id: &Value| {
            let body = json!({"refresh_token": ada["refresh_token"], "org_id": org_id});
            app.post("/v1/auth/refresh", "", body)
        };
        let three = futures::join!(refresh(&base), refresh(&Value::Null), refresh(&Value::Null));
        // Whoever moves behind another is told to move with the successor.
        assert!([200, 409].contains(&three.0.code().0), "{}", three.0.body);
        three.1.expect(200);
        let last = three.2.expect(200);
        app.post("/v1/auth/refresh", "", json!({"refresh_token": last["refresh_token"]})).await.expect(200);
    }

    #[tokio::test]
    async fn nobody_moves_where_they_are_not_and_stays_signed_in() {
        let app = TestApp::start().await;
        let ada = app.signup("ada", "Acme").await;
        let bob = app.signup("bob", "Base").await;
        let body = json!({"refresh_token": ada["refresh_token"], "org_id": bob["org"]["org_id"]});
        assert_eq!(app.post("/v1/auth/refresh", "", body).await.code(), (403, "FORBIDDEN"));
        let stays = app.post("/v1/auth/refresh", "", json!({"refresh_token": ada["refresh_token"]})).await.expect(200);
        assert_eq!(stays["org"], ada["org"]);
    }

    #[tokio::test]
    async fn where_single_sign_on_is_enforced_nobody_comes_from_elsewhere() {
        let app = TestApp::start().await;
        let (ada, base) = of_two(&app).await;
        sqlx::query("update organizations set enforce_sso = true where org_id = $1")
            .bind(base.as_str())
            .execute(app.app.pool())
            .await
            .unwrap();
        let body = json!({"refresh_token": ada["refresh_token"], "org_id": base});
        let answer = app.post("/v1/auth/refresh", "", body).await;
        assert_eq!((answer.code().0, &answer.body["error"]["details"]["reason"]), (403, &json!("sso_enforced")));
    }

    #[tokio::test]
    async fn who_came_by_a_provider_stays_in_its_organization() {
        let app = TestApp::start().await;
        let (ada, base) = of_two(&app).await;
        sqlx::query("update sessions set method = 'sso'").execute(app.app.pool()).await.unwrap();
        assert_eq!(current(&app, &ada).await, [("Acme".to_owned(), true)]);
        let body = json!({"refresh_token": ada["refresh_token"], "org_id": base});
        assert_eq!(app.post("/v1/auth/refresh", "", body).await.code(), (403, "FORBIDDEN"));
    }
}
