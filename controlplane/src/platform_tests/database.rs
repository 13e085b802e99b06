use std::path::PathBuf;
use std::str::FromStr;

use contract::Redacted;
use platform::database::FollowedUrl;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};

use crate::testing::TestApp;

/// A pool on the database of a test, and the file that it follows.
struct Place {
    world: TestApp,
    pool: PgPool,
    file: PathBuf,
    /// A role that may sign in beside the first.
    role: String,
}

impl Place {
    async fn new(name: &str) -> Self {
        let world = TestApp::start().await;
        let role = format!("rotated_{name}_{}", std::process::id());
        execute(world.app.pool(), &format!("create role {role} login superuser")).await;
        let pool = PgPoolOptions::new().max_connections(2).connect(&world.database_url()).await.unwrap();
        let file = std::env::temp_dir().join(format!("sluice-{role}"));
        std::fs::write(&file, world.database_url()).unwrap();
        Self { world, pool, file, role }
    }

    fn follow(&self) -> FollowedUrl {
        FollowedUrl::new(self.file.clone(), Redacted::new(self.world.database_url()), self.pool.clone())
    }

    /// The URL for somebody else.
    fn url_of(&self, role: &str) -> String {
        let url = self.world.database_url();
        let (scheme, (_, place)) = (url.split_once("://").unwrap().0, url.split_once('@').unwrap());
        format!("{scheme}://{role}@{place}")
    }

    /// Who a connection is that was not open before.
    async fn who(&self) -> String {
        while self.pool.num_idle() > 0 {
            self.pool.acquire().await.unwrap().close().await.unwrap();
        }
        sqlx::query_scalar("select current_user::text").fetch_one(&self.pool).await.unwrap()
    }

    async fn end(self) {
        self.pool.close().await;
        std::fs::remove_file(&self.file).unwrap();
        execute(self.world.app.pool(), &format!("drop role {}", self.role)).await;
    }
}

async fn execute(pool: &PgPool, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(pool).await.unwrap();
}

#[tokio::test]
async fn credentials_that_are_rotated_open_the_next_connections_and_open_ones_stay() {
    let place = Place::new("new").await;
    let mut followed = place.follow();
    followed.look().await;
    let mut open = place.pool.acquire().await.unwrap();
    let before: String = sqlx::query_scalar("select current_user::text").fetch_one(&mut *open).await.unwrap();
    std::fs::write(&place.file, format!("{}\n", place.url_of(&place.role))).unwrap();
    followed.look().await;
    assert_eq!(place.who().await, place.role);
    let stays: String = sqlx::query_scalar("select current_user::text").fetch_one(&mut *open).await.unwrap();
    assert_eq!(stays, before);
    drop(open);
    place.end().await;
}

#[tokio::test]
async fn what_lets_nobody_in_or_leads_elsewhere_or_is_no_url_changes_nothing() {
    let place = Place::new("bad").await;
    let mut followed = place.follow();
    let options = PgConnectOptions::from_str(&place.world.database_url()).unwrap();
    let before = place.who().await;
    let elsewhere = place.world.database_url().replace(options.get_database().unwrap(), "postgres");
    for bad in [place.url_of("nobody_of_this_name"), elsewhere, "postgres://u@127.0.0.1:1/d".to_owned(), String::new()]
    {
        std::fs::write(&place.file, &bad).unwrap();
        followed.look().await;
        assert_eq!(place.who().await, before, "{bad}");
    }
    std::fs::remove_file(&place.file).unwrap();
    followed.look().await;
    std::fs::write(&place.file, place.url_of(&place.role)).unwrap();
    followed.look().await;
    assert_eq!(place.who().await, place.role, "what is set right is taken");
    place.end().await;
}
