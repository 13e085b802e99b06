use chrono::Duration;
use contract::OrgId;
use platform::App;
use platform::http::text::Email;
use platform::mails::{self, Cause, MailKind, OutgoingMail, Queued, queue, run_due, sweep};
use test_servers::mail::MailServer;

use crate::testing::TestApp;

async fn with_server() -> (TestApp, MailServer) {
    let server = MailServer::start().await;
    (TestApp::mailing(&server).await, server)
}

async fn write(app: &TestApp, text: &str) {
    let to = Email::try_from("ada@example.com".to_owned()).unwrap();
    let good_until = app.app.now() + Duration::minutes(15);
    let outgoing = OutgoingMail { to: &to, subject: "Grüße", text, good_until };
    let cause = Cause { kind: MailKind::Link, org_id: None };
    let mut tx = app.app.pool().begin().await.unwrap();
    queue(&app.app, &mut tx, cause, &outgoing).await.unwrap();
    tx.commit().await.unwrap();
}

/// How many of these leave until one is too many.
async fn until_full(app: &App, kind: MailKind, org_id: Option<&OrgId>, to: impl Fn(usize) -> String) -> usize {
    let mut tx = app.pool().begin().await.unwrap();
    for n in 0..2_000 {
        let to = Email::try_from(to(n)).unwrap();
        let outgoing = OutgoingMail { to: &to, subject: "s", text: "t", good_until: app.now() };
        if queue(app, &mut tx, Cause { kind, org_id }, &outgoing).await.unwrap() == Queued::Full {
            tx.commit().await.unwrap();
            return n;
        }
    }
    panic!("no limit");
}

#[tokio::test]
async fn a_receiver_and_an_organization_have_a_limit_of_each_kind_a_day() {
    let (app, _server) = with_server().await;
    let (acme, base) = (OrgId::from("acme"), OrgId::from("base"));
    let one = |_: usize| "bob@example.com".to_owned();
    let each = |n: usize| format!("u{n}@example.com");
    assert_eq!(until_full(&app.app, MailKind::Link, None, one).await, 20);
    assert_eq!(until_full(&app.app, MailKind::Invitation, Some(&acme), one).await, 10, "each kind for itself");
    assert_eq!(until_full(&app.app, MailKind::Invitation, Some(&base), one).await, 0, "whoever sends it");
    assert_eq!(until_full(&app.app, MailKind::Invitation, Some(&acme), each).await, 90);
    assert_eq!(until_full(&app.app, MailKind::Notification, Some(&acme), one).await, 100);
    app.advance(Duration::days(1));
    assert_eq!(until_full(&app.app, MailKind::Invitation, Some(&acme), one).await, 10);
}

async fn rows(app: &TestApp) -> Vec<String> {
    sqlx::query_scalar("select mails::text from mails").fetch_all(app.app.pool()).await.unwrap()
}

#[tokio::test]
async fn a_mail_leaves_once_with_its_id_and_is_forgotten() {
    let (app, mut server) = with_server().await;
    write(&app, "open\n.sesame\n").await;
    assert!(!rows(&app).await[0].contains("sesame"));
    assert_eq!((run_due(&app.app).await.unwrap(), run_due(&app.app).await.unwrap()), (1, 0));
    let got = server.one();
    assert_eq!((got.to.as_str(), got.header("To")), ("ada@example.com", "ada@example.com"));
    assert!(got.text.contains("open\n.sesame") && got.header("Message-ID").ends_with("@localhost>"), "{}", got.text);
    assert_eq!(got.header("Date"), "Mon, 21 Sep 2026 14:13:20 +0000");
    let bodies: i64 = sqlx::query_scalar("select count(body) from mails").fetch_one(app.app.pool()).await.unwrap();
    assert_eq!(bodies, 0);
    app.advance(Duration::days(31));
    sweep(&app.app).await.unwrap();
    assert!(rows(&app).await.is_empty());
}

#[tokio::test]
async fn a_mail_waits_for_a_server_that_is_away_until_nobody_needs_it() {
    let (app, server) = with_server().await;
    drop(server);
    write(&app, "open").await;
    for (wait, tried) in [(0, 1), (9, 0), (1, 1), (29, 0), (1, 1), (120, 1), (600, 1), (3_600, 1), (21_600, 0)] {
        app.advance(Duration::seconds(wait));
        assert_eq!(run_due(&app.app).await.unwrap(), tried, "after {wait} s");
    }
    let sent: i64 = sqlx::query_scalar("select count(*) from mails where sent_at is not null or body is not null")
        .fetch_one(app.app.pool())
        .await
        .unwrap();
    assert_eq!(sent, 0);
}

#[tokio::test]
async fn a_mail_whose_sender_died_is_sent_by_the_next() {
    let (app, mut server) = with_server().await;
    write(&app, "open").await;
    mails::claim(&app.app, Duration::minutes(2)).await.unwrap().unwrap();
    assert_eq!(run_due(&app.app).await.unwrap(), 0);
    app.advance(Duration::minutes(2));
    assert_eq!(run_due(&app.app).await.unwrap(), 1);
    server.one();
}

#[tokio::test]
async fn a_folder_holds_each_mail_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(format!("sluice-mail-{}", std::process::id()));
    let app = TestApp::configured(|config| config.mail_folder = Some(folder.clone())).await;
    write(&app, "https://example.com/?token=abc").await;
    assert_eq!(run_due(&app.app).await.unwrap(), 1);
    let paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (text, mode) =
        (std::fs::read_to_string(&paths[0]).unwrap(), std::fs::metadata(&paths[0]).unwrap().permissions().mode());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(paths.len() == 1 && paths[0].extension().is_some_and(|ending| ending == "eml"), "{paths:?}");
    assert!(text.contains("https://example.com/?token=abc") && mode & 0o777 == 0o600, "{mode:o} {text}");
}
