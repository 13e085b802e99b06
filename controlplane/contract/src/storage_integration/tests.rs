use super::*;

fn integration(kind: StorageKind, allowed: &[&str], blocked: &[&str]) -> StorageIntegration {
    let owned = |prefixes: &[&str]| prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
    StorageIntegration {
        name: "lake".to_owned(),
        kind,
        allowed_prefixes: owned(allowed),
        blocked_prefixes: owned(blocked),
        enabled: true,
        credentials: StorageCredentials::Anonymous,
    }
}

fn s3() -> StorageKind {
    StorageKind::S3 { endpoint: None, region: "eu-central-1".to_owned(), path_style: false }
}

fn file() -> StorageKind {
    StorageKind::File { folder: "/srv/data".to_owned() }
}

#[test]
fn a_location_is_permitted_below_an_allowed_prefix_and_not_below_a_blocked_one() {
    let lake = integration(s3(), &["s3://lake/raw/", "s3://other"], &["s3://lake/raw/secret"]);
    for url in ["s3://lake/raw", "s3://lake/raw/", "s3://lake/raw/a.csv", "s3://lake/raw/secrets/x", "s3://other/x"] {
        assert!(lake.permits(url).is_ok(), "{url}");
    }
    for url in ["s3://lake/", "s3://lake/rawer/x", "s3://others/x", "file:///lake/raw/x"] {
        assert_eq!(lake.permits(url), Err(StorageDenied::NotAllowed("lake".to_owned())), "{url}");
    }
    for url in ["s3://lake/raw/secret", "s3://lake/raw/secret/x"] {
        assert_eq!(lake.permits(url), Err(StorageDenied::Blocked("lake".to_owned())), "{url}");
    }
}

#[test]
fn a_star_allows_every_location_of_the_kind_and_nothing_allows_none() {
    let any = integration(s3(), &["*"], &["s3://lake/secret/"]);
    assert!(any.permits("s3://bucket/x").is_ok());
    assert!(any.permits("file:///etc/passwd").is_err());
    assert!(any.permits("s3://lake/secret/x").is_err());
    assert!(integration(s3(), &[], &[]).permits("s3://bucket/x").is_err());
    assert!(integration(s3(), &["*"], &["*"]).permits("s3://bucket/x").is_err());
    assert!(integration(s3(), &["*"], &["no url"]).permits("s3://bucket/x").is_err(), "could not tell is blocked");
    assert!(integration(s3(), &["no url"], &[]).permits("s3://bucket/x").is_err());
}

#[test]
fn a_folder_holds_what_is_below_it_alone() {
    let folder = integration(file(), &["*"], &[]);
    assert!(folder.permits("file:///srv/data/a.csv").is_ok());
    for url in ["file:///srv/database/a.csv", "file:///srv", "file:///", "file:///etc/passwd", "s3://srv/data"] {
        assert!(folder.permits(url).is_err(), "{url}");
    }
}

#[test]
fn no_url_leads_out_of_a_prefix() {
    let lake = integration(s3(), &["s3://lake/raw/"], &[]);
    let long = format!("s3://lake/raw/{}", "a".repeat(2_048));
    for url in [
        "s3://lake/raw/../secret",
        "s3://lake/raw/./x",
        "s3://lake/raw//x",
        "s3://lake/raw/x//",
        "s3://lake/raw/..",
        "s3://lake/raw/%2e%2e/secret",
        "s3://lake/raw/%2E%2E/secret",
        "s3://lake/raw/.%2e/secret",
        "s3://lake/raw/a%2fb",
        "s3://lake/raw/a%5Cb",
        "s3://lake/raw/%252e%252e/secret",
        "s3://lake/raw/%00",
        "s3://lake/raw/a\\..\\b",
        "s3://lake/raw/a?b",
        "s3://lake/raw/a#b",
        "s3://lake/raw/a\nb",
        "S3://lake/raw/x",
        "s3://user@lake/raw/x",
        "s3://lake:80/raw/x",
        "s3:///raw/x",
        "s3://",
        "https://lake/raw/x",
        "lake/raw/x",
        "",
        &long,
    ] {
        assert!(matches!(lake.permits(url), Err(StorageDenied::Malformed(_))), "{url:?}");
    }
    assert!(lake.permits("s3://lake/raw/day=1%202/x..y.csv").is_ok(), "an escape that makes no part is a name");
}

#[test]
fn one_that_is_disabled_permits_nothing() {
    let lake = StorageIntegration { enabled: false, ..integration(s3(), &["*"], &[]) };
    let denied = lake.permits("s3://lake/x").unwrap_err();
    assert_eq!((denied.code(), denied), (Code::PolicyDenied, StorageDenied::Disabled("lake".to_owned())));
}

#[test]
fn an_integration_survives_json_and_hides_its_key_from_logs() {
    let key = AccessKey {
        access_key_id: Redacted::new("AKIDHUSH".to_owned()),
        secret_access_key: Redacted::new("hush".to_owned()),
        session_token: Redacted::new(None),
    };
    let mut lake = integration(s3(), &["*"], &[]);
    lake.credentials = StorageCredentials::AccessKey(key);
    let json = serde_json::to_value(&lake).unwrap();
    assert_eq!((&json["kind"], &json["credentials"]["type"]), (&"s3".into(), &"access_key".into()));
    assert_eq!(serde_json::from_value::<StorageIntegration>(json).unwrap(), lake);
    let printed = format!("{lake:?}").to_lowercase();
    assert!(!printed.contains("hush"), "{printed}");
    let folder = integration(file(), &["*"], &[]);
    let json = serde_json::to_string(&folder).unwrap();
    assert_eq!(serde_json::from_str::<StorageIntegration>(&json).unwrap(), folder);
}

