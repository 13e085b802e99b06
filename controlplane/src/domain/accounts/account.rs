//! Accounts: a person's e-mail and password. Knows nothing of roles; `users` are the memberships.
//!
//! A password has 8 to 256 characters and is not one that everybody tries; nothing else is asked
//! of it. A login of an unknown address costs as much as one of a known address.

use std::net::IpAddr;

use chrono::Duration;
use contract::{OrgId, Role, Timestamp, UserId};
use platform::http::text::Email;
use platform::{App, Error, OnConstraint, Result, execute, scalar};
use sqlx::PgConnection;

use crate::domain::accounts::elsewhere;
use crate::domain::accounts::failures::{self, Reason};
use crate::domain::accounts::sessions::SessionHolder;

const PASSWORD_MIN: usize = 8;
const PASSWORD_MAX: usize = 256;
/// What people try first, of eight characters and more.
const COMMON: &str = include_str!("common_passwords.txt");
/// A hash of nothing that anybody has: what unknown addresses are checked against.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5bm9ib2Q$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Organizations of one account that learn what happens to it, or are listed.
const MEMBERSHIPS_MAX: i64 = 100;
/// How long an invitation may be accepted.
pub const INVITATION: Duration = Duration::days(7);

#[derive(Debug, Clone)]
pub struct Account {
    pub id: String,
    pub password_hash: String,
}

/// Refuses a password that is too short, too long, the address itself, or everybody's.
pub fn admit_password(password: &str, email: &Email) -> Result<()> {
    let length = password.chars().count();
    if !(PASSWORD_MIN..=PASSWORD_MAX).contains(&length) {
        let message = format!("`password` has {PASSWORD_MIN} to {PASSWORD_MAX} characters");
        return Err(Error::invalid("password", format!("{PASSWORD_MIN}..{PASSWORD_MAX} characters"), message));
    }
    let lower = password.to_lowercase();
    if lower == email.as_str() || COMMON.lines().any(|common| common == lower) {
        return Err(Error::invalid("password", "uncommon", "`password` is one that everybody tries: choose another"));
    }
    Ok(())
}

pub async fn find(conn: &mut PgConnection, email: &Email) -> Result<Option<Account>> {
    let row = sqlx::query_as!(
        Account,
        "select account_id as id, password_hash from accounts where email = $1",
        email.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row)
}

pub async fn insert(
    conn: &mut PgConnection,
    app: &App,
    email: &Email,
    name: Option<&str>,
    password_hash: &str,
) -> Result<String> {
    let account_id = contract::ids::fresh(app.now(), app.entropy());
    sqlx::query!(
        "insert into accounts (account_id, email, name, password_hash, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $5)",
        account_id,
        email.as_str(),
        name,
        password_hash,
        app.now(),
    )
    .execute(conn)
    .await
    .on_constraint("accounts_email_key", || {
        Error::conflict("email_taken", "an account with this e-mail exists: sign in")
    })?;
    Ok(account_id)
}

/// The account of this address, made if there is none, with this password.
pub async fn ensure(app: &App, email: &Email, name: &str, password: &str) -> Result<String> {
    let mut conn = app.pool().acquire().await?;
    let known = find(&mut conn, email).await?;
    drop(conn);
    if let Some(account) = &known
        && app.slow_hash().verify(password.to_owned(), account.password_hash.clone()).await?
    {
        return Ok(account.id.clone());
    }
    let hash = app.slow_hash().hash(password.to_owned(), app.entropy().clone()).await?;
    let mut conn = app.pool().acquire().await?;
    let Some(account) = known else {
        return insert(&mut conn, app, email, Some(name), &hash).await;
    };
    set_password(&mut conn, &account.id, &hash, app.now()).await?;
    Ok(account.id)
}

/// The account, if the password is its own. Costs the same when there is no account.
pub async fn check(app: &App, email: &Email, password: String, peer: IpAddr) -> Result<Account> {
    app.limits().login(email.as_str(), peer)?;
    let mut conn = app.pool().acquire().await?;
    let account = find(&mut conn, email).await?;
    // The hash takes tens of milliseconds: no connection is held meanwhile.
    drop(conn);
    let phc = account.as_ref().map_or_else(|| NOBODY.to_owned(), |account| account.password_hash.clone());
    let fits = app.slow_hash().verify(password, phc).await?;
    if let Some(account) = account.filter(|_| fits) {
        return Ok(account);
    }
    app.limits().failed_login(email.as_str(), peer);
    failures::remember(app, email, peer, Reason::Password).await?;
    Err(app.limits().after_failed_credential(peer, Error::WrongPassword))
}

pub async fn set_password(
    conn: &mut PgConnection,
    account_id: &str,
    password_hash: &str,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update accounts set password_hash = $2, updated_at = $3 where account_id = $1",
        account_id,
        password_hash,
        now,
    )
}

/// A membership that a login may open a session for.
#[derive(Debug)]
pub struct LoginMembership {
    holder: SessionHolder,
    enforce_sso: bool,
}

impl LoginMembership {
    /// By a password or a mailed link: "with `enforce_sso` password login is disabled".
    pub fn enters(self) -> Result<SessionHolder> {
        if self.enforce_sso { Err(Error::SsoEnforced) } else { Ok(self.holder) }
    }
}

