use std::collections::BTreeMap;

use contract::storage_integration::SslMode;

use super::*;

fn values(environments: &[&str], values: &[(&str, &str)]) -> SecretRead {
    SecretRead::There(SecretValues {
        environments: environments.iter().map(|name| (*name).to_owned()).collect(),
        hosts: vec!["db.example.com".to_owned(), "10.0.0.1:6432".to_owned()],
        keys: BTreeMap::new(),
        values: values.iter().map(|(key, value)| ((*key).to_owned(), Redacted::new((*value).to_owned()))).collect(),
    })
}

fn s3() -> StorageKind {
    StorageKind::S3 { endpoint: None, region: "eu-central-1".to_owned(), path_style: false }
}

fn database(host: &str, port: u16) -> StorageKind {
    let (host, database) = (host.to_owned(), "shop".to_owned());
    StorageKind::Postgres { host, port, database, ssl_mode: SslMode::VerifyFull }
}

fn account(endpoint: Option<&str>) -> StorageKind {
    StorageKind::Azure { account: "lake1".to_owned(), endpoint: endpoint.map(str::to_owned), path_style: false }
}

fn source(kind: &StorageKind, keys: SecretKeys) -> SecretSource {
    let keys = keys.of_kind(kind).unwrap();
    let host = host_of(kind, &keys);
    SecretSource { name: "lake".to_owned(), keys, host }
}