#[test]
fn a_location_tells_its_bucket_and_path() {
    let location = Location::of("s3://lake/raw/a.csv").unwrap();
    let (bucket, path) = location.split();
    assert_eq!((bucket, path.join("/").as_str()), (Some("lake"), "raw/a.csv"));
    let (bucket, path) = (Location::of("file:///srv/data/").unwrap(), "srv/data");
    assert_eq!((bucket.split().0, bucket.split().1.join("/").as_str()), (None, path));
}

#[test]
fn a_table_of_a_database_is_permitted_by_its_schema_and_name() {
    let kind = StorageKind::Postgres {
        host: "db.example.com".to_owned(),
        port: POSTGRES_PORT,
        database: "shop".to_owned(),
        ssl_mode: SslMode::default(),
    };
    let shop = integration(kind, &["postgres://public/", "postgres://crm/people"], &["postgres://public/secret"]);
    for url in ["postgres://public/orders", "postgres://crm/people"] {
        assert!(shop.permits(url).is_ok(), "{url}");
    }
    for url in ["postgres://public/secret", "postgres://crm/peoples", "postgres://publics/x", "s3://public/x"] {
        assert!(shop.permits(url).is_err(), "{url}");
    }
    let mut shop = shop;
    let (user, password) = (Redacted::new("usersesame".to_owned()), Redacted::new("sesame".to_owned()));
    shop.credentials = StorageCredentials::Password(DatabaseUser { user, password });
    let json = serde_json::to_value(&shop).unwrap();
    assert_eq!((&json["kind"], &json["ssl_mode"]), (&"postgres".into(), &"verify-full".into()));
    assert_eq!(serde_json::from_str::<StorageIntegration>(&json.to_string()).unwrap(), shop);
    assert!(!format!("{shop:?}").contains("sesame"));
}

#[test]
fn a_schema_of_another_meaning_is_no_name_of_a_database() {
    for name in ["shop", "Shop_2", "raws", "publics"] {
        assert!(may_be_a_schema(name), "{name}");
    }
    for name in ["MAIN", "raw", "Information_Schema", "svc_runtime", "pg_catalog", "_svc_x", "duckdb_x", "public"] {
        assert!(!may_be_a_schema(name), "{name}");
    }
}

#[test]
fn an_account_of_azure_is_reached_by_its_own_integration_alone() {
    let kind = StorageKind::Azure { account: "lake1".to_owned(), endpoint: None, path_style: false };
    let any = integration(kind.clone(), &["*"], &[]);
    let host = "azure://lake1.blob.core.windows.net";
    assert!(any.permits(&format!("{host}/load/in/a.csv")).is_ok() && kind.is_later() && !kind.is_database());
    for url in ["azure://lake2.blob.core.windows.net/load/a.csv", "s3://lake1/load/a.csv", "file:///lake1/load"] {
        assert_eq!(any.permits(url), Err(StorageDenied::NotAllowed("lake".to_owned())), "{url}");
    }
    let (allowed, blocked) = (format!("{host}/load/in/"), format!("{host}/load/in/secret"));
    let some = integration(kind, &[&allowed], &[&blocked]);
    assert!(some.permits(&format!("{allowed}a.csv")).is_ok());
    assert_eq!(some.permits(&format!("{blocked}/a.csv")), Err(StorageDenied::Blocked("lake".to_owned())));
    for url in ["/load/inner/a.csv", "/load/a.csv", "/other/in/a.csv", "/"] {
        assert_eq!(some.permits(&format!("{host}{url}")), Err(StorageDenied::NotAllowed("lake".to_owned())), "{url}");
    }
    for url in [
        "azure://lake1/load/in/a.csv",
        "azure://lake1.blob.core.windows.net.evil.example/load/in/a.csv",
        "azure://u@lake1.blob.core.windows.net/load/in/a.csv",
        "azure://lake1.blob.core.windows.net:80/load/in/a.csv",
        "azure://LAKE1.blob.core.windows.net/load/in/a.csv",
        "azure://lake1.blob.core.windows.net/Load/in/a.csv",
        "azure://lake1.blob.core.windows.net/load/in/../a.csv",
        "azure://lake1.blob.core.windows.net/load/in/%2e%2e/a.csv",
        "azure://lake1.blob.core.windows.net/load/in/secret./a.csv",
        "azure://lake1.blob.core.windows.net/load/in/a.csv.",
        "azure://lake1.blob.core.windows.net/load/in/...",
        "azure://lake1.blob.core.windows.net//in/a.csv",
        "azure://",
    ] {
        assert!(matches!(some.permits(url), Err(StorageDenied::Malformed(_))), "{url}");
    }
    let json = serde_json::to_string(&some).unwrap();
    assert_eq!(serde_json::from_str::<StorageIntegration>(&json).unwrap(), some);
}