/// Has whoever this user is proven to have the mailbox?
pub async fn is_verified(conn: &mut PgConnection, user_id: &UserId) -> Result<bool> {
    scalar!(
        conn,
        r#"
        select exists (
            select 1 from accounts a join users u on u.account_id = a.account_id
            where u.user_id = $1 and a.email_verified_at is not null
        ) as "verified!"
        "#,
        user_id.as_str(),
    )
}

/// Refuses an account whose password opens nothing.
pub async fn enters(conn: &mut PgConnection, account_id: &str) -> Result<()> {
    let closed = sqlx::query_scalar!(
        r#"
        select bool_and(o.enforce_sso)
        from users u
        join organizations o on o.org_id = u.org_id
        where u.account_id = $1 and u.status = 'active'
        "#,
        account_id,
    );
    match closed.fetch_one(conn).await? {
        Some(false) => Ok(()),
        Some(true) => Err(Error::SsoEnforced),
        None => Err(Error::NO_MEMBERSHIP),
    }
}

/// One of an account's active memberships.
#[derive(Debug)]
pub struct Member {
    pub user_id: UserId,
    pub org_id: OrgId,
    pub role: String,
}

/// In the order of their organizations: events of all of them are recorded in this order, so that
/// two who do it cannot wait for each other's chains.
pub async fn memberships(conn: &mut PgConnection, account_id: &str) -> Result<Vec<Member>> {
    let rows = sqlx::query_as!(
        Member,
        "select user_id, org_id, role from users where account_id = $1 and status = 'active' order by org_id limit $2",
        account_id,
        MEMBERSHIPS_MAX,
    );
    Ok(rows.fetch_all(conn).await?)
}

/// The account's active membership: of the organization asked for, else of the last login's, else
/// the oldest.
pub async fn membership(
    conn: &mut PgConnection,
    account_id: &str,
    wanted: Option<&OrgId>,
) -> Result<Option<LoginMembership>> {
    let row = sqlx::query!(
        "select u.user_id, u.org_id, u.role, o.enforce_sso
         from users u
         join organizations o on o.org_id = u.org_id
         join accounts a on a.account_id = u.account_id
         where u.account_id = $1 and u.status = 'active' and ($2::text is null or u.org_id = $2)
         order by (u.org_id = a.last_org_id) desc nulls last, u.created_at, u.user_id
         limit 1",
        account_id,
        wanted.map(OrgId::as_str),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let role = row.role.parse::<Role>().map_err(Error::internal)?;
    let holder = SessionHolder { user_id: row.user_id.into(), org_id: row.org_id.into(), role };
    Ok(Some(LoginMembership { holder, enforce_sso: row.enforce_sso }))
}

/// Where an account is an active member; without one, where the user is. By name.
pub async fn organizations(
    conn: &mut PgConnection,
    account_id: Option<&str>,
    user_id: Option<&UserId>,
    current: &OrgId,
) -> Result<Vec<elsewhere::Membership>> {
    let rows = sqlx::query_as!(
        elsewhere::Membership,
        r#"select o.org_id as id, o.org_id, o.name, o.slug, u.role, o.enforce_sso as sso_enforced,
                  o.org_id = $3 as "current!"
           from users u
           join organizations o on o.org_id = u.org_id
           where u.status = 'active' and (u.account_id = $1 or ($1::text is null and u.user_id = $2))
           order by o.name, o.org_id
           limit $4"#,
        account_id,
        user_id.map(UserId::as_str),
        current.as_str(),
        MEMBERSHIPS_MAX,
    );
    Ok(rows.fetch_all(conn).await?)
}

pub async fn remember(conn: &mut PgConnection, account_id: &str, org_id: &OrgId) -> Result<()> {
    execute!(conn, "update accounts set last_org_id = $2 where account_id = $1", account_id, org_id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_enough_and_not_everybodys() {
        let email = Email::try_from("somebody@example.com".to_owned()).unwrap();
        for bad in ["", "short", "password", "PassWord1", "12345678", "Somebody@example.com", &"x".repeat(257)] {
            assert!(admit_password(bad, &email).is_err(), "{bad}");
        }
        for good in ["correct horse battery staple", "ätö-ätö-ätö", &"x".repeat(256)] {
            assert!(admit_password(good, &email).is_ok(), "{good}");
        }
    }

    /// So that an answer takes as long whether or not the address has an account.
    #[test]
    fn the_hash_of_nobody_is_well_formed_and_costs_as_much_as_anybodys() {
        let hash =
            contract::key::hash("a password", contract::key::HashCost::OWASP, &contract::Entropy::seeded(1)).unwrap();
        let [nobodys, anybodys] =
            [NOBODY, hash.as_str()].map(|phc| argon2::password_hash::PasswordHash::new(phc).unwrap());
        let length = |phc: &argon2::password_hash::PasswordHash<'_>| phc.hash.map(|hash| hash.len());
        assert_eq!((nobodys.algorithm, nobodys.version), (anybodys.algorithm, anybodys.version));
        assert_eq!((&nobodys.params, length(&nobodys)), (&anybodys.params, length(&anybodys)));
        assert!(!contract::key::verify("", NOBODY));
    }
}