fn key_of(reading: SecretReading) -> Result<AccessKey, String> {
    match reading? {
        StorageCredentials::AccessKey(key) => Ok(key),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_password_is_given_to_the_hosts_that_its_secret_names_and_to_no_other() {
    let whole = [("user", "reader"), ("password", "hush ü")];
    let given = |kind: &StorageKind| {
        source(kind, SecretKeys::default()).credentials(&values(&["acme-dev"], &whole), "acme-dev")
    };
    for kind in [database("db.example.com", 5432), database("10.0.0.1", 6432)] {
        let StorageCredentials::Password(user) = given(&kind).unwrap() else { panic!("{kind:?}") };
        assert_eq!((user.user.expose().as_str(), user.password.expose().as_str()), ("reader", "hush ü"));
    }
    for kind in [
        database("db.example.com", 6432),
        database("10.0.0.1", 5432),
        database("b.example.com", 5432),
        database("db.example.com.evil.example", 5432),
    ] {
        let (told, host) = (given(&kind).unwrap_err(), host_of(&kind, &SecretKeys::default()).unwrap());
        assert!(told.contains(SECRET_HOSTS) && told.contains(&host), "{told}");
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn a_signature_is_given_to_the_places_that_its_secret_names_and_to_no_other() {
    const SIGNED: &str = "sv=2023-11-03&sp=rl&sig=hush";
    let keys = || SecretKeys { sas_token: Some("sas_token".to_owned()), ..SecretKeys::default() };
    let given = |endpoint: Option<&str>, hosts: &str, value: &str| -> Result<String, String> {
        let SecretRead::There(found) = values(&["acme-dev"], &[("sas_token", value)]) else { panic!("a Secret") };
        let hosts = hosts.split(' ').map(str::to_owned).collect();
        let read = SecretRead::There(SecretValues { hosts, ..found });
        match source(&account(endpoint), keys()).credentials(&read, "acme-dev")? {
            StorageCredentials::SasToken(token) => Ok(token.sas_token.expose().clone()),
            other => Err(format!("{other:?}")),
        }
    };
    let own = "lake1.blob.core.windows.net";
    for (endpoint, host) in [
        (None, own),
        (None, "lake1.blob.core.windows.net:443"),
        (Some("https://lake1.blob.core.windows.net"), own),
        (Some("https://store.example.com:8443"), "store.example.com:8443"),
        (Some("http://127.0.0.1:10000"), "127.0.0.1:10000"),
        (Some("http://store.example.com"), "store.example.com:80"),
    ] {
        assert_eq!(given(endpoint, host, SIGNED).unwrap(), SIGNED, "{endpoint:?} {host}");
    }
    for (endpoint, hosts) in [
        (None, ""),
        (None, "lake2.blob.core.windows.net *"),
        (None, "lake1.blob.core.windows.net:8443"),
        (Some("https://store.example.com"), own),
        (Some("https://store.example.com:8443"), "store.example.com"),
        (Some("https://store.example.com:5432"), "store.example.com"),
        (Some("http://store.example.com"), "store.example.com"),
        (Some("https://lake1.blob.core.windows.net.evil.example"), own),
    ] {
        let told = given(endpoint, hosts, SIGNED).unwrap_err();
        assert!(told.contains(SECRET_HOSTS) && !told.contains("hush"), "{endpoint:?} {hosts}: {told}");
    }
    for broken in ["", "hush", "sp=rl", "sig=hush\n", "sig=hush&sp"] {
        let told = given(None, own, broken).unwrap_err();
        assert!(told.contains("`sas_token` of the Secret `lake`") && !told.contains("hush"), "{told}");
    }
}

#[test]
fn a_password_is_text_under_the_key_that_its_secret_says() {
    let kind = database("db.example.com", 5432);
    let keys = |user: &str| SecretKeys { user: Some(user.to_owned()), ..SecretKeys::default() };
    let read = values(&["acme-dev"], &[("user", "reader"), ("password", "hush"), ("root", "hush")]);
    let told = source(&kind, keys("root")).credentials(&read, "acme-dev").unwrap_err();
    assert!(told.contains(SECRET_KEYS), "the server would be told another part as the user's name: {told}");
    let SecretRead::There(found) = read else { panic!("a Secret") };
    let said = SecretValues { keys: BTreeMap::from([("user".to_owned(), "root".to_owned())]), ..found };
    assert!(source(&kind, keys("root")).credentials(&SecretRead::There(said), "acme-dev").is_ok());
    for broken in ["", "hush\n", "hush\u{fffd}"] {
        let read = values(&["acme-dev"], &[("user", "reader"), ("password", broken)]);
        let told = source(&kind, SecretKeys::default()).credentials(&read, "acme-dev").unwrap_err();
        assert!(told.contains("`password` of the Secret `lake`") && !told.contains("hush"), "{told}");
    }
}

#[test]
fn keys_are_those_of_the_kinds_credentials() {
    let named = |part: &str| serde_json::from_value::<SecretKeys>(serde_json::json!({part: "x"})).unwrap();
    let takes = |kind: &StorageKind, part: &str| named(part).of_kind(kind).is_some();
    let shop = database("db.example.com", 5432);
    for part in ["access_key_id", "secret_access_key", "session_token"] {
        assert!(takes(&s3(), part) && !takes(&shop, part), "{part}");
    }
    for part in ["user", "password"] {
        assert!(!takes(&s3(), part) && takes(&shop, part), "{part}");
    }
    let account = account(None);
    assert!(takes(&account, "secret_access_key") && !takes(&account, "password"));
    assert!(takes(&account, "sas_token") && !takes(&s3(), "sas_token") && !takes(&shop, "sas_token"));
    for other in ["access_key_id", "secret_access_key", "session_token", "user"] {
        let both = serde_json::from_value::<SecretKeys>(serde_json::json!({"sas_token": "x", other: "y"})).unwrap();
        assert!(both.of_kind(&account).is_none(), "{other}");
    }
    assert!(SecretKeys::usual(&StorageKind::File { folder: "/srv".to_owned() }).is_none());
    let kept = serde_json::json!({
        "name": "lake", "keys": {"access_key_id": "id", "secret_access_key": "secret_access_key", "session_token": null},
    });
    let kept: SecretSource = serde_json::from_value(kept).unwrap();
    let keys = SecretKeys { access_key_id: Some("id".to_owned()), ..SecretKeys::default() };
    assert_eq!(kept, source(&s3(), keys), "one that was kept before there were passwords");
}

#[test]
fn no_part_is_taken_of_a_key_that_the_secret_does_not_say_it_is_under() {
    let whole = [("access_key_id", "AKID"), ("secret_access_key", "hush"), ("session_token", "token")];
    let SecretRead::There(found) = values(&["acme-dev"], &whole) else { panic!("a Secret") };
    let given = |id: &str, secret: &str, token: Option<&str>, said: &[(&str, &str)]| {
        let (access_key_id, secret_access_key) = (Some(id.to_owned()), Some(secret.to_owned()));
        let session_token = token.map(str::to_owned);
        let keys = SecretKeys { access_key_id, secret_access_key, session_token, ..SecretKeys::default() };
        let said = said.iter().map(|(part, key)| ((*part).to_owned(), (*key).to_owned())).collect();
        let read = SecretRead::There(SecretValues { keys: said, ..found.clone() });
        key_of(source(&s3(), keys).credentials(&read, "acme-dev"))
    };
    let (id, secret, token) = ("access_key_id", "secret_access_key", "session_token");
    assert!(given(id, secret, None, &[]).is_ok() && given(id, secret, Some(token), &[]).is_ok());
    // each of these would show the secret to the endpoint
    for (id, secret, token) in [(secret, id, None), (secret, secret, None), (id, secret, Some(secret))] {
        let told = given(id, secret, token, &[]).unwrap_err();
        assert!(told.contains(SECRET_KEYS) && !told.contains("hush"), "{told}");
    }
    let said = [(id, "session_token"), (secret, "access_key_id")];
    assert!(given("session_token", "access_key_id", None, &said).is_ok());
    assert!(given(id, secret, None, &said).is_err(), "it says others");
}

#[test]
fn a_secret_gives_its_access_key_to_the_environments_that_it_names_and_else_says_why_not() {
    let source = source(&s3(), SecretKeys::default());
    let whole = [("access_key_id", "AKID"), ("secret_access_key", "hush")];
    let key = key_of(source.credentials(&values(&["acme-dev"], &whole), "acme-dev")).unwrap();
    assert_eq!((key.access_key_id.expose().as_str(), key.secret_access_key.expose().as_str()), ("AKID", "hush"));
    let problem = |read: &SecretRead| source.credentials(read, "acme-dev").unwrap_err();
    assert!(problem(&SecretRead::Absent).contains("no Secret `lake`"));
    assert!(problem(&SecretRead::Denied).contains("does not let the control plane read the Secret `lake`"));
    for others in [&["acme-prod"][..], &[], &["acme-dev-2"], &["*"]] {
        let said = problem(&values(others, &whole));
        assert!(said.contains("`acme-dev`") && said.contains(SECRET_ENVIRONMENTS), "{said}");
    }
    assert!(problem(&values(&["acme-dev"], &whole[..1])).contains("no key `secret_access_key`"));
    let spoilt = [("access_key_id", "AKID"), ("secret_access_key", "hush\n")];
    let said = problem(&values(&["acme-dev"], &spoilt));
    assert!(said.contains("visible ASCII") && !said.contains("hush"), "{said}");
}
