//! Stages over containers of Azure: no request leaves for a place that is not reached, and none without its credentials.

use contract::storage_integration::{AccessKey, StorageCredentials, StorageKind};
use contract::{Redacted, StorageIntegration};

use crate::world::world;

const URL: &str = "azure://lake1.blob.core.windows.net/load/in/";

fn lake(endpoint: Option<String>, credentials: StorageCredentials) -> StorageIntegration {
    StorageIntegration {
        name: "lake".to_owned(),
        kind: StorageKind::Azure { account: "lake1".to_owned(), endpoint, path_style: false },
        allowed_prefixes: vec![URL.to_owned()],
        blocked_prefixes: Vec::new(),
        enabled: true,
        credentials,
    }
}

fn key() -> StorageCredentials {
    StorageCredentials::AccessKey(AccessKey {
        access_key_id: Redacted::new("lake1".to_owned()),
        secret_access_key: Redacted::new("b3Blbi1zZXNhbWU=".to_owned()),
        session_token: Redacted::new(None),
    })
}

fn created(url: &str) -> String {
    format!("create or replace stage s url = '{url}' storage_integration = lake")
}

#[tokio::test]
async fn an_account_at_a_private_address_is_not_asked() {
    let world = world().await;
    // whoever is asked there would have a connection to take
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for endpoint in [format!("http://127.0.0.1:{port}"), format!("https://localhost:{port}")] {
        let integration = lake(Some(endpoint.clone()), key());
        world.change(|rules| rules.later_integrations = vec![integration]);
        world.run(&created(URL)).await.unwrap();
        for sql in ["list @s", "select $1 from @s"] {
            let said = world.run(sql).await.unwrap_err().to_string();
            assert!(
                said.contains("lake") && !said.contains("127.0.0.1") && !said.contains("b3Bl"),
                "{endpoint}: {said}"
            );
        }
    }
    assert!(listener.accept().is_err(), "nobody has connected");
    world.stop().await;
}

#[tokio::test]
async fn a_stage_of_another_account_or_container_is_refused_and_so_are_credentials_that_are_not_there() {
    let world = world().await;
    world.change(|rules| rules.later_integrations = vec![lake(None, key())]);
    for url in [
        "azure://lake2.blob.core.windows.net/load/in/",
        "azure://lake1.blob.core.windows.net/other/in/",
        "azure://lake1.blob.core.windows.net/load/",
        "s3://load/in/",
    ] {
        let refused = world.run(&created(url)).await.unwrap_err().to_string();
        assert!(refused.contains("does not allow this location"), "{url}: {refused}");
    }
    world.run(&created(URL)).await.unwrap();
    for (credentials, why) in [
        (StorageCredentials::Ambient, "no credentials of its own"),
        (StorageCredentials::Sealed { text: "5e5a3e".to_owned() }, "no credentials here"),
    ] {
        let integration = lake(None, credentials);
        world.change(|rules| rules.later_integrations = vec![integration]);
        let refused = world.run("list @s").await.unwrap_err().to_string();
        assert!(refused.contains(why) && refused.contains("lake") && !refused.contains("5e5a3e"), "{refused}");
    }
    world.stop().await;
}
